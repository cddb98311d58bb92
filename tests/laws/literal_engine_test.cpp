// The engine serves every request as the literal one does, which takes one step
// at a time and keeps a record of every block: the same hits, the same
// preemptions, the same dates.
#include "reference/literal_engine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "laws/machines.h"
#include "reference/random_requests.h"
#include "reference/request_workload.h"
#include "serving/step_time.h"

namespace kvcap::reference {
namespace {

constexpr uint64_t kCases = 200;

// Dates of the simulator go through SimGrid, which takes dates that are closer
// than 1e-9 s for one. A request's dates follow from up to some hundred of
// them.
constexpr double kAbsolute_s = 1e-7;
constexpr double kRelative = 1e-9;

ServingOptions serving(const EngineOptions& options) {
  ServingOptions serving;
  serving.block_size = options.block_size;
  serving.kv_capacity_tokens = options.blocks * options.block_size;
  serving.max_num_seqs = options.max_num_seqs;
  serving.max_num_batched_tokens = options.max_num_batched_tokens;
  serving.max_model_len = 1 << 20;
  serving.prefix_caching = options.prefix_caching;
  serving.async_scheduling = options.async_scheduling;
  serving.cache_generated = options.cache_generated;
  serving.step_overhead_s = options.step_overhead_s;
  serving.step_overhead_per_sequence_s = options.step_overhead_per_sequence_s;
  serving.request_overhead_s = 0;
  return serving;
}

// A GPU that takes less than 1e-12 s for a step: what lasts is the host's time.
Scenario host_alone() {
  Scenario scenario = reduced_scenario("recompute");
  scenario.hardware.gpu.peak_flops = 1e30;
  scenario.hardware.gpu.memory_bandwidth_bytes_per_s = 1e30;
  return scenario;
}

Scenario a100() { return laws::scenario("recompute"); }

std::vector<RunResult> simulate_cases(const Scenario& machine, const std::vector<RandomCase>& cases) {
  std::vector<Case> runs;
  for (const RandomCase& one : cases) {
    Scenario scenario = machine;
    scenario.serving = serving(one.options);
    runs.push_back({scenario, to_workload(one.requests)});
  }
  return laws::run_all(runs);
}

void expect_near(double simulated_s, double literal_s, const char* what) {
  EXPECT_LE(std::abs(simulated_s - literal_s), kAbsolute_s + kRelative * literal_s)
      << what << ": simulated " << simulated_s << " s, literally " << literal_s << " s";
}

void compare(const RunResult& simulated, const EngineRun& literal) {
  ASSERT_EQ(simulated.turns.size(), literal.outcomes.size());
  for (const TurnRecord& turn : simulated.turns) {
    const Outcome& outcome = literal.outcomes[turn.session];
    SCOPED_TRACE("request " + std::to_string(outcome.id) + ", which arrives at " +
                 std::to_string(turn.arrival_s) + " s");
    ASSERT_EQ(turn.rejected, outcome.refused);
    if (outcome.refused) continue;
    EXPECT_EQ(turn.hit_tokens, outcome.hit_tokens);
    expect_near(turn.ttft_s, outcome.ttft_s, "TTFT");
    expect_near(turn.e2el_s, outcome.e2el_s, "E2EL");
    if (testing::Test::HasFailure()) return;  // the first request that differs says why
  }
  EXPECT_EQ(simulated.number("preemptions"), static_cast<double>(literal.preemptions()));
}

void compare_all(const Scenario& machine, const GpuTime& gpu_s) {
  std::vector<RandomCase> cases;
  for (uint64_t number = 1; number <= kCases; ++number) cases.push_back(random_case(number));
  const std::vector<RunResult> simulated = simulate_cases(machine, cases);
  int64_t preemptions = 0, hits = 0;
  for (std::size_t i = 0; i < cases.size() && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE("case " + std::to_string(i + 1) + ": " + describe(cases[i].options));
    const EngineRun literal = run_literally(cases[i].options, cases[i].requests, gpu_s);
    compare(simulated[i], literal);
    preemptions += literal.preemptions();
    for (const Outcome& outcome : literal.outcomes) hits += outcome.hit_tokens;
  }
  if (testing::Test::HasFailure()) return;
  EXPECT_GT(preemptions, 200);
  EXPECT_GT(hits, 100000);
}

TEST(LiteralEngineLaws, TheEngineDoesTheSameWhereOnlyTheHostTakesTime) { compare_all(host_alone(), {}); }

TEST(LiteralEngineLaws, TheEngineDoesTheSameWithTheCostModelOfARealGpu) {
  const Scenario machine = a100();
  const CostModel cost(machine.model, machine.hardware, machine.serving.tensor_parallel_size);
  const StepTime step_time(cost, {});
  compare_all(machine, gpu_time(step_time));
}

}  // namespace
}  // namespace kvcap::reference
