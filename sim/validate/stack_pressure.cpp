// Engines that run short of room.
//
//   vLLM's watermark: Qwen2.5-7B on one GB200 with 299,584 tokens of KV, no prefix cache, 450 prompts of
//   1,000 tokens and answers of 5,000, both even within 20 %, 128 at a time (vllm-project/vllm pull request
//   44594, which says all of this). Dynamo's disks: Qwen3-8B on one H100, 38 GiB of KV on the GPU, 50 GiB of
//   DRAM, with and without 500 GB of disk, 30 users whose contexts are 96 GB together, 2 requests/s
//   (ai-dynamo/dynamo issue 4774). How contexts grow is not said: each user has 96 GB / 30 of context, 21,700
//   tokens, and asks 100 tokens for answers of 100 in ten turns. The disk is the profile's.
#include <cmath>

#include "base/random.h"
#include "validate/published_stacks.h"

namespace kvcap {
namespace {

Workload prompts_within_a_fifth() {
  const RandomStream random(4, "watermark");
  Workload workload;
  workload.concurrency = 128;
  const auto length = [&](uint64_t i, uint64_t which, double mean) {
    return static_cast<uint32_t>(std::lround(mean * (0.8 + 0.4 * random.uniform(i, which))));
  };
  for (uint32_t i = 0; i < 450; ++i) {
    workload.sessions.push_back({.first_turn = i, .turn_count = 1});
    workload.turns.push_back({length(i, 0, 1000), length(i, 1, 5000)});
  }
  return workload;
}

void add_watermarks(std::vector<StackRun>& experiments) {
  for (const char* watermark : {"0", "0.02", "0.05", "0.1", "0.15"}) {
    StackRun one{
        .run = {stack_scenario(R"("model": "qwen2.5-7b", "hardware": "gb200-4x", "policy": "recompute",
                "serving": {"max_num_seqs": 256, "max_num_batched_tokens": 8192, "max_model_len": 8192,
                "prefix_caching": false, "kv_capacity_tokens": 299584, "watermark": )" +
                               std::string(watermark) + "}"),
                prompts_within_a_fifth()},
        .answers = {}};
    const std::string id = "wm" + std::string(watermark) + "-";
    const auto add = [&](const std::string& name, const std::function<double(const RunResult&)>& of) {
      one.answers.emplace_back(id + name, of);
    };
    add("preemptions", [](const RunResult& run) { return run.number("preemptions"); });
    add("output_throughput",
        [](const RunResult& run) { return tokens_per_s(run, true) - tokens_per_s(run, false); });
    add("ttft_p50", [](const RunResult& run) { return ttft_quantile_s(run, 0.5); });
    add("ttft_p99", [](const RunResult& run) { return ttft_quantile_s(run, 0.99); });
    add("itl_p99", [](const RunResult& run) { return run.number("p99_itl_ms"); });
    add("e2el_p50", [](const RunResult& run) { return run.number("median_e2el_ms") / 1e3; });
    experiments.push_back(std::move(one));
  }
}

Workload users() {
  constexpr uint32_t kUsers = 30, kTurns = 10, kContextTokens = 21700;
  const RandomStream random(5, "users");
  Workload workload;
  for (uint32_t user = 0; user < kUsers; ++user) {
    const auto first = static_cast<uint32_t>(workload.turns.size());
    workload.sessions.push_back({.first_turn = first, .turn_count = kTurns});
    // Users begin within their first 15 s, and ask every 15 s.
    workload.turns.push_back({kContextTokens, 100, 15.0 * (user + random.uniform(user, 0)) / kUsers});
    for (uint32_t turn = 1; turn < kTurns; ++turn) workload.turns.push_back({100, 100, 12});
  }
  return workload;
}

void add_disks(std::vector<StackRun>& experiments) {
  for (const bool has_disk : {false, true}) {
    const std::string disk = R"(, {"kind": "ssd", "capacity_bytes": 500e9, "after_uses": 2})";
    StackRun one{.run = {stack_scenario(R"("model": "qwen3-8b", "hardware": "h100-sxm", "serving":
                {"max_num_batched_tokens": 8192, "max_num_seqs": 256, "kv_capacity_tokens": 276700},
                "policy": {"name": "kvbm", "tiers": [{"kind": "dram", "capacity_bytes": 53687091200})" +
                                        std::string(has_disk ? disk : "") + "]}"),
                         users()},
                 .answers = {}};
    one.answers.emplace_back(has_disk ? "i4774-on" : "i4774-off",
                             [](const RunResult& run) { return mean_ttft_s(run); });
    experiments.push_back(std::move(one));
  }
}

}  // namespace

std::vector<StackRun> pressure_experiments() {
  std::vector<StackRun> experiments;
  add_watermarks(experiments);
  add_disks(experiments);
  return experiments;
}

}  // namespace kvcap
