#include "serving/step_errors.h"

#include <array>

#include "base/check.h"

namespace kvcap {
namespace {

constexpr std::string_view kSglang = "whole runs of SGLang; nearest: those of vLLM";
constexpr std::string_view kTrtllm = "whole runs of TensorRT-LLM; nearest: those of vLLM";

constexpr std::array kRows = {
    StepErrorRow{EngineKind::vllm,
                 {0, 0},
                 false,
                 0.03,
                 0.05,
                 "means of seven models on H100, vLLM 0.15.1 (inference-sim/training c4f03409)",
                 ""},
    StepErrorRow{EngineKind::vllm,
                 {0, 0},
                 true,
                 0.12,
                 0.12,
                 "gpt-oss-120b and MiniMax-M2 on H100 and H200, vLLM 0.14 and later",
                 ""},
    StepErrorRow{EngineKind::sglang, {0, 0}, false, 0.03, 0.1, "as vllm, wider", kSglang},
    StepErrorRow{EngineKind::sglang, {0, 0}, true, 0.12, 0.15, "as vllm, wider", kSglang},
    StepErrorRow{EngineKind::trtllm, {0, 0}, false, 0, 0.12, "as vllm, wider", kTrtllm},
    StepErrorRow{EngineKind::trtllm, {0, 0}, true, 0.1, 0.15, "as vllm, wider", kTrtllm}};

}  // namespace

std::span<const StepErrorRow> step_error_table() { return kRows; }

const StepErrorRow& step_errors_of(EngineKind engine, EngineVersion version, bool experts) {
  const StepErrorRow* found = nullptr;
  for (const StepErrorRow& row : kRows) {
    if (row.engine == engine && row.experts == experts && row.from <= version) found = &row;
  }
  KVCAP_CHECK(found);
  return *found;
}

}  // namespace kvcap
