#include "engine/versions/step_errors.h"

#include <array>

#include "base/check.h"

namespace kvcap {
namespace {

// Each error is a mean over the models of a family on one kind of GPU. Runs on B200 were used only to test
// the intervals, not to select values.
constexpr std::string_view kDense =
    "TPOT on H100: Llama-3.1-70B in FP8 0.06; vLLM 0.15.1: Llama-2-7B -0.05, Llama-2-70B 0.05, CodeLlama-34B "
    "0.03; on an RTX 4090 -0.005";
constexpr std::string_view kExperts =
    "TPOT of gpt-oss-120b on H100 and H200 (-0.04 each), MiniMax-M2 on H100 and H200 (0.08, 0.21); "
    "sigma is their standard deviation, 0.119, x sqrt(1 + 1/4), to predict a fifth value";
constexpr std::string_view kOldExperts =
    "TPOT of Qwen3-235B on H200 with vLLM 0.12, the only such runs: 0.43, and 0.52 with whole experts; mean "
    "and standard deviation of this row are half of 0.43";
constexpr std::string_view kTrtllm =
    "TPOT of TensorRT-LLM on H100, H200 and B200: medians of six models have errors of 4 to 19 %";
constexpr std::string_view kSglang = "whole runs of SGLang; the closest measured are those of vLLM";

constexpr std::array kStepErrorRows = {
    StepErrorRow{EngineKind::vllm, {0, 0}, false, 0.02, 0.05, kDense, ""},
    StepErrorRow{EngineKind::vllm, {0, 0}, true, 0.22, 0.22, kOldExperts, ""},
    StepErrorRow{EngineKind::vllm, {0, 14}, true, 0.05, 0.13, kExperts, ""},
    StepErrorRow{EngineKind::sglang, {0, 0}, false, 0.02, 0.1, "twice those of vLLM", kSglang},
    StepErrorRow{EngineKind::sglang, {0, 0}, true, 0.05, 0.26, "twice those of vLLM", kSglang},
    StepErrorRow{EngineKind::trtllm, {0, 0}, false, 0, 0.12, kTrtllm, ""},
    StepErrorRow{EngineKind::trtllm, {0, 0}, true, 0, 0.12, kTrtllm, ""}};

}  // namespace

std::span<const StepErrorRow> step_error_table() { return kStepErrorRows; }

const StepErrorRow& step_errors_of(EngineKind engine, EngineVersion version, bool experts) {
  const StepErrorRow* found = nullptr;
  for (const StepErrorRow& row : kStepErrorRows) {
    if (row.engine == engine && row.experts == experts && row.from <= version) found = &row;
  }
  KVCAP_CHECK(found);
  return *found;
}

}  // namespace kvcap
