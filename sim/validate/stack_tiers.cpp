// llm-d's tiered prefix cache: Qwen3-32B on eight servers of two H100s each behind its router, vLLM with and
// without its CPU tier (guides/tiered-prefix-cache README@05126b7, cpu/README@35b5cfb). Capacities are the
// published ones: 2,384,000 tokens on all GPUs and 200 GiB of DRAM a server; 9,271 blocks on the GPUs of a
// server and 41,000 in its DRAM, which the guide takes for 100 GB at 160 KiB a token (the model has 256).
//
//   A ladder of 5, 10, 15, ... 40 requests/s, 60 s each, of which 5, 10, 20 and 40 are printed: 250 groups x
//   5 prompts, 16,000 + 256 tokens, 256 out (guide_tiered-prefix-cache_1.yaml of llm-d-benchmark@c90f8c9).
//   A closed loop of 45: 45 groups x 10 prompts, 30,000 or 8,000 + 256 tokens, 1,024 out. How many requests
//   it sends is not said: each prompt once, to servers that have cached nothing.
//
// The router weighs queue, KV in use, GPU prefix, CPU prefix and no hit alike; the CPU's prefixes are those
// of the GPU and more, so that what lies on the GPU counts twice.
//
// Prompts come in a random order, over and over, as inference-perf sends them.
#include <algorithm>

#include "validate/published_stacks.h"

namespace kvcap {
namespace {

constexpr double kKvBytesPerToken = 262144;  // of Qwen3-32B

Scenario servers(int64_t kv_tokens, double dram_bytes) {
  const std::string policy =
      dram_bytes > 0 ? R"({"name": "vllm_offload", "tiers": [{"kind": "dram", "capacity_bytes": )" +
                           std::to_string(dram_bytes) + "}]}"
                     : R"("recompute")";
  return stack_scenario(R"("model": "qwen3-32b", "hardware": "h100-sxm-8x", "policy": )" + policy +
                        R"(, "serving": {"tensor_parallel_size": 2, "max_num_seqs": 1024,
                        "max_num_batched_tokens": 8192, "max_model_len": 40960, "mixed_attention": "one_call",
                        "one_token_slices": "decode", "request_overhead_s": 0.008, "kv_capacity_tokens": )" +
                        std::to_string(kv_tokens) +
                        R"(}, "fleet": {"replicas": 8, "routing": "weighted", "router": {"prefix_weight": 1,
                        "kv_weight": 1, "queue_weight": 1, "no_hit_weight": 1, "dram_tier_weight": 1,
                        "gpu_tier_weight": )" +
                        std::string(dram_bytes > 0 ? "2" : "1") + "}}");
}

void add_ladder(std::vector<StackRun>& experiments) {
  const std::vector<Stage> stages = {{5, 60},  {10, 60}, {15, 60}, {20, 60},
                                     {25, 60}, {30, 60}, {35, 60}, {40, 60}};
  for (const bool has_cpu : {false, true}) {
    std::vector<MeasuredWindow> windows;
    Workload workload = ladder_of({250, 5, 16000, 256, 256}, stages, windows);
    StackRun one{.run = {servers(298000, has_cpu ? 200.0 * (1 << 30) : 0), std::move(workload)},
                 .answers = {}};
    for (std::size_t i = 0; i < stages.size(); ++i) {
      const std::string id =
          "lld-tier-q" + std::to_string(static_cast<int>(stages[i].rate)) + (has_cpu ? "-hbm+cpu" : "-hbm");
      const MeasuredWindow window = windows[i];
      auto& answers = one.answers;
      answers.emplace_back(id + "-ttft", [window](const RunResult& run) { return mean_ttft_s(run, window); });
      answers.emplace_back(id + "-ttft_p90",
                           [window](const RunResult& run) { return ttft_quantile_s(run, 0.9, window); });
      answers.emplace_back(id + "-e2e_mean",
                           [window](const RunResult& run) { return mean_e2el_s(run, window); });
      answers.emplace_back(id + "-tput",
                           [window](const RunResult& run) { return tokens_per_s(run, true, window); });
    }
    experiments.push_back(std::move(one));
  }
}

void add_loops(std::vector<StackRun>& experiments) {
  for (const uint32_t shared_tokens : {30000U, 8000U}) {
    for (const bool has_cpu : {false, true}) {
      const SharedPrefixes prompts{45, 10, shared_tokens, 256, 1024};
      const std::string set = shared_tokens == 8000 ? "lld-cpu-low-" : "lld-cpu-";
      const std::string arm = has_cpu ? "-on" : "-off";
      StackRun one{.run = {servers(9271 * 16, has_cpu ? 41000 * 16 * kKvBytesPerToken : 0),
                           closed_loop_of(prompts, 450, 45)},
                   .answers = {}};
      auto& answers = one.answers;
      answers.emplace_back(set + "ttft_mean" + arm, [](const RunResult& run) { return mean_ttft_s(run); });
      answers.emplace_back(set + "ttft_p90" + arm,
                           [](const RunResult& run) { return ttft_quantile_s(run, 0.9); });
      answers.emplace_back(set + "e2e_mean" + arm, [](const RunResult& run) { return mean_e2el_s(run); });
      answers.emplace_back(set + "total_throughput" + arm,
                           [](const RunResult& run) { return tokens_per_s(run, true); });
      experiments.push_back(std::move(one));
    }
  }
}

}  // namespace

std::vector<StackRun> tier_experiments() {
  std::vector<StackRun> experiments;
  add_ladder(experiments);
  add_loops(experiments);
  return experiments;
}

}  // namespace kvcap
