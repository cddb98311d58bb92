#include "engine/versions/host_times.h"

#include <array>

#include "base/check.h"

namespace kvcap {
namespace {

// A single API server in Python. Eight runs of vLLM 0.15.1 with prompts of about 600 tokens took 7.5 ms in
// addition to their kernels (inference-sim/training c4f03409); the constant is that time without the part per
// token. The time per token follows from idle servers of vLLM 0.18, which take 30 ms for prompts of 9,000
// tokens in addition to their kernels (natoscott/benchmarks 38330c1e).
constexpr double kVllmRequest_s = 6e-3;
constexpr double kVllmToken_s = 2.5e-6;
// With batches of 256 and 16 output tokens, a call with 500,000 requests takes 1.64 ms per request, one with
// 10,000 takes 1.36 ms (vllm-project/vllm pull 6867): 4.5 ms per step for 490,000 / 2 more waiting requests
// on average. Servers whose API process shares the work have shown larger losses.
constexpr double kVllmWaiting_s = 18e-9;
constexpr double kWaitingSigma = 2;
// Range of the eight runs: 5 to 10 ms per request.
constexpr double kSigma = 0.25;
// Range of the sources: 4.5 to 25 ms per step.
constexpr double kOldSigma = 0.7;
constexpr std::string_view kOther = "not measured; vLLM's value";

constexpr std::string_view kTrtllm1 =
    "step and kernels: fitted to the TPOT of 1.0.0rc3 on H100, to every second of 79 rows each of "
    "Llama-3.1-8B "
    "and Qwen3-32B in FP8 (aiconfigurator 095f58a): median errors of 3.2 and 4.9 %; 3.6 and 4.9 % for the "
    "other model if fitted to one alone";

constexpr HostTimeRow vllm_row(EngineVersion from, double step_s, double sigma, std::string_view source) {
  return {EngineKind::vllm, from,   kVllmRequest_s, kVllmToken_s, step_s, 14e-6,
          kVllmWaiting_s,   source, sigma,          kWaitingSigma};
}

constexpr HostTimeRow as_vllm(EngineKind engine, EngineVersion from) {
  HostTimeRow row = vllm_row(from, 0, kSigma, kOther);
  row.engine = engine;
  row.is_measured = false;
  return row;
}

constexpr HostTimeRow trtllm_1() {
  HostTimeRow row = as_vllm(EngineKind::trtllm, {1, 0});
  row.step_overhead_s = 2.3e-3;
  row.step_overhead_per_sequence_s = 65e-6;
  row.source = kTrtllm1;
  row.is_measured = true;
  row.kernel_factor = 1.11;
  return row;
}

constexpr std::array kHostTimeRows = {
    vllm_row({0, 0}, 4.5e-3, kOldSigma,
             "step: 4.5 ms with a 70B model in one fork (tenstorrent/vllm 351); 22 rows of vLLM 0.12 with a "
             "model of 94 layers take 10 to 25 ms longer than simulated (aiconfigurator 095f58a)"),
    vllm_row({0, 14}, 0, kSigma,
             "step: 13 us per request in schedule() (simllm 204), 1.1 us in update_from_output (vllm 46112)"),
    as_vllm(EngineKind::sglang, {0, 0}),
    as_vllm(EngineKind::trtllm, {0, 0}),
    trtllm_1(),
    as_vllm(EngineKind::trtllm, {1, 1})};

}  // namespace

std::span<const HostTimeRow> host_time_table() { return kHostTimeRows; }

const HostTimeRow& host_times_of(EngineKind engine, EngineVersion version) {
  const HostTimeRow* found = nullptr;
  for (const HostTimeRow& row : kHostTimeRows) {
    if (row.engine == engine && row.from <= version) found = &row;
  }
  KVCAP_CHECK(found);
  return *found;
}

// Source: vllm-project/vllm pull 31057 (December 2025, assumed to be in 0.15). Older versions run a whole
// step in one graph, which leaves out the connector's work. The value is the geometric mean of an estimate of
// 0.5 to 1.6 ms for 80 layers (novitalabs/pegaflow issue 124).
double piecewise_graphs_s(EngineVersion version, int64_t layers) {
  constexpr double kLayer_s = 0.9e-3 / 80;
  return version >= EngineVersion{0, 15} ? kLayer_s * static_cast<double>(layers) : 0;
}

}  // namespace kvcap
