#include "serving/host_times.h"

#include <array>

#include "base/check.h"

namespace kvcap {
namespace {

// One API server in Python. The constant is what eight runs of vLLM 0.15.1 (inference-sim/training c4f03409;
// prompts of some 600 tokens) take beside their kernels, 7.5 ms, less the tokens' part; a token takes what
// idle servers of vLLM 0.18 take for prompts of 9,000 tokens beside theirs, 30 ms (natoscott/benchmarks
// 38330c1e).
constexpr double kVllmRequest_s = 6e-3;
constexpr double kVllmToken_s = 2.5e-6;
constexpr std::string_view kOther = "not measured: as vllm";

constexpr std::array kRows = {
    HostTimeRow{EngineKind::vllm,
                {0, 0},
                kVllmRequest_s,
                kVllmToken_s,
                4.5e-3,
                14e-6,
                "step: 4.5 ms of a 70B model in one fork (tenstorrent/vllm 351); 22 rows of vLLM 0.12 with a "
                "model of "
                "94 layers lack 10 to 25 ms (aiconfigurator 095f58a)"},
    HostTimeRow{
        EngineKind::vllm,
        {0, 14},
        kVllmRequest_s,
        kVllmToken_s,
        0,
        14e-6,
        "step: 13 us a request in schedule() (simllm 204), 1.1 us in update_from_output (vllm 46112)"},
    HostTimeRow{EngineKind::sglang, {0, 0}, kVllmRequest_s, kVllmToken_s, 0, 14e-6, kOther},
    HostTimeRow{EngineKind::trtllm, {0, 0}, kVllmRequest_s, kVllmToken_s, 0, 14e-6, kOther},
};

}  // namespace

std::span<const HostTimeRow> host_time_table() { return kRows; }

const HostTimeRow& host_times_of(EngineKind engine, EngineVersion version) {
  const HostTimeRow* found = nullptr;
  for (const HostTimeRow& row : kRows) {
    if (row.engine == engine && row.from <= version) found = &row;
  }
  KVCAP_CHECK(found);
  return *found;
}

}  // namespace kvcap
