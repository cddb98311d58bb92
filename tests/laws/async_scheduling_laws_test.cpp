// Laws of asynchronous scheduling: it overlaps the host's time with the GPU's, and otherwise changes only
// when a new request may join.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cost/cost_model.h"
#include "laws/machines.h"
#include "laws/paired.h"

namespace kvcap::laws::async_scheduling_laws_test {
namespace {

using Setting = std::tuple<std::string_view, bool>;

class AsyncScheduling : public testing::TestWithParam<Setting> {
 protected:
  Scenario machine(bool async) const {
    Scenario result = scenario(std::string(std::get<0>(GetParam())));
    result.serving.prefix_caching = std::get<1>(GetParam());
    result.serving.async_scheduling = async;
    return result;
  }
};
INSTANTIATE_TEST_SUITE_P(Table, AsyncScheduling,
                         testing::Combine(testing::ValuesIn(policy_names().begin(), policy_names().end()),
                                          testing::Bool()),
                         [](const auto& setting) {
                           return std::string(std::get<0>(setting.param)) +
                                  (std::get<1>(setting.param) ? "_with_prefix_caching" : "");
                         });

// Returns sessions that never overlap.
Workload one_at_a_time() {
  Workload workload = chats(25, 0.3, 6);
  for (std::size_t s = 0; s < workload.sessions.size(); ++s) {
    workload.turns[workload.sessions[s].first_turn].time_s = 2000.0 * static_cast<double>(s);
  }
  return workload;
}

TEST_P(AsyncScheduling, ChangesNoHitWhereRequestsAreAlone) {
  const Workload workload = one_at_a_time();
  for (double host_s : {0.0, 5e-3}) {
    Scenario sync = machine(false), async = machine(true);
    sync.serving.step_overhead_s = async.serving.step_overhead_s = host_s;
    const std::vector<RunResult> runs = run_all({{sync, workload}, {async, workload}});
    for (std::size_t i = 0; i < workload.turns.size(); ++i) {
      EXPECT_EQ(runs[0].turns[i].hit_tokens, runs[1].turns[i].hit_tokens) << i;
      EXPECT_LE(runs[1].turns[i].ttft_s, runs[0].turns[i].ttft_s + 1e-9) << i;
    }
    EXPECT_EQ(runs[0].number("token_hit_rate"), runs[1].number("token_hit_rate"));
    if (host_s > 0) continue;
    EXPECT_NEAR(runs[1].number("mean_tpot_ms"), runs[0].number("mean_tpot_ms"), 1e-6);
  }
}

// Short prompts arrive one at a time while a long answer is decoded.
TEST_P(AsyncScheduling, CostsAtMostOneStepOfTtft) {
  Workload workload;
  const RandomStream random(7, "short prompts");
  workload.sessions.push_back({.first_turn = 0, .turn_count = 1});
  workload.turns.push_back({.input_tokens = 500, .output_tokens = 3000, .time_s = 0});
  for (uint32_t s = 1; s < 20; ++s) {
    workload.sessions.push_back({.first_turn = s, .turn_count = 1});
    workload.turns.push_back(
        {.input_tokens = 200, .output_tokens = 5, .time_s = 1.0 * s + 0.5 * random.uniform(s)});
  }
  const std::vector<RunResult> runs = run_all({{machine(false), workload}, {machine(true), workload}});
  const double step_s = 1e-3 * runs[0].number("p99_itl_ms") + 1e-9;
  double later_s = 0;
  for (std::size_t i = 1; i < workload.turns.size(); ++i) {
    const double one_s = runs[1].turns[i].ttft_s - runs[0].turns[i].ttft_s;
    EXPECT_LE(one_s, step_s + 1e-6) << i;
    EXPECT_GE(one_s, -step_s) << i;
    later_s += one_s / 19;
  }
  EXPECT_GT(later_s, 0.5 * step_s) << "nobody joins the step that is planned already";
}

TEST_P(AsyncScheduling, LowersTpotAndRaisesThroughputWhereTheHostIsSlow) {
  Scenario sync = machine(false), async = machine(true);
  sync.serving.step_overhead_s = async.serving.step_overhead_s = 8e-3;
  sync.serving.step_overhead_per_sequence_s = async.serving.step_overhead_per_sequence_s = 20e-6;
  sync.workload.rates_over = async.workload.rates_over = RatesOver::run;
  const auto runs = run_paired(
      {sync, async}, [](uint64_t seed) { return chats(40, 1.0, seed, 2); }, 5);
  const MeanInterval tpot_ms = difference(runs[1], runs[0], "mean_tpot_ms");
  const MeanInterval throughput = difference(runs[1], runs[0], "output_throughput");
  EXPECT_TRUE(clearly_negative(tpot_ms)) << tpot_ms.mean << " ± " << tpot_ms.half_width << " ms";
  EXPECT_TRUE(clearly_positive(throughput)) << throughput.mean << " ± " << throughput.half_width << " 1/s";
}

}  // namespace
}  // namespace kvcap::laws::async_scheduling_laws_test
