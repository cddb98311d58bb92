// KV on its way from a server that computes prompts to one that decodes, one request at a time.
//
//   Qwen3-8B under vLLM, tensor parallel over the eight H800 of a server, eight ConnectX-7 (Mooncake 3b5a594,
//   docs/source/performance/vllm/vllm-v1-pd-performance.md). An H800 computes as an H100 does; its NVLink is
//   four ninths as wide (400 of 900 GB/s), so that the H100's measured collectives are left out. What its
//   network carries, 145 GB/s and a set-up of 0.38 ms, is fitted to the other six lengths that the page
//   prints. Qwen3-235B under SGLang on H20-3e (sglang-benchmark-results-v1.md of the
//   same): the transfers alone, which no GPU computes, on the profile of an H200's server; two ranks hold
//   each of its four heads, and both send.
#include "validate/published_stacks.h"

namespace kvcap {
namespace {

Workload one_by_one(uint32_t prompt_tokens) {
  constexpr uint32_t kRequests = 8;
  Workload workload;
  for (uint32_t i = 0; i < kRequests; ++i) {
    workload.sessions.push_back({.first_turn = i, .turn_count = 1});
    workload.turns.push_back({prompt_tokens, 8, 30.0 * i});
  }
  return workload;
}

double transfer_ms(const RunResult& run) { return run.number("disaggregation.mean_transfer_ms"); }

}  // namespace

std::vector<StackRun> handover_experiments() {
  std::vector<StackRun> experiments;
  const auto add = [&](const char* members, uint32_t tokens,
                       const std::vector<std::string>& overrides = {}) -> StackRun& {
    const std::string scenario = std::string(members) +
                                 R"(, "policy": "recompute", "fleet": {"replicas": 2,
        "disaggregation": {"prefill_replicas": 1}}, "serving": {"tensor_parallel_size": 8,
        "max_num_batched_tokens": 8192, "prefix_caching": false, "mixed_attention": "one_call",
        "one_token_slices": "decode", "request_overhead_s": 0.008})";
    experiments.push_back({.run = {stack_scenario(scenario, overrides), one_by_one(tokens)}, .answers = {}});
    return experiments.back();
  };
  for (const uint32_t tokens : {1024U, 8192U, 32768U}) {
    const std::string length = std::to_string(tokens);
    StackRun& dense = add(R"("model": "qwen3-8b", "hardware": "h100-sxm-8x")", tokens,
                          {"hardware.collectives=null", "hardware.nvlink.bandwidth_bytes_per_s=208e9",
                           "hardware.nic.bandwidth_bytes_per_s=18.11e9"});
    dense.answers = {{"mpd-" + length + "-ttft", [](const RunResult& run) { return 1e3 * mean_ttft_s(run); }},
                     {"mpd-" + length + "-transfer", transfer_ms},
                     {"mpd-" + length + "-bandwidth", [](const RunResult& run) {
                        const double bytes = run.number("disaggregation.transfer_bytes") /
                                             run.number("disaggregation.transfers");
                        return 1e-6 * bytes / transfer_ms(run);
                      }}};
    add(R"("model": "qwen3-235b-a22b", "hardware": "h200-sxm-8x")", tokens).answers = {
        {"mpds-" + length + "-transfer", transfer_ms}};
  }
  return experiments;
}

}  // namespace kvcap
