// Steps that the scheduler plans ahead or repeats, and requests whose contexts are loaded.
#include "unit/scheduled_engine.h"

namespace kvcap::scheduler_steps_test {
namespace {

using namespace scheduled_engine;

// ---- steps that are planned ahead ----

TEST(Scheduler, PlansAStepWithTheTokensThatTheStepBeforeItWillYield) {
  Engine engine(options(), 100);
  engine.ask(text(8), 3);
  const StepPlan first = engine.plan();
  const StepPlan second = engine.plan();  // when the first one begins
  engine.ask(text(4, kOther), 1);         // arrives while it runs
  EXPECT_EQ(Engine::told(first), "0:0+8!");
  EXPECT_EQ(Engine::told(second), "0:8+1!");
  engine.finish(first);
  const StepPlan third = engine.plan();
  EXPECT_EQ(Engine::told(third), "0:9+1! 1:0+4!");
  engine.finish(second);
  // Request 0 has three tokens then, and gets no slot for a fourth.
  EXPECT_EQ(Engine::told(engine.plan()), "");
  engine.finish(third);
  EXPECT_EQ(engine.ended(), "01");
}

// A block of generated tokens has its name when they are known.
TEST(Scheduler, NamesNoBlockBeforeItsTokensAreKnown) {
  Engine engine(options(), 100);
  Request& request = engine.ask(text(7), 9);
  const StepPlan first = engine.plan();
  const StepPlan second = engine.plan();  // the token that fills the second block: its value is not known
  EXPECT_EQ(request.holding.blocks(), 2);
  EXPECT_EQ(engine.named_blocks(request), 1);
  engine.finish(first);
  EXPECT_EQ(engine.named_blocks(request), 2);
  engine.finish(second);
}

TEST(Scheduler, LetsAPreemptedRequestKeepTheTokenInFlight) {
  Engine engine(options(), 5);
  engine.ask(text(8), 5);
  Request& last = engine.ask(text(8, kOther), 5);
  const StepPlan first = engine.plan();
  const StepPlan second = engine.plan();
  EXPECT_EQ(Engine::told(second), "0:8+1!");
  EXPECT_EQ(engine.waiting(), "1");
  EXPECT_EQ(last.generated, 0);
  engine.finish(first);
  EXPECT_EQ(last.generated, 1);
  engine.finish(second);
  EXPECT_EQ(last.generated, 1);
}

TEST(Scheduler, LetsAPreemptedRequestEndWithTheTokenInFlight) {
  Engine engine(options(), 4);
  engine.ask(text(8), 5);
  engine.ask(text(8, kOther), 1);
  const StepPlan first = engine.plan();
  const StepPlan second = engine.plan();  // the third block of request 0 is one of request 1's
  EXPECT_TRUE(second.preempted);
  EXPECT_EQ(engine.waiting(), "1");
  engine.finish(first);
  EXPECT_EQ(engine.ended(), "1");
  EXPECT_EQ(engine.waiting(), "");
}

// ---- many steps at once ----

TEST(Scheduler, RepeatsAStepUntilSomebodyEndsOrBlocksRunOut) {
  for (const auto& [blocks, steps] : {std::pair{4, 7}, std::pair{5, 8}}) {
    Engine engine(options(), blocks);
    Request& request = engine.ask(text(8), 10);
    engine.step();
    StepPlan decode = engine.plan();
    // 9 tokens are planned: up to 16 fit into four blocks. The last of ten ends it, and the first is known.
    EXPECT_EQ(engine.scheduler().most_steps(decode, false, 1000), steps);
    EXPECT_EQ(engine.scheduler().most_steps(decode, false, 3), 3);
    engine.scheduler().skip(decode, nullptr, steps);
    EXPECT_EQ(request.generated, 1 + steps);
    EXPECT_EQ(decode.context_tokens, 9 + steps);
    EXPECT_EQ(Engine::told(decode), "0:" + std::to_string(8 + steps) + "+1!");
    engine.finish(decode);
    EXPECT_EQ(engine.ended(), steps == 8 ? "0" : "");
  }
}

// Blocks that a request has too many are no other's.
TEST(Scheduler, RepeatsAStepNoMoreOftenThanBlocksAreFree) {
  Engine engine(options(), 8);
  engine.loads[0] = 16;
  Request& loading = engine.ask(text(16), 20);
  engine.ask(text(8, kOther), 20);
  EXPECT_EQ(engine.step(), "1:0+8!");
  loading.unused_tokens = 8;  // half of its history takes no part in the turn
  loading.planned = loading.computed = 7;
  engine.scheduler().loaded(loading);
  EXPECT_EQ(engine.step(), "1:8+1! 0:7+1!");
  // Request 0 has four blocks for 8 tokens, request 1 three for 9; one is free.
  const StepPlan decode = engine.plan();
  EXPECT_EQ(Engine::told(decode), "1:9+1! 0:8+1!");
  EXPECT_EQ(engine.scheduler().most_steps(decode, false, 1000),
            6);  // 10 + 6 tokens of request 1: four blocks
}

TEST(Scheduler, RepeatsOneStepLessWhereTheNextIsPlanned) {
  Engine engine(options(), 100);
  engine.ask(text(8), 10);
  engine.finish(engine.plan());
  const StepPlan decode = engine.plan();
  engine.plan();
  EXPECT_EQ(engine.scheduler().most_steps(decode, true, 1000), 7);
}

TEST(Scheduler, RepeatsStepsBeyondABlockThatNobodyWaitsFor) {
  Engine engine(options(), 5);
  engine.ask(text(8), 8);
  engine.step();
  engine.ask(text(20, kOther), 1);
  EXPECT_EQ(engine.scheduler().most_steps(engine.plan(), false, 1000), 6);
}

// ---- contexts that are loaded ----

TEST(Scheduler, GivesNoSlotToARequestThatLoads) {
  Settings with = options();
  with.serving.max_num_seqs = 1;
  Engine engine(with, 100);
  engine.loads[0] = 8;
  Request& loading = engine.ask(text(12), 1);
  engine.ask(text(4, kOther), 2);
  EXPECT_EQ(engine.step(), "1:0+4!");
  EXPECT_EQ(loading.holding.blocks(), 2);
  EXPECT_EQ(engine.named_blocks(loading), 0);  // nobody finds what has not arrived
  engine.scheduler().loaded(loading);
  EXPECT_EQ(engine.named_blocks(loading), 2);
  EXPECT_EQ(engine.step(), "1:4+1!");  // has the only slot
  EXPECT_EQ(engine.step(), "0:8+4!");
}

TEST(Scheduler, ParksAContextOnlyInRoomThatOtherPromptsDoNotNeed) {
  for (const auto& [tokens, parked] : {std::pair{16, 2U}, std::pair{17, 1U}}) {
    Engine engine(options(), 10);
    engine.loads[0] = engine.loads[1] = 4;
    engine.ask(text(24), 1);              // holds one block while it loads, and needs five more
    engine.ask(text(tokens, kOther), 1);  // of nine free blocks it gets four, not five
    engine.step();
    EXPECT_EQ(engine.scheduler().loading().size(), parked);
  }
}

TEST(Scheduler, PreemptsNobodyWhoseContextIsLoaded) {
  Engine engine(options(), 5);
  engine.ask(text(8), 9);
  engine.loads[1] = 8;
  Request& loading = engine.ask(text(12, kOther), 1);
  EXPECT_EQ(engine.step(), "0:0+8!");
  EXPECT_EQ(loading.holding.blocks(), 2);
  for (int i = 0; i < 4; ++i) engine.step();  // 12 tokens: three blocks, and none is left
  const StepPlan plan = engine.plan();
  EXPECT_TRUE(plan.preempted);
  EXPECT_TRUE(plan.empty());
  EXPECT_EQ(engine.waiting(), "0");
  engine.scheduler().loaded(loading);
  EXPECT_EQ(engine.waiting(), "01");
  // Request 0 does not fit; who has blocks already passes it.
  EXPECT_EQ(engine.step(), "1:8+4!");
}

TEST(Scheduler, AdmitsALoadedRequestThoughItsAnswerIsReserved) {
  Settings with = options();
  with.serving.admission = Admission::reserve_output;
  Engine engine(with, 10);
  engine.loads[0] = 8;
  Request& loading = engine.ask(text(20), 13);  // 32 tokens in the end: eight blocks of ten
  EXPECT_EQ(engine.step(), "");
  engine.scheduler().loaded(loading);
  EXPECT_EQ(engine.step(), "0:8+12!");
}

// Two requests of which each waits for the other's blocks: request 1 computes a slice, finds no room for the
// next and begins anew, while request 0 holds what it has loaded.
TEST(Scheduler, ServesAParkedContextBesideAPromptThatIsComputedInSlices) {
  Settings with = options();
  with.serving.admission = Admission::chunk;
  with.serving.max_num_batched_tokens = 8;
  Engine engine(with, 8, false);
  engine.loads[0] = 16;
  Request& loading = engine.ask(text(24), 1);  // four blocks of eight, and two that it owes
  engine.ask(text(28, kOther), 1);             // seven
  engine.step();
  engine.step();
  engine.scheduler().loaded(loading);
  for (int i = 0; i < 20 && engine.scheduler().requests() > 0; ++i) engine.step();
  EXPECT_EQ(engine.ended(), "01");
}

TEST(Scheduler, CountsASlotForARequestWhoseRestorationComputesItsPrompt) {
  Settings with = options();
  with.serving.max_num_seqs = 1;
  Engine engine(with, 100);
  engine.loads[0] = 12;
  engine.beside = true;
  Request& fused = engine.ask(text(12), 3);
  engine.ask(text(4, kOther), 1);
  EXPECT_EQ(engine.step(), "");
  engine.scheduler().computed_beside(fused);
  EXPECT_EQ(fused.generated, 1);
  EXPECT_EQ(engine.step(), "0:12+1!");  // has its first token, and the slot
  EXPECT_EQ(engine.step(), "0:13+1!");
  EXPECT_EQ(engine.step(), "1:0+4!");
}

}  // namespace
}  // namespace kvcap::scheduler_steps_test
