// Benchmarks of what a feature costs: the time of a turn with it, as a ratio to that of a turn without it.
//
//   ratio/<name>  the median of the ratios of runs that follow each other, beside the goal. one_session
//                 compares sessions of 8,000 and 4,000 turns.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "scenario/load.h"

namespace kvcap {
namespace {

// Returns a scenario of `sessions` chats on one model and profile; `more`: further fields.
std::string chat(const std::string& model, const std::string& serving, int64_t sessions,
                 const std::string& more = R"("policy": "recompute")", double sessions_per_s = 0.8) {
  return R"({"schema": "kvcap.scenario/1", "model": ")" + model +
         R"(", "hardware": "h100-sxm-8x", "serving": {"max_model_len": 16384)" + serving +
         R"(}, "workload": {"source": {"kind": "chat"}, "arrivals": {"sessions_per_s": )" +
         std::to_string(sessions_per_s) + R"(}, "sessions": )" + std::to_string(sessions) + "}, " + more +
         "}";
}

std::string windowed(const std::string& model, int gpus) {
  return chat(model, R"(, "tensor_parallel_size": )" + std::to_string(gpus), 2000);
}

std::string ranks(int count) {
  const std::string parallel = count > 1 ? R"(, "expert_parallel": true)" : "";
  return chat(
      "qwen3-30b-a3b",
      R"(, "max_num_batched_tokens": 8192, "data_parallel_size": )" + std::to_string(count) + parallel, 2000,
      R"("policy": "recompute")", 1);
}

std::string drafts(const std::string& speculative) {
  return chat("llama-3.1-8b", speculative, 2000, R"("policy": "recompute")", 1);
}

// 256 nodes, 25,000 turns.
std::string routed(const std::string& routing, const std::string& index) {
  const std::string router = index.empty() ? "" : R"(, "router": {"index": ")" + index + R"("})";
  return chat(
      "llama-3.1-8b", "", 4545,
      R"("policy": "recompute", "fleet": {"replicas": 256, "routing": ")" + routing + "\"" + router + "}",
      20);
}

std::string tiered(const std::string& policy) {
  return chat("llama-3.1-8b", "", 2000,
              R"("policy": {"name": ")" + policy +
                  R"(", "tiers": [{"kind": "dram", "capacity_bytes": 200e9}, {"kind": "ssd"}]})");
}

// One session of so many turns, whose context grows by 30 tokens each.
Workload long_session(uint32_t turns) {
  Workload workload;
  workload.sessions.push_back({.first_turn = 0, .turn_count = turns});
  for (uint32_t i = 0; i < turns; ++i) {
    workload.turns.push_back({.input_tokens = 20, .output_tokens = 10, .time_s = i == 0 ? 0.0 : 30.0});
  }
  return workload;
}

struct Row {
  std::string name;
  std::string scenario, against;          // as JSON
  double goal = 0;                        // ratio; 0: none
  uint32_t turns = 0, turns_against = 0;  // of one session; 0: the scenarios' own workloads
};

Workload workload_of(const Scenario& scenario, uint32_t turns) {
  return turns > 0 ? long_session(turns) : make_workload(scenario.workload, 1);
}

void ratio(benchmark::State& state, const Row& row) {
  const Scenario scenario = parse_scenario(row.scenario, "bench", {});
  const Scenario against = parse_scenario(row.against, "bench", {});
  const Workload workload = workload_of(scenario, row.turns);
  const Workload workload_against = workload_of(against, row.turns_against);
  const auto per_turn_s = [](const Scenario& one, const Workload& turns) {
    return in_worker([&] { return simulate_s(one, turns); }) / static_cast<double>(turns.turns.size());
  };
  std::vector<double> ratios;
  for (auto _ : state) {
    const double turn_s = per_turn_s(scenario, workload);
    ratios.push_back(turn_s / per_turn_s(against, workload_against));
    state.SetIterationTime(turn_s);
  }
  state.counters["ratio"] = median(ratios);
  state.counters["goal"] = row.goal;
}

std::vector<Row> rows() {
  const std::string llama = windowed("llama-3.1-8b", 1);
  const std::string long_context = R"({"schema": "kvcap.scenario/1", "model": "qwen3-coder-30b-a3b",
      "hardware": "h200-sxm", "serving": {"gpu_memory_utilization": 0.9}, "policy": "recompute",
      "workload": {"source": {"kind": "chat"}, "arrivals": {"sessions_per_s": 1}, "sessions": 1}})";
  const std::string affinity = routed("session_affinity", "");
  return {
      {"windows/gpt-oss-20b", windowed("gpt-oss-20b", 1), llama, 1.5},
      {"windows/gpt-oss-120b", windowed("gpt-oss-120b", 2), llama, 1.5},
      {"windows/llama-4-scout", windowed("llama-4-scout", 8), llama, 1.5},
      {"windows/gemma-3-27b", windowed("gemma-3-27b", 2), llama, 1.5},
      {"one_session", long_context, long_context, 1, 8000, 4000},
      {"ranks/2", ranks(2), ranks(1), 3},
      {"ranks/4", ranks(4), ranks(1), 3},
      {"ranks/8", ranks(8), ranks(1), 3},
      {"speculation",
       drafts(R"(, "speculative": {"method": "ngram", "draft_tokens": 4, "acceptance_length": 2})"),
       drafts(""), 2.5},
      {"kvbm_to_kv_offload", tiered("kvbm"), tiered("kv_offload"), 1.5},
      {"routers/cache_aware", routed("cache_aware", "approximate"), affinity, 1.6},
      {"routers/weighted", routed("weighted", "events"), affinity, 1.2},
      {"routers/prefix_aware", routed("prefix_aware", "events"), affinity},
      {"routers/dynamo", routed("dynamo", "events"), affinity},
  };
}

const bool kRegistered = [] {
  for (const Row& row : rows()) {
    benchmark::RegisterBenchmark(("ratio/" + row.name).c_str(),
                                 [row](benchmark::State& state) { ratio(state, row); })
        ->UseManualTime()
        ->Iterations(7)
        ->Unit(benchmark::kMicrosecond);
  }
  return true;
}();

}  // namespace
}  // namespace kvcap
