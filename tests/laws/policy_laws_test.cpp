// Laws that hold for every policy of the table, whatever it does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cost/cost_model.h"
#include "laws/machines.h"

namespace kvcap::laws {
namespace {

class EveryPolicy : public testing::TestWithParam<std::string_view> {
 protected:
  std::string policy() const { return std::string(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Table, EveryPolicy, testing::ValuesIn(policy_names().begin(), policy_names().end()),
                         [](const auto& name) { return std::string(name.param); });

TEST_P(EveryPolicy, LosesNoTurn) {
  const Workload workload = chats(150, 0.2);
  const RunResult result = run(scenario(policy()), workload);
  EXPECT_EQ(result.number("completed") + result.number("rejected"),
            static_cast<double>(workload.turns.size()));
  EXPECT_EQ(result.turns.size(), workload.turns.size());
  EXPECT_EQ(result.number("rejected"), 0);
}

TEST_P(EveryPolicy, LosesNoTurnWhenMemoryAndStoreAreTight) {
  Scenario tight = scenario(policy());
  tight.serving.kv_capacity_tokens = 12000;
  tight.serving.max_model_len = 6000;
  tight.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = 3e9},
                        {.kind = Tier::ssd, .capacity_bytes = 6e9}};
  const Workload workload = chats(150, 1.0, 5, 2);
  const RunResult result = run(tight, workload);
  EXPECT_EQ(result.number("completed") + result.number("rejected"),
            static_cast<double>(workload.turns.size()));
  if (result.number("kv_buffer.reserved_bytes") == 0) {  // what is reserved is never missing later
    EXPECT_GT(result.number("preemptions"), 0) << "the case is meant to be tight";
  }
  for (Tier tier : {Tier::dram, Tier::ssd}) {
    EXPECT_LE(result.number("peak_stored_bytes." + std::string(name(tier))), tier == Tier::dram ? 3e9 : 6e9);
  }
}

TEST_P(EveryPolicy, RepeatsItself) {
  const Case one{scenario(policy()), chats(100, 0.3)};
  const std::vector<RunResult> runs = run_all({one, one});
  EXPECT_EQ(serialize(runs[0]), serialize(runs[1]));
}

TEST_P(EveryPolicy, ReadsWhatItHits) {
  const RunResult result = run(scenario(policy()), chats(150, 0.2));
  if (result.number("stored_bytes_per_token") == 0) return;  // nothing is read
  // bytes read = hit tokens x stored bytes a token, less what adaptive computes instead
  const double stored_bytes = result.number("hit_tokens.ssd") * result.number("stored_bytes_per_token");
  EXPECT_LE(result.number("read_bytes.ssd"), stored_bytes * (1 + 1e-9));
  if (policy() == "adaptive") return;
  EXPECT_NEAR(result.number("read_bytes.ssd"), stored_bytes, 1e-9 * stored_bytes);
}

TEST_P(EveryPolicy, ObeysLittlesLaw) {
  const RunResult result = run(scenario(policy()), chats(150, 0.3));
  double time_in_system_s = 0;
  for (const TurnRecord& turn : result.turns) time_in_system_s += turn.e2el_s;
  const auto mean_of = [&](std::string_view name) {
    for (const auto& [series, values] : result.series) {
      if (series == name)
        return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    }
    return std::nan("");
  };
  // mean number in the system = arrival rate x mean time in it
  const double expected = time_in_system_s / result.number("duration");
  EXPECT_NEAR(mean_of("waiting") + mean_of("running"), expected, 0.01 * expected);
}

TEST_P(EveryPolicy, AnswersAFirstTurnAsFastAsItsPlainPrefill) {
  Scenario one = scenario(policy());
  const RunResult result = run(one, one_turn(0, 700, 5));
  const CostModel cost(one.model, one.hardware, 1);
  EXPECT_NEAR(result.turns[0].ttft_s, cost.prefill_s({700, 0}), 1e-6);
}

TEST_P(EveryPolicy, IsNoFasterThanIdealForOneTurn) {
  for (uint32_t tokens : {100U, 1000U, 8000U}) {
    const std::vector<RunResult> runs =
        run_all({{scenario("ideal"), one_turn(tokens, 64)}, {scenario(policy()), one_turn(tokens, 64)}});
    EXPECT_GE(runs[1].turns[0].ttft_s, runs[0].turns[0].ttft_s - 1e-9) << tokens;
  }
}

TEST_P(EveryPolicy, IsNoFasterThanIdealInTheMeanUnderLoad) {
  const Workload workload = chats(300, 0.25);
  const std::vector<RunResult> runs =
      run_all({{scenario("ideal"), workload}, {scenario(policy()), workload}});
  EXPECT_GE(runs[1].number("mean_ttft_ms"), runs[0].number("mean_ttft_ms") - 1e-9);
}

TEST_P(EveryPolicy, IsNoSlowerOnFasterHardwareForOneTurn) {
  const auto faster = [&](auto change) {
    Scenario better = scenario(policy());
    change(better.hardware);
    return Case{better, one_turn(3000, 64)};
  };
  const std::vector<RunResult> runs = run_all({
      faster([](HardwareProfile&) {}),
      faster([](HardwareProfile& hardware) { hardware.gpu.peak_flops *= 1.3; }),
      faster([](HardwareProfile& hardware) { hardware.gpu.memory_bandwidth_bytes_per_s *= 1.3; }),
      faster([](HardwareProfile& hardware) { hardware.pcie.h2d_bandwidth_bytes_per_s *= 1.3; }),
      faster([](HardwareProfile& hardware) { hardware.ssd->count *= 2; }),
      faster([](HardwareProfile& hardware) { hardware.ssd->read_bandwidth_bytes_per_s *= 1.3; }),
  });
  for (std::size_t i = 1; i < runs.size(); ++i) {
    EXPECT_LE(runs[i].turns[0].ttft_s, runs[0].turns[0].ttft_s + 1e-9) << "change " << i;
  }
}

TEST_P(EveryPolicy, HitsEverythingSeenWithAnInfiniteStore) {
  const Workload workload = chats(100, 0.1);
  const RunResult result = run(scenario(policy()), workload);
  if (policy() == "recompute") {
    EXPECT_EQ(result.number("token_hit_rate"), 0);
    return;
  }
  double history = 0;
  double prompt = 0;
  for (const TurnRecord& turn : result.turns) {
    history += turn.history_tokens;
    prompt += turn.history_tokens + turn.input_tokens;
  }
  EXPECT_NEAR(result.number("token_hit_rate"), history / prompt, 1e-12);
}

TEST_P(EveryPolicy, BreaksTtftDownIntoPartsThatAddUp) {
  const RunResult result = run(scenario(policy()), chats(150, 0.3));
  double sum_ms = 0;
  for (const char* part : {"queue", "lookup", "load", "restore_compute", "prefill"}) {
    const double part_ms = result.number(std::string("ttft_breakdown_ms.") + part);
    EXPECT_GE(part_ms, -1e-9) << part;
    sum_ms += part_ms;
  }
  EXPECT_NEAR(sum_ms, result.number("mean_ttft_ms"), 1e-9 * sum_ms);
}

TEST_P(EveryPolicy, KeepsContextsOnTheGpuWhenThereIsATierForThem) {
  Scenario with_hbm = scenario(policy());
  with_hbm.policy.tiers = {{.kind = Tier::hbm, .capacity_bytes = 8e9}, {.kind = Tier::ssd}};
  const RunResult result = run(with_hbm, chats(100, 0.1));
  EXPECT_GT(result.number("hit_tokens.hbm"), 0);
  EXPECT_LE(result.number("peak_stored_bytes.hbm"), 8e9);
}

TEST_P(EveryPolicy, ServesWithTensorParallelism) {
  Scenario group = scenario(policy());
  group.hardware.gpu.count = 4;
  group.hardware.nvlink = Nvlink{.bandwidth_bytes_per_s = 300e9, .latency_s = 0};
  group.serving.tensor_parallel_size = 4;
  const Workload workload = chats(60, 0.1);
  const std::vector<RunResult> runs = run_all({{scenario(policy()), workload}, {group, workload}});
  EXPECT_EQ(runs[1].number("completed"), static_cast<double>(workload.turns.size()));
  EXPECT_LT(runs[1].number("mean_ttft_ms"), runs[0].number("mean_ttft_ms"));
  EXPECT_GT(runs[1].number("utilization.nvlink"), 0);
}

// ---- fidelity ----

// Timestamped arrivals far enough apart that no turn's end moves the next one's arrival.
Workload timestamped(int64_t sessions) {
  Workload workload = chats(sessions, 0.3, 9);
  workload.absolute_times = true;
  for (const Session& session : workload.sessions) {
    double arrival_s = workload.turns[session.first_turn].time_s;
    for (uint32_t t = 1; t < session.turn_count; ++t) {
      arrival_s += 60;
      workload.turns[session.first_turn + t].time_s = arrival_s;
    }
  }
  return workload;
}

TEST_P(EveryPolicy, AgreesAcrossFidelitiesOnTimestampedArrivals) {
  const Workload workload = timestamped(150);
  Scenario by_request = scenario(policy());
  Scenario by_layer = by_request;
  by_layer.fidelity = Fidelity::layer;
  const std::vector<RunResult> runs = run_all({{by_request, workload}, {by_layer, workload}});
  for (const char* same : {"hit_tokens.ssd", "read_bytes.ssd", "written_bytes.ssd", "completed"}) {
    EXPECT_EQ(runs[0].number(same), runs[1].number(same)) << same;
  }
  EXPECT_NEAR(runs[0].number("mean_ttft_ms"), runs[1].number("mean_ttft_ms"),
              0.01 * runs[1].number("mean_ttft_ms"));
  EXPECT_NEAR(runs[0].number("mean_itl_ms"), runs[1].number("mean_itl_ms"),
              0.01 * runs[1].number("mean_itl_ms"));
}

// Eight at once: restorations' work piles up on the GPU, and steps wait for all of it.
TEST_P(EveryPolicy, AgreesAcrossFidelitiesWhenTurnsCrowd) {
  Workload crowd;
  crowd.warm_start = true;
  for (uint32_t s = 0; s < 8; ++s) {
    crowd.sessions.push_back(
        {.first_turn = s, .turn_count = 1, .context_tokens = 1500, .history_grows = false});
    crowd.turns.push_back({.input_tokens = 64, .output_tokens = 20, .time_s = 0.01 * s});
  }
  for (int64_t ssds : {1, 4}) {
    Scenario by_request = scenario(policy());
    by_request.model = llama_2_13b();
    by_request.hardware.gpu.memory_bytes = 1e12;
    by_request.hardware.ssd->count = ssds;
    Scenario by_layer = by_request;
    by_layer.fidelity = Fidelity::layer;
    const std::vector<RunResult> runs = run_all({{by_request, crowd}, {by_layer, crowd}});
    for (const char* same : {"mean_ttft_ms", "p99_ttft_ms", "mean_e2el_ms"}) {
      EXPECT_NEAR(runs[0].number(same), runs[1].number(same), 0.03 * runs[1].number(same))
          << same << ", SSDs: " << ssds;
    }
  }
}

TEST_P(EveryPolicy, AgreesAcrossFidelitiesInAClosedLoopWithEviction) {
  Scenario by_request = scenario(policy());
  by_request.policy.tiers = {{.kind = Tier::ssd, .capacity_bytes = 20e9}};
  Scenario by_layer = by_request;
  by_layer.fidelity = Fidelity::layer;
  const Workload workload = chats(250, 0.3, 11);
  const std::vector<RunResult> runs = run_all({{by_request, workload}, {by_layer, workload}});
  EXPECT_NEAR(runs[0].number("token_hit_rate"), runs[1].number("token_hit_rate"), 0.005);
  EXPECT_NEAR(runs[0].number("mean_ttft_ms"), runs[1].number("mean_ttft_ms"),
              0.01 * runs[1].number("mean_ttft_ms"));
  EXPECT_NEAR(runs[0].number("p99_ttft_ms"), runs[1].number("p99_ttft_ms"),
              0.03 * runs[1].number("p99_ttft_ms"));
}

// One SSD: the leading layers are recomputed while hidden states are on their way.
TEST(HCache, AgreesAcrossFidelitiesWhenLayersAreRecomputed) {
  Scenario by_request = scenario("hcache");
  by_request.model = llama_2_13b();
  by_request.hardware.ssd->count = 1;
  Scenario by_layer = by_request;
  by_layer.fidelity = Fidelity::layer;
  const Workload workload = timestamped(120);
  ASSERT_GT(Machine(by_request, workload).policy().schedule(2000, Tier::ssd).recompute_layers, 0);
  const std::vector<RunResult> runs = run_all({{by_request, workload}, {by_layer, workload}});
  EXPECT_EQ(runs[0].number("read_bytes.ssd"), runs[1].number("read_bytes.ssd"));
  EXPECT_NEAR(runs[0].number("mean_ttft_ms"), runs[1].number("mean_ttft_ms"),
              0.01 * runs[1].number("mean_ttft_ms"));
}

}  // namespace
}  // namespace kvcap::laws
