#include "engine/step_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "base/random.h"
#include "engine/arrivals.h"
#include "laws/machines.h"

namespace kvcap::step_time_test {
namespace {

CostModel cost_model() { return CostModel(laws::llama_2_7b(), laws::a100(), 1); }

TEST(StepTime, OfADecodeRunIsTheSumOfItsSteps) {
  const CostModel cost = cost_model();
  const StepTime times(cost, {});
  const DecodeRun run = times.decode(5, 4000);
  double sum_s = 0;
  for (int64_t step = 0; step < 300; ++step) {
    EXPECT_NEAR(run.sum_s(step), sum_s, 1e-9 * (1 + sum_s));
    sum_s += times.mixed_s({}, 5, 4000 + 5 * step, 5);
  }
}

// Floors that end at different steps: 16 layers until about step 60, 8 layers until about step 150.
TEST(StepTime, OfADecodeRunIsTheSumOfItsStepsAcrossFloors) {
  const CostModel cost = cost_model();
  const DecodeAttention attention = cost.decode_attention_layer_s(8);
  const auto layer_s = [&](int64_t step) {
    return cost.linear_layer_s(8) + attention.fixed_s +
           attention.per_context_token_s * static_cast<double>(4000 + 8 * step);
  };
  const StepTime times(cost, {{.layers = 16, .write_s_per_sequence = layer_s(60) / 8 + 1e-12},
                              {.layers = 8, .write_s_per_sequence = layer_s(150) / 8 + 1e-12}});
  const DecodeRun run = times.decode(8, 4000);
  EXPECT_EQ(run.ramps().size(), 3U);
  double sum_s = 0;
  for (int64_t step = 0; step < 400; ++step) {
    ASSERT_NEAR(run.sum_s(step), sum_s, 1e-9 * (1 + sum_s)) << "step " << step;
    sum_s += times.mixed_s({}, 8, 4000 + 8 * step, 8);
  }
}

TEST(StepTime, FindsTheStepThatAnEventFallsInto) {
  const CostModel cost = cost_model();
  const DecodeRun run = StepTime(cost, {}).decode(3, 2000);
  for (int64_t steps : {1, 2, 17, 100}) {
    const double end_s = run.sum_s(steps);
    EXPECT_EQ(run.steps_to_reach(end_s * (1 - 1e-9), 1000), steps);
    EXPECT_EQ(run.steps_to_reach(end_s * (1 + 1e-9), 1000), steps + 1);
  }
  EXPECT_EQ(run.steps_to_reach(0, 1000), 1);
  EXPECT_EQ(run.steps_to_reach(1e9, 1000), 1000);
}

// Returns a run of up to four ramps, some of them flat; the last one never ends.
DecodeRun random_run(const RandomStream& random, uint64_t i) {
  std::vector<Ramp> ramps;
  const auto count = 1 + static_cast<uint64_t>(4 * random.uniform(i, 0));
  for (uint64_t ramp = 0; ramp < count; ++ramp) {
    const bool is_flat = random.uniform(i, 3 * ramp + 1) < 0.3;
    ramps.push_back({.first_s = 0.01 * random.uniform(i, 3 * ramp + 2),
                     .growth_s = is_flat ? 0 : 1e-4 * random.uniform(i, 3 * ramp + 3),
                     .steps = ramp + 1 < count ? 1 + static_cast<int64_t>(40 * random.uniform(i, 20 + ramp))
                                               : std::numeric_limits<int64_t>::max()});
  }
  return DecodeRun(std::move(ramps));
}

TEST(StepTime, FindsTheSameStepAsCountingDoes) {
  const RandomStream random(7, "runs");
  for (uint64_t i = 0; i < 2000; ++i) {
    const DecodeRun run = random_run(random, i);
    const double seconds = 2 * random.uniform(i, 40) * random.uniform(i, 41);
    const auto at_most = 1 + static_cast<int64_t>(300 * random.uniform(i, 42));
    int64_t counted = 1;
    while (counted < at_most && run.sum_s(counted) < seconds) ++counted;
    ASSERT_EQ(run.steps_to_reach(seconds, at_most), counted) << i;
  }
}

TEST(StepTime, OfTheLongestOfTwoRunsIsTheLongerOfEachStep) {
  const RandomStream random(8, "runs");
  for (uint64_t i = 0; i < 500; ++i) {
    const DecodeRun one = random_run(random, 2 * i), two = random_run(random, 2 * i + 1);
    const DecodeRun longest = one.longest(two);
    double sum_s = 0;
    for (int64_t step = 0; step < 200; ++step) {
      ASSERT_NEAR(longest.sum_s(step), sum_s, 1e-12) << i << ", step " << step;
      sum_s += std::max(one.sum_s(step + 1) - one.sum_s(step), two.sum_s(step + 1) - two.sum_s(step));
    }
  }
}

TEST(StepTime, LastsAtLeastAsLongAsTheCopyOfWhatIsSaved) {
  const CostModel cost = cost_model();
  // A copy of 1 ms a token and layer: 32 layers x 10 rows
  const StepTime times(cost, {{.layers = 32, .copy_s_per_token = 1e-3}});
  const PrefillChunk chunk{10, 0};
  EXPECT_NEAR(times.mixed_s({&chunk, 1}, 0, 0, 1), 32 * 10e-3 + cost.head_s(1), 1e-12);
}

TEST(Arrivals, ReturnAThinkTimeAfterTheAnswer) {
  Workload workload;
  workload.sessions = {{.first_turn = 0, .turn_count = 2}, {.first_turn = 2, .turn_count = 1}};
  workload.turns = {{10, 10, 0}, {10, 10, 5}, {10, 10, 4}};
  Arrivals arrivals(workload);
  EXPECT_EQ(arrivals.next_s(), 0);
  const Arrival first = arrivals.pop();
  EXPECT_EQ(arrivals.next_s(), 4);
  arrivals.answered(first, 2);  // back at 2 + 5
  const Arrival second = arrivals.pop();
  EXPECT_EQ(second.session, 1U);
  EXPECT_EQ(arrivals.next_s(), 7);
  arrivals.answered(second, 6);
  EXPECT_FALSE(arrivals.ended());
  arrivals.answered(arrivals.pop(), 9);
  EXPECT_TRUE(arrivals.ended());
}

TEST(Arrivals, WithTimestampsWaitForTheAnswerBefore) {
  Workload workload;
  workload.absolute_times = true;
  workload.sessions = {{.first_turn = 0, .turn_count = 3}};
  workload.turns = {{10, 10, 0}, {10, 10, 5}, {10, 10, 6}};
  Arrivals arrivals(workload);
  arrivals.answered(arrivals.pop(), 1);
  EXPECT_EQ(arrivals.next_s(), 5);  // as stamped
  arrivals.answered(arrivals.pop(), 8);
  EXPECT_EQ(arrivals.next_s(), 8);  // the answer came later than the stamp
}

TEST(Arrivals, OfARefusedTurnEndItsSession) {
  Workload workload;
  workload.sessions = {{.first_turn = 0, .turn_count = 3}};
  workload.turns = {{10, 10, 0}, {10, 10, 5}, {10, 10, 6}};
  Arrivals arrivals(workload);
  EXPECT_EQ(arrivals.refused(arrivals.pop(), 0), 2U);
  EXPECT_TRUE(arrivals.ended());
}

}  // namespace
}  // namespace kvcap::step_time_test
