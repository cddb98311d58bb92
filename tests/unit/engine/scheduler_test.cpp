// What the scheduler decides, without a clock: a step is planned, its slices are finished, the next is
// planned.
#include "unit/scheduled_engine.h"

namespace kvcap::scheduler_test {
namespace {

using namespace scheduled_engine;

// ---- hits ----

TEST(Scheduler, ComputesTheLastBlockOfAFullHitAgain) {
  Engine engine(options(), 100);
  engine.ask(text(8), 1);
  EXPECT_EQ(engine.step(), "0:0+8!");
  engine.ask(text(8), 1);
  EXPECT_EQ(engine.step(), "1:4+4!");
  // One token more, and both blocks are found.
  engine.ask(text(9), 1);
  EXPECT_EQ(engine.step(), "2:8+1!");
}

TEST(Scheduler, LetsRequestsOfOneStepFindEachOthersBlocks) {
  Engine engine(options(), 100);
  engine.ask(text(10), 2);
  engine.ask(text(10), 2);
  const StepPlan plan = engine.plan();
  EXPECT_EQ(Engine::told(plan), "0:0+10! 1:8+2!");
  EXPECT_EQ(engine.pool().held(), 3 + 1);  // two blocks are shared
}

TEST(Scheduler, LetsTheNextTurnFindTheAnswer) {
  for (const bool cached : {true, false}) {
    Settings with = options();
    with.serving.cache_generated = cached;
    Engine engine(with, 100);
    engine.ask(text(8), 9);
    while (engine.scheduler().requests() > 0) engine.step();
    // 8 + 9 tokens, of which the last was never computed: four full blocks, two of them without the answer.
    engine.ask({{kText, 0, 8}, {Engine::answer_of(0), 0, 9}, {kOther, 0, 3}}, 1);
    EXPECT_EQ(engine.step(), cached ? "1:16+4!" : "1:8+12!");
  }
}

// ---- prefill cadence ----

TEST(PrefillCadence, DefersPromptsWhileARequestDecodes) {
  Engine engine(with_budget(8, 10), 100);
  engine.ask(text(12), 3);
  EXPECT_EQ(engine.step(true), "0:0+10");  // nothing decodes
  EXPECT_EQ(engine.step(true), "0:10+2!");
  engine.ask(text(12, kOther), 1);
  EXPECT_EQ(engine.step(true), "0:12+1!");
  EXPECT_EQ(engine.step(), "0:13+1! 1:0+9");
  EXPECT_EQ(engine.step(true), "1:9+3!");  // the other one has ended
}

TEST(PrefillCadence, DefersTheSlicesOfRunningPromptsToo) {
  Engine engine(with_budget(8, 10), 100);
  engine.ask(text(8), 9);
  engine.step();
  engine.ask(text(12, kOther), 1);
  EXPECT_EQ(engine.step(), "0:8+1! 1:0+9");
  EXPECT_EQ(engine.step(true), "0:9+1!");
  EXPECT_EQ(engine.step(), "0:10+1! 1:9+3!");
}

// 10 tokens per step are too few for the requests, so prompts go on in every step.
TEST(PrefillCadence, DefersNothingWhereTheLastPromptsLeftRequestsWaiting) {
  Engine engine(with_budget(8, 10), 100);
  engine.ask(text(8), 9);
  engine.step();
  engine.ask(text(12, kOther), 1);
  engine.ask(text(5, 9), 1);
  EXPECT_EQ(engine.step(), "0:8+1! 1:0+9");
  EXPECT_EQ(engine.step(true), "0:9+1! 1:9+3! 2:0+5!");
  engine.ask(text(5, 10), 1);
  EXPECT_EQ(engine.step(true), "0:10+1!");  // nobody waited any more
}

// ---- admission ----

TEST(Scheduler, SharesTheTokenBudgetInOrder) {
  Settings with = options();
  with.serving.max_num_batched_tokens = 10;
  Engine engine(with, 100);
  engine.ask(text(8), 2);
  engine.ask(text(8, kOther), 2);
  engine.ask(text(8, 9), 2);
  EXPECT_EQ(engine.step(), "0:0+8! 1:0+2");
  EXPECT_EQ(engine.step(), "0:8+1! 1:2+6! 2:0+3");
}

// 8 of 10 tokens, so that 2 are left: a prompt of 8 waits for a step of its own, and takes 8 of the 9 that
// the decoding request leaves; the third waits again. Sliced, they take 8 + 2, 1 + 6 + 3 and 1 + 1 + 5.
TEST(Scheduler, ComputesPromptsAsAWholeWhereItIsToldSo) {
  Settings with = options();
  with.serving.max_num_batched_tokens = 10;
  with.serving.chunked_prefill = false;
  Engine engine(with, 100);
  engine.ask(text(8), 2);
  engine.ask(text(8, kOther), 2);
  engine.ask(text(8, 9), 2);
  EXPECT_EQ(engine.step(), "0:0+8!");
  EXPECT_EQ(engine.step(), "0:8+1! 1:0+8!");
  EXPECT_EQ(engine.step(), "1:8+1! 2:0+8!");
  EXPECT_EQ(engine.step(), "2:8+1!");
}

// Of 10 and 20 tokens, 6 each in a step, though 64 fit: 6 + 4, and 6 + 6 + 6 + 2.
TEST(Scheduler, LimitsTheTokensOfOneRequestInAStep) {
  Settings with = options();
  with.serving.long_prefill_token_threshold = 6;
  Engine engine(with, 100);
  engine.ask(text(10), 3);
  engine.ask(text(20, kOther), 1);
  EXPECT_EQ(engine.step(), "0:0+6 1:0+6");
  EXPECT_EQ(engine.step(), "0:6+4! 1:6+6");
  EXPECT_EQ(engine.step(), "0:10+1! 1:12+6");
  EXPECT_EQ(engine.step(), "0:11+1! 1:18+2!");
}

// A prompt of 20 tokens never fits 10 as a whole, but its slice of 6 does; beside it, 4 are left, which is no
// slice of the next prompt.
TEST(Scheduler, CountsASliceAsAWholePromptWhereItLimitsThem) {
  Settings with = options();
  with.serving.chunked_prefill = false;
  with.serving.max_num_batched_tokens = 10;
  with.serving.long_prefill_token_threshold = 6;
  Engine engine(with, 100);
  engine.ask(text(20), 1);
  engine.ask(text(20, kOther), 1);
  EXPECT_EQ(engine.step(), "0:0+6");
  EXPECT_EQ(engine.step(), "0:6+6");
  EXPECT_EQ(engine.step(), "0:12+6");
  EXPECT_EQ(engine.step(), "0:18+2! 1:0+6");
}

// ---- priorities ----

Settings with_priorities() {
  Settings with = options();
  with.serving.scheduling_policy = SchedulingPolicy::priority;
  return with;
}

TEST(PriorityScheduler, ServesLowerPrioritiesFirstAndEqualOnesInOrderOfArrival) {
  Settings with = with_priorities();
  with.serving.max_num_seqs = 1;
  Engine engine(with, 100);
  engine.ask(text(4), 1, 2);
  engine.ask(text(4, 10), 1, 1);
  engine.ask(text(4, 11), 1, 2);
  engine.ask(text(4, 12), 1, 0);
  engine.ask(text(4, 13), 1, 1);
  EXPECT_EQ(engine.waiting(), "3101104200202");
  while (engine.scheduler().requests() > 0) engine.step();
  EXPECT_EQ(engine.ended(), "3101104200202");
}

// Request 1 needs a third block, and request 100 has the highest value: it loses its blocks and the token
// that the step already computed of it, and waits behind a request that came later.
TEST(PriorityScheduler, PreemptsTheHighestValueAlsoOutOfTheStep) {
  Engine engine(with_priorities(), 5);
  engine.ask(text(8), 5, 1);
  EXPECT_EQ(engine.step(), "100:0+8!");
  engine.ask(text(7, kOther), 5);
  EXPECT_EQ(engine.step(), "100:8+1! 1:0+7!");
  engine.ask(text(8, 9), 1);
  EXPECT_EQ(engine.step(), "100:9+1! 1:7+1!");
  const StepPlan plan = engine.plan();
  EXPECT_EQ(Engine::told(plan), "1:8+1!");
  EXPECT_TRUE(plan.preempted);
  EXPECT_EQ(plan.sampled, 1);
  EXPECT_EQ(plan.context_tokens, 9);
  EXPECT_EQ(engine.waiting(), "2100");
}

// Steps of 9 tokens, 4 of each request, and five blocks. In the third step request 1 finds no block, so that
// the 4 tokens of request 100 go to request 2, for which 9 - 4 - 4 = 1 was left.
TEST(PriorityScheduler, GivesTheTokensOfAPreemptedSliceToThoseBehindIt) {
  Settings with = with_priorities();
  with.serving.max_num_batched_tokens = 9;
  with.serving.long_prefill_token_threshold = 4;
  Engine engine(with, 5);
  engine.ask(text(12), 1, 1);
  EXPECT_EQ(engine.step(), "100:0+4");
  engine.ask(text(12, kOther), 1);
  engine.ask(text(8, 9), 1);
  EXPECT_EQ(engine.step(), "100:4+4 1:0+4 2:0+1");
  EXPECT_EQ(engine.step(), "1:4+4 2:1+4");
  EXPECT_EQ(engine.waiting(), "100");
}

// The request that lacks a block has the highest value itself: the step ends there, and the other one goes on
// in the next step.
TEST(PriorityScheduler, EndsAStepWithTheRequestThatIsPreemptedForItself) {
  Engine engine(with_priorities(), 4);
  engine.ask(text(7), 5, 1);
  EXPECT_EQ(engine.step(), "100:0+7!");
  engine.ask(text(7, kOther), 5);
  EXPECT_EQ(engine.step(), "100:7+1! 1:0+7!");
  const StepPlan plan = engine.plan();
  EXPECT_EQ(Engine::told(plan), "");
  EXPECT_TRUE(plan.preempted);
  EXPECT_EQ(engine.waiting(), "100");
  EXPECT_EQ(engine.step(), "1:7+1!");
}

TEST(Scheduler, AdmitsNoMoreThanItsSequences) {
  Settings with = options();
  with.serving.max_num_seqs = 2;
  Engine engine(with, 100);
  for (Key key = 1; key <= 3; ++key) engine.ask(text(4, key), 2);
  EXPECT_EQ(engine.step(), "0:0+4! 1:0+4!");
  EXPECT_EQ(engine.step(), "0:4+1! 1:4+1!");
  EXPECT_EQ(engine.step(), "2:0+4!");
}

TEST(Scheduler, LetsTheFirstThatDoesNotFitBlockThoseBehindIt) {
  Engine engine(options(), 5);
  engine.ask(text(12), 1);         // three blocks
  engine.ask(text(9, kOther), 1);  // three more, of which two are there
  engine.ask(text(4, 9), 1);       // would fit
  EXPECT_EQ(engine.step(), "0:0+12!");
  EXPECT_EQ(engine.step(), "1:0+9! 2:0+4!");
  // The same with one block more: nobody waits.
  Engine roomy(options(), 7);
  roomy.ask(text(12), 1);
  roomy.ask(text(9, kOther), 1);
  roomy.ask(text(4, 9), 1);
  EXPECT_EQ(roomy.step(), "0:0+12! 1:0+9! 2:0+4!");
}

// The blocks that it finds are not free any more once it holds them.
TEST(Scheduler, CountsABlockThatIsFoundAndThatNobodyHoldsAsTaken) {
  Engine engine(options(), 5);
  engine.ask(text(8), 1);
  engine.step();
  engine.ask(text(4, kOther), 3);
  EXPECT_EQ(engine.step(), "1:0+4!");
  engine.ask(text(16), 1);  // two blocks are found; two more are needed, and of four free ones two are those
  EXPECT_EQ(engine.step(), "1:4+1!");  // takes the last but one that is not cached
  EXPECT_EQ(engine.step(), "1:5+1!");
  EXPECT_EQ(engine.step(), "2:8+8!");
}

TEST(Scheduler, AdmitsAPromptOfWhichTheFirstSliceFitsWhereItIsToldSo) {
  for (const Admission admission : {Admission::full_prompt, Admission::chunk}) {
    Settings with = options();
    with.serving.admission = admission;
    with.serving.max_num_batched_tokens = 8;
    Engine engine(with, 5);
    engine.ask(text(8), 3);
    EXPECT_EQ(engine.step(), "0:0+8!");
    engine.ask(text(12, kOther), 1);  // three blocks, of which two are free while request 0 has its third
    const bool chunk = admission == Admission::chunk;
    EXPECT_EQ(engine.step(), chunk ? "0:8+1! 1:0+7" : "0:8+1!");
    // No third block for it: it is the last admitted, and preempted.
    EXPECT_EQ(engine.step(), "0:9+1!");
    EXPECT_EQ(engine.waiting(), "1");
    EXPECT_EQ(engine.step(), chunk ? "1:4+8!" : "1:0+8");
  }
}

TEST(Scheduler, AdmitsAPromptThatIsShorterThanASliceWhereItFits) {
  Settings with = options();
  with.serving.admission = Admission::chunk;
  with.serving.max_num_batched_tokens = 8;
  Engine engine(with, 1);
  engine.ask(text(4), 1);
  EXPECT_EQ(engine.step(), "0:0+4!");
}

// What lies on the GPU in no block needs none, and is no part of the first slice.
TEST(Scheduler, CountsTheFirstSliceFromWhereItsComputationBegins) {
  Settings with = options();
  with.serving.admission = Admission::chunk;
  with.serving.max_num_batched_tokens = 8;
  Engine engine(with, 3);
  engine.ask(text(8), 2);
  EXPECT_EQ(engine.step(), "0:0+8!");
  engine.ask(text(40, kOther), 1);
  engine.lies_beside[1] = 32;  // eight are computed, which takes two blocks; none is free beside request 0's
  EXPECT_EQ(engine.step(), "0:8+1!");
  EXPECT_EQ(engine.step(), "1:32+8!");
}

TEST(Scheduler, NeverPreemptsWhereAnswersAreReserved) {
  Settings with = options();
  with.serving.admission = Admission::reserve_output;
  Engine engine(with, 5);
  engine.ask(text(8), 5);          // 12 tokens in the end: three blocks
  engine.ask(text(8, kOther), 5);  // and three more
  for (int i = 0; i < 5; ++i) {
    const StepPlan plan = engine.plan();
    EXPECT_EQ(plan.slices.size(), 1U);
    EXPECT_FALSE(plan.preempted);
    engine.finish(plan);
  }
  EXPECT_EQ(engine.ended(), "0");
  EXPECT_EQ(engine.step(), "1:0+8!");
  // With one block more both run, and end in the same step.
  Engine roomy(with, 6);
  roomy.ask(text(8), 5);
  roomy.ask(text(8, kOther), 5);
  for (int i = 0; i < 5; ++i) roomy.step();
  EXPECT_EQ(roomy.ended(), "01");
}

// ---- the order of work ----

TEST(Scheduler, ComputesPromptsAloneWhereTheyGoFirst) {
  Settings with = options();
  with.serving.schedule = StepOrder::prefill_first;
  Engine engine(with, 100);
  engine.ask(text(8), 9);
  EXPECT_EQ(engine.step(), "0:0+8!");
  EXPECT_EQ(engine.step(), "0:8+1!");
  engine.ask(text(100, kOther), 9);
  EXPECT_EQ(engine.step(), "1:0+64");
  EXPECT_EQ(engine.step(), "1:64+36!");
  EXPECT_EQ(engine.step(), "0:9+1! 1:100+1!");
}

TEST(Scheduler, AsksOnceToAdmitARequestAndAgainInEveryPlanInWhichItWaits) {
  Engine engine(options(), 3);
  engine.ask(text(8), 2);
  engine.ask(text(8, kOther), 1);
  EXPECT_EQ(engine.step(), "0:0+8!");
  EXPECT_EQ(engine.times_asked, 2);
  EXPECT_EQ(engine.step(), "0:8+1!");
  EXPECT_EQ(engine.times_asked, 3);
  EXPECT_EQ(engine.step(), "1:0+8!");
  EXPECT_EQ(engine.times_asked, 4);
  engine.step();
  EXPECT_EQ(engine.times_asked, 4);
}

TEST(Scheduler, LetsOthersPassOneRequestAndWaitForAnother) {
  Engine engine(options(), 100);
  engine.says[0] = Outcome::passes;
  engine.ask(text(4), 1);
  engine.ask(text(4, kOther), 1);
  EXPECT_EQ(engine.step(), "1:0+4!");
  engine.says[0] = Outcome::waits;
  engine.ask(text(4, 9), 1);
  EXPECT_EQ(engine.step(), "");
  engine.says.clear();
  EXPECT_EQ(engine.step(), "0:0+4! 2:0+4!");
}

// ---- preemption ----

TEST(Scheduler, PreemptsTheLastAdmittedWhichGoesToTheHeadAndFindsItsBlocks) {
  Engine engine(options(), 5);
  engine.ask(text(8), 5);
  engine.ask(text(8, kOther), 5);
  EXPECT_EQ(engine.step(), "0:0+8! 1:0+8!");
  engine.ask(text(8, 9), 1);
  // Both need a third block, and there is one.
  const StepPlan plan = engine.plan();
  EXPECT_EQ(Engine::told(plan), "0:8+1!");
  EXPECT_TRUE(plan.preempted);
  EXPECT_EQ(engine.waiting(), "12");
  engine.finish(plan);
  for (int i = 0; i < 3; ++i) engine.step();
  EXPECT_EQ(engine.ended(), "0");
  // Its prompt and the token that it had: two blocks are there, and one token is computed again.
  EXPECT_EQ(engine.step(), "1:8+1! 2:0+8!");
}

TEST(Scheduler, AdmitsNobodyInAStepThatPreempts) {
  Engine engine(options(), 5);
  engine.ask(text(8), 5);
  engine.ask(text(8, kOther), 5);
  engine.step();
  engine.says[1] = Outcome::passes;  // once it is back in the queue
  engine.ask(text(4, 9), 2);
  EXPECT_EQ(engine.step(), "0:8+1!");  // though two blocks are free
  EXPECT_EQ(engine.step(), "0:9+1! 2:0+4!");
}

// ---- groups of layers ----

// A full group and three recurrent ones with the blocks of Qwen3.5-4B: 528 tokens.
KvPoolOptions recurrent_pool(Checkpoints checkpoints) {
  const KvGroup state{KvRule::checkpoint, 0, 528};
  return {.blocks = 400,
          .layout = {.groups = {{.block_tokens = 528}, state, state, state}, .unit_tokens = 528},
          .checkpoints = checkpoints,
          .step_tokens = 2048};
}

// What the second of two requests computes of 2,200 tokens, of which the first `shared` are the first one's.
std::string second_of_two(int64_t shared, Checkpoints checkpoints) {
  Engine engine(with_budget(8, 2048), recurrent_pool(checkpoints));
  engine.ask({{kText, 0, shared}, {kOther, 0, 2200 - shared}}, 1);
  while (engine.ended().empty()) engine.step();
  engine.ask({{kText, 0, shared}, {kOther + 1, 0, 2200 - shared}}, 1);
  return engine.step();
}

// 2,200 tokens hold floor(2200 / 528) = 4 blocks, which end at 2,112. A step of 2,048 tokens ends before
// that, at 3 x 528 = 1,584; the next one at 2,112; the last one computes 88 tokens. States are kept at 1,584
// and 2,112 only. Of 1,600 shared tokens 3 blocks are full: the state at 1,584 is found. Of 1,500 shared
// tokens 2 blocks are full, which end at 1,056, where no state was kept: nothing is found
// (vllm-project/vllm#45238).
TEST(HybridScheduler, FindsAPrefixOnlyWhereAStateWasKept) {
  Engine engine(with_budget(8, 2048), recurrent_pool(Checkpoints::align));
  engine.ask(text(2200), 1);
  EXPECT_EQ(engine.step(), "0:0+1584");
  EXPECT_EQ(engine.step(), "0:1584+528");
  EXPECT_EQ(engine.step(), "0:2112+88!");
  EXPECT_EQ(second_of_two(1600, Checkpoints::align), "1:1584+528");
  EXPECT_EQ(second_of_two(1500, Checkpoints::align), "1:0+1584");
  EXPECT_EQ(second_of_two(1500, Checkpoints::all), "1:1056+1144!");
  EXPECT_EQ(second_of_two(1600, Checkpoints::none), "1:0+2048");
}

// A prompt that gets no whole block of the budget waits; one that runs is left out of the step.
TEST(HybridScheduler, WaitsForABudgetOfAWholeBlock) {
  Engine engine(with_budget(8, 1000), recurrent_pool(Checkpoints::align));
  engine.ask(text(1500), 1);
  engine.ask(text(1200, kOther), 1);
  EXPECT_EQ(engine.step(), "0:0+528");  // 472 tokens are left: no block of request 1
  EXPECT_EQ(engine.waiting(), "1");
  EXPECT_EQ(engine.step(), "0:528+528");
  EXPECT_EQ(engine.step(), "0:1056+444! 1:0+528");
  EXPECT_EQ(engine.step(), "1:528+528");
  EXPECT_EQ(engine.step(), "1:1056+144!");
}

// 100 tokens in steps of 8 and a window of 5: 25 blocks of the full group, and of the sliding one
// ceil((5 - 1 + 8) / 4) + 1 = 4. 29 blocks suffice, 28 do not.
TEST(HybridScheduler, AdmitsAPromptWhoseWindowFits) {
  const auto first_step = [](int64_t blocks) {
    const KvGroup window{KvRule::window, 5, kBlock};
    Engine engine(with_budget(8, 8),
                  {.blocks = blocks,
                   .layout = {.groups = {{.block_tokens = kBlock}, window}, .unit_tokens = kBlock},
                   .step_tokens = 8});
    engine.ask(text(100), 1);
    std::string steps = engine.step();
    while (!steps.empty() && engine.ended().empty()) engine.step();
    return steps;
  };
  EXPECT_EQ(first_step(29), "0:0+8");
  EXPECT_EQ(first_step(28), "");
}

// ---- room that admissions leave ----

// Ten blocks of 4 tokens. The first request takes 4; of the 6 that are left an admission beside it leaves
// floor(0.25 x 10) = 2 free: 4 blocks fit, 5 do not. Alone it may have all of them.
TEST(Scheduler, LeavesAShareOfTheBlocksFreeWhileOthersRun) {
  Settings with = options();
  with.serving.watermark = 0.25;
  const auto admits = [&](int64_t second_tokens) {
    Engine engine(with, 10);
    engine.ask({{kText, 0, 15}}, 2);
    engine.ask({{kOther, 0, second_tokens}}, 2);
    return engine.step();
  };
  EXPECT_EQ(admits(16), "0:0+15! 1:0+16!");
  EXPECT_EQ(admits(17), "0:0+15!");
  Engine alone(with, 10);
  alone.ask({{kText, 0, 38}}, 2);
  EXPECT_EQ(alone.step(), "0:0+38!");
}

}  // namespace
}  // namespace kvcap::scheduler_test
