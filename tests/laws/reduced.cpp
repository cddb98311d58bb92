#include "laws/reduced.h"

#include "base/random.h"
#include "metrics/serialize.h"
#include "plan/workers.h"
#include "run/simulate.h"

namespace kvcap {
std::vector<RunResult> run_cases(const std::vector<Case>& cases, bool check_invariants) {
  const std::vector<std::string> results = run_in_workers(cases.size(), [&](std::size_t i,
                                                                            std::atomic<int64_t>&) {
    return serialize(simulate(cases[i].scenario, cases[i].workload, {.check_invariants = check_invariants}));
  });
  std::vector<RunResult> runs;
  runs.reserve(results.size());
  for (const std::string& bytes : results) runs.push_back(deserialize(bytes));
  return runs;
}

// ---- machines ----

Scenario reduced_scenario(const std::string& policy) {
  Scenario scenario;
  scenario.name = "reduced";
  scenario.model = {.name = "one-layer",
                    .num_hidden_layers = 1,
                    .hidden_size = 8192,
                    .num_attention_heads = 64,
                    .num_key_value_heads = 1,
                    .head_dim = 128,
                    .intermediate_size = 28672,
                    .vocab_size = 1024,
                    .max_position_embeddings = 1 << 20};
  HardwareProfile& hardware = scenario.hardware;
  hardware.name = "reduced";
  hardware.provenance_kind = "datasheet";
  hardware.gpu = {.name = "reduced",
                  .peak_flops = 1e21,
                  .memory_bytes = 1e13,
                  .memory_bandwidth_bytes_per_s = 1e18,
                  .sm_count = 1};
  hardware.pcie = {.h2d_bandwidth_bytes_per_s = 10e9, .d2h_bandwidth_bytes_per_s = 10e9};
  hardware.dram = Dram{.capacity_bytes = 1e15, .bandwidth_bytes_per_s = 1e15};
  hardware.ssd =
      Ssd{.capacity_bytes = 1e15, .read_bandwidth_bytes_per_s = 1e9, .write_bandwidth_bytes_per_s = 1e9};
  scenario.serving.max_model_len = 1 << 20;
  scenario.serving.prefix_caching = false;
  scenario.serving.async_scheduling = false;
  scenario.policy.name = policy;
  scenario.policy.tiers = {{.kind = Tier::ssd}};
  scenario.resolved_json = "{}";
  return scenario;
}

Scenario server_scenario(int servers) {
  Scenario scenario = reduced_scenario("recompute");
  // A step reads the weights once, whatever its batch.
  scenario.hardware.gpu.memory_bandwidth_bytes_per_s = scenario.model.weight_bytes() / 1e-3;
  scenario.serving.max_num_seqs = servers;
  return scenario;
}

// ---- workloads ----

std::vector<double> poisson_arrivals_s(std::size_t count, double rate, uint64_t seed) {
  const RandomStream random(seed, "arrivals");
  std::vector<double> arrivals_s(count);
  double now_s = 0;
  for (std::size_t i = 0; i < count; ++i) arrivals_s[i] = now_s += random.exponential(i) / rate;
  return arrivals_s;
}

Workload turns_alone(std::span<const double> arrivals_s,
                     const std::function<uint32_t(uint64_t i)>& output_tokens) {
  Workload workload;
  for (std::size_t i = 0; i < arrivals_s.size(); ++i) {
    workload.sessions.push_back({.first_turn = static_cast<uint32_t>(i), .turn_count = 1});
    workload.turns.push_back({.input_tokens = 1, .output_tokens = output_tokens(i), .time_s = arrivals_s[i]});
  }
  return workload;
}

}  // namespace kvcap
