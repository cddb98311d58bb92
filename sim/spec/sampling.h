// Sampling: how the next token is drawn from the logits, by which an engine knows whether it must filter
// them.
#pragma once

#include <cstdint>
#include <optional>

#include "base/text/names.h"

namespace kvcap {

// What finds the tokens that top_k and top_p leave.
enum class SamplerKernel : uint8_t { sort, triton, flashinfer };
inline constexpr std::string_view kSamplerKernelNames[] = {"sort", "triton", "flashinfer"};
constexpr Names names_of(SamplerKernel) { return kSamplerKernelNames; }

// What requests ask for, or a model's generation_config.json where they do not say.
struct Sampling {
  double temperature = 1;               // 0: the most likely token, and no filter
  int64_t top_k = 0;                    // keep that many of the most likely tokens; 0: all
  double top_p = 1;                     // only the most likely ones that together have this probability
  std::optional<SamplerKernel> method;  // absent: that of the engine's version

  bool operator==(const Sampling&) const = default;
  bool filters() const { return temperature > 0 && (top_k > 0 || top_p < 1); }
};

// t = fixed_s + per_logit_s (rows x vocabulary).
struct SamplerTime {
  double fixed_s = 0;
  double per_logit_s = 0;
};
SamplerTime sampler_time(SamplerKernel kernel);

}  // namespace kvcap
