// Tests that the gaps between the tokens of an answer sum to the time from its first token to its last,
// whatever delays them.
#include <gtest/gtest.h>

#include "laws/machines.h"

namespace kvcap::laws::token_gaps_test {
namespace {

void expect_gaps_of_answers(const RunResult& result) {
  double answers_s = 0;
  int64_t gaps = 0;
  for (const TurnRecord& turn : result.turns) {
    if (turn.warmup) continue;
    answers_s += turn.e2el_s - turn.ttft_s;
    gaps += turn.output_tokens - 1;
  }
  ASSERT_GT(gaps, 0);
  const double mean_ms = 1e3 * answers_s / static_cast<double>(gaps);
  EXPECT_NEAR(result.number("mean_itl_ms"), mean_ms, 1e-6 * mean_ms);
}

// Returns one turn that decodes from the beginning, and one that arrives 0.5 s later with its own history.
Workload decoding_and_joined(uint32_t history_tokens) {
  Workload workload;
  workload.sessions = {
      {.first_turn = 0, .turn_count = 1},
      {.first_turn = 1, .turn_count = 1, .context_tokens = history_tokens, .history_grows = false}};
  workload.turns = {{64, 400, 0}, {64, 50, 0.5}};
  workload.warm_start = true;
  return workload;
}

TEST(TokenGaps, OfAPreemptedAnswerSpanThePromptThatIsComputedAgain) {
  for (bool async : {false, true}) {
    Scenario tight = scenario("recompute");
    tight.serving.kv_capacity_tokens = 1600;
    tight.serving.async_scheduling = async;
    Workload workload;
    workload.sessions = {{.first_turn = 0, .turn_count = 1}, {.first_turn = 1, .turn_count = 1}};
    workload.turns = {{700, 600, 0}, {700, 600, 0.001}};
    const RunResult result = run(tight, workload);
    EXPECT_GE(result.number("preemptions"), 1);
    expect_gaps_of_answers(result);
  }
}

TEST(TokenGaps, ContainWhatRestorationsTakeOfTheGpu) {
  for (Fidelity fidelity : {Fidelity::request, Fidelity::layer}) {
    Scenario projecting = scenario("hcache");
    projecting.policy.split = Split::hidden_only;
    projecting.fidelity = fidelity;
    expect_gaps_of_answers(run(projecting, decoding_and_joined(4000)));
  }
}

TEST(TokenGaps, ContainTheLoadsThatBlockTheGpu) {
  Scenario blocking = scenario("kv_offload");
  blocking.policy.load = LoadMode::blocking;
  expect_gaps_of_answers(run(blocking, decoding_and_joined(4000)));
}

TEST(TokenGaps, OfWarmUpTurnsAreLeftOut) {
  Workload workload = decoding_and_joined(100);
  workload.warmup_turns = 1;
  expect_gaps_of_answers(run(scenario("kv_offload"), workload));
}

}  // namespace
}  // namespace kvcap::laws::token_gaps_test
