// Admission::reserve_share: what SGLang's scheduler admits, retracts and names.
#include "unit/scheduled_engine.h"

namespace kvcap::reserved_share_test {
namespace {

using namespace scheduled_engine;

constexpr Key kThird = 9;

// 48 tokens. The first request has 8 of them, takes one in this step, and has 19 to answer, of which 0.7 are
// reserved: 25.7 are left. The second needs 4 + 17 and a block, 25; with an 18th it needs 26.
TEST(ReservedShare, ReservesAShareOfTheAnswersUnderWay) {
  Settings with = options();
  with.serving.admission = Admission::reserve_share;
  const auto admits = [&](int64_t second_output) {
    Engine engine(with, 12);
    engine.ask({{kText, 0, 7}}, 20);
    EXPECT_EQ(engine.step(), "0:0+7!");
    engine.ask({{kOther, 0, 4}}, second_output);
    return engine.step();
  };
  EXPECT_EQ(admits(17), "0:7+1! 1:0+4!");
  EXPECT_EQ(admits(18), "0:7+1!");
}

Settings like_sglang() {
  Settings with = options();
  with.serving.admission = Admission::reserve_share;
  with.serving.schedule = StepOrder::prefill_first;
  return with;
}

// 48 tokens. Prompts of the same step reserve their whole answers, and a block each: 8 + 3 + 4, then 8 + 10 +
// 4 of 33, then 4 + 20 + 4, which are not left. When the first has ended, 36 - 0.7 x 7 are.
TEST(ReservedShare, AfterARefusalAdmitsNoneUntilARequestHasEndedAndAStepHasDecodedWithoutIt) {
  Engine engine(like_sglang(), 12);
  engine.ask({{kText, 0, 8}}, 3);
  engine.ask({{kOther, 0, 8}}, 10);
  engine.ask({{kThird, 0, 4}}, 20);
  EXPECT_EQ(engine.step(), "0:0+8! 1:0+8!");
  EXPECT_EQ(engine.step(), "0:8+1! 1:8+1!");
  EXPECT_EQ(engine.step(), "0:9+1! 1:9+1!");
  EXPECT_EQ(engine.ended(), "0");
  const StepPlan plan = engine.plan();
  EXPECT_EQ(Engine::told(plan), "1:10+1!");
  EXPECT_EQ(engine.scheduler().most_steps(plan, false, 5), 0) << "the next one tries again";
  engine.finish(plan);
  EXPECT_EQ(engine.step(), "2:0+4!");
}

// 48 tokens: 40 - (8 + 20 + 4) = 8 are left beside the second slice, and the second request needs 12. It
// would have room when the first decodes.
TEST(ReservedShare, RefusesForLackOfRoomBeforeItLacksBudget) {
  Settings with = like_sglang();
  with.serving.max_num_batched_tokens = 8;
  Engine engine(with, 12);
  engine.ask({{kText, 0, 16}}, 20);
  engine.ask({{kOther, 0, 4}}, 4);
  EXPECT_EQ(engine.step(), "0:0+8");
  EXPECT_EQ(engine.step(), "0:8+8!");
  EXPECT_EQ(engine.step(), "0:16+1!");
  EXPECT_EQ(engine.step(), "0:17+1!");
}

TEST(ReservedShare, StartsNoLoadInAStepWithoutBudget) {
  Settings with = like_sglang();
  with.serving.max_num_batched_tokens = 8;
  Engine engine(with, 100);
  engine.loads[1] = 4;
  engine.ask({{kText, 0, 16}}, 20);
  engine.ask({{kOther, 0, 12}}, 4);
  engine.step();
  EXPECT_EQ(engine.step(), "0:8+8!");
  EXPECT_TRUE(engine.scheduler().loading().empty());
  engine.step();
  EXPECT_EQ(engine.scheduler().loading().size(), 1u);
}

// Of 48 tokens 16 are found and held, 4 + 4 + 1 are reserved, and 23 are left: for 4 + 14 and a block.
TEST(ReservedShare, CountsWhatPromptsOfTheStepHaveFoundAsTaken) {
  const auto admits = [&](int64_t output) {
    Engine engine(like_sglang(), 12);
    engine.ask({{kText, 0, 17}}, 1);
    engine.step();
    engine.ask({{kText, 0, 17}}, 1);
    engine.ask({{kOther, 0, 4}}, output);
    return engine.step();
  };
  EXPECT_EQ(admits(14), "1:16+1! 2:0+4!");
  EXPECT_EQ(admits(15), "1:16+1!");
}

// Only the first whole prompt may take all of the budget.
TEST(ReservedShare, LetsAWholePromptWaitThatWouldTakeTheRestOfTheBudget) {
  Settings with = like_sglang();
  with.serving.chunked_prefill = false;
  with.serving.max_num_batched_tokens = 16;
  Engine engine(with, 40);
  engine.ask({{kText, 0, 8}}, 1);
  engine.ask({{kOther, 0, 8}}, 1);
  engine.ask({{kThird, 0, 16}}, 1);
  EXPECT_EQ(engine.step(), "0:0+8!");
  EXPECT_EQ(engine.step(), "1:0+8!");
  EXPECT_EQ(engine.step(), "2:0+16!");
}

// Both have generated 10 tokens when a ninth block is needed, for the first's 17th or for both's.
TEST(ReservedShare, RetractsTheLongestOfThePromptsWithTheShortestAnswersToTheEndOfTheQueue) {
  const auto retracts = [](int64_t second_tokens) {
    Settings with = like_sglang();
    with.serving.reserved_output_share = 0;
    Engine engine(with, 8, false);
    engine.ask({{kText, 0, 7}}, 12);
    EXPECT_EQ(engine.step(), "0:0+7!");
    engine.ask({{kOther, 0, second_tokens}}, 12);
    engine.step();
    for (int step = 3; step < 12; ++step) engine.step();
    engine.ask({{kThird, 0, 30}}, 1);
    const std::string told = engine.step();
    // 10 tokens and 20 steps more, of 12.
    EXPECT_DOUBLE_EQ(engine.scheduler().output_share(), 1);
    return told + " " + engine.waiting();
  };
  EXPECT_EQ(retracts(4), "1:13+1! 20");
  EXPECT_EQ(retracts(7), "0:16+1! 21") << "of equal ones the one admitted last";
}

// Of 17 tokens the last is never computed.
TEST(ReservedShare, NamesTheBlocksOfAnAnswerAtItsEndAsSglangDoes) {
  Engine engine(like_sglang(), 20);
  Request& first = engine.ask({{kText, 0, 8}}, 9);
  for (int step = 0; step < 8; ++step) engine.step();
  EXPECT_EQ(engine.named_blocks(first), 2);
  engine.step();
  EXPECT_EQ(engine.ended(), "0");
  engine.ask({{kText, 0, 8}, {Engine::answer_of(0), 0, 9}, {kOther, 0, 3}}, 2);
  EXPECT_EQ(engine.step(), "1:16+4!");
}

// 0.7 x 0.86 / 600 a step, down to 0.7 x 0.14.
TEST(ReservedShare, ReservesLessWithEveryDecodeStep) {
  Settings with = options();
  with.serving.admission = Admission::reserve_share;
  Engine engine(with, 1000);
  engine.ask({{kText, 0, 4}}, 2000);
  engine.step();
  EXPECT_DOUBLE_EQ(engine.scheduler().output_share(), 0.7);
  for (int step = 0; step < 300; ++step) engine.step();
  EXPECT_NEAR(engine.scheduler().output_share(), 0.7 - 300 * 0.7 * 0.86 / 600, 1e-12);
  for (int step = 0; step < 400; ++step) engine.step();
  EXPECT_NEAR(engine.scheduler().output_share(), 0.7 * 0.14, 1e-12);
  while (engine.ended().empty()) engine.step();
  EXPECT_DOUBLE_EQ(engine.scheduler().output_share(), 0.7) << "an idle engine begins anew";
}

}  // namespace
}  // namespace kvcap::reserved_share_test
