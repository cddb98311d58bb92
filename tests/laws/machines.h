// Scenarios and workloads of the law tests, built from plain values, and functions that run them in separate
// processes.
#pragma once

#include <string>
#include <vector>

#include "base/random.h"
#include "laws/reduced.h"
#include "metrics/result.h"
#include "policy/table.h"
#include "run/machine.h"
#include "run/simulate.h"
#include "scenario/scenario.h"

namespace kvcap::laws {

inline ModelSpec llama_2_7b() {
  return {.name = "llama-2-7b",
          .num_hidden_layers = 32,
          .hidden_size = 4096,
          .num_attention_heads = 32,
          .num_key_value_heads = 32,
          .head_dim = 128,
          .intermediate_size = 11008,
          .vocab_size = 32000,
          .max_position_embeddings = 4096};
}

inline ModelSpec llama_2_13b() {
  ModelSpec model = llama_2_7b();
  model.name = "llama-2-13b";
  model.num_hidden_layers = 40;
  model.hidden_size = 5120;
  model.num_attention_heads = model.num_key_value_heads = 40;
  model.intermediate_size = 13824;
  return model;
}

// Grouped-query attention: KV is half as large as the hidden state.
inline ModelSpec llama_3_8b() {
  ModelSpec model = llama_2_7b();
  model.name = "llama-3-8b";
  model.num_key_value_heads = 8;
  model.intermediate_size = 14336;
  model.vocab_size = 128256;
  model.max_position_embeddings = 8192;
  return model;
}

// Returns HCache's testbed with constant efficiencies and no overheads.
inline HardwareProfile a100() {
  HardwareProfile hardware;
  hardware.name = "a100";
  hardware.provenance_kind = "paper";
  hardware.gpu = {.name = "A100",
                  .count = 1,
                  .peak_flops = 312e12,
                  .memory_bytes = 40.0 * (1 << 30),
                  .memory_bandwidth_bytes_per_s = 1555e9,
                  .sm_count = 108,
                  .gemm = {.efficiency = 0.64},
                  .attention = {.efficiency = 0.5},
                  .price_usd_per_hour = 5};
  hardware.pcie = {.h2d_bandwidth_bytes_per_s = 26e9, .d2h_bandwidth_bytes_per_s = 26e9};
  hardware.dram =
      Dram{.capacity_bytes = 256e9, .bandwidth_bytes_per_s = 200e9, .price_usd_per_gb_hour = 0.0088};
  hardware.ssd = Ssd{.count = 4,
                     .capacity_bytes = 4e12,
                     .read_bandwidth_bytes_per_s = 6.9e9,
                     .write_bandwidth_bytes_per_s = 4.1e9,
                     .price_usd_per_gb_hour = 0.000082};
  return hardware;
}

// Returns a scenario with the engine of the papers: no prefix cache, no asynchronous scheduling.
inline Scenario scenario(const std::string& policy) {
  Scenario result;
  result.serving.prefix_caching = false;
  result.serving.async_scheduling = false;
  result.serving.allow_impossible = true;  // some laws use machines too small to start an engine
  result.name = "law";
  result.model = llama_2_7b();
  result.hardware = a100();
  // A static graph reserves its whole window for every sequence.
  result.serving.max_model_len = policy.starts_with("npu_") ? 8192 : 16384;
  result.policy.name = policy;
  result.policy.tiers = {{.kind = Tier::ssd}};
  result.resolved_json = "{}";
  return result;
}

// Returns `sessions` chats with roughly geometric turn counts and skewed lengths, arriving at `rate` per
// second.
inline Workload chats(int64_t sessions, double rate, uint64_t seed = 1, double think_s = 30) {
  Workload workload;
  workload.sessions_per_s = rate;
  const RandomStream random(seed, "law");
  double now_s = 0;
  for (uint64_t s = 0; s < static_cast<uint64_t>(sessions); ++s) {
    now_s += random.exponential(s, 0) / rate;
    const auto turns = 1 + static_cast<uint32_t>(4 * random.exponential(s, 1));
    workload.sessions.push_back(
        {.first_turn = static_cast<uint32_t>(workload.turns.size()), .turn_count = turns});
    for (uint32_t t = 0; t < turns; ++t) {
      const uint64_t j = 10 + 2 * t;
      workload.turns.push_back(
          {.input_tokens = 1 + static_cast<uint32_t>(80 * random.exponential(s, j)),
           .output_tokens = 1 + static_cast<uint32_t>(250 * random.exponential(s, j + 1)),
           .time_s = t == 0 ? now_s : think_s});
    }
  }
  return workload;
}

// Returns one stored context of `tokens` tokens and one turn of `new_tokens` on top of it.
inline Workload one_turn(uint32_t tokens, uint32_t new_tokens, uint32_t output_tokens = 1) {
  Workload workload;
  workload.sessions.push_back(
      {.first_turn = 0, .turn_count = 1, .context_tokens = tokens, .history_grows = false});
  workload.turns.push_back({.input_tokens = new_tokens, .output_tokens = output_tokens});
  workload.warm_start = true;
  return workload;
}

// Runs every case in its own process and checks all invariants after every event.
inline std::vector<RunResult> run_all(const std::vector<Case>& cases) { return run_cases(cases, true); }

inline RunResult run(const Scenario& scenario, const Workload& workload) {
  return run_all({{scenario, workload}}).front();
}

}  // namespace kvcap::laws
