// Sampling: how the next token is drawn from the logits, and thus whether the engine has to filter them.
#pragma once

#include <cstdint>
#include <optional>

#include "base/text/names.h"

namespace kvcap {

// The kernel that selects the tokens that top_k and top_p keep.
enum class SamplerKernel : uint8_t { sort, triton, flashinfer };
inline constexpr std::string_view kSamplerKernelNames[] = {"sort", "triton", "flashinfer"};
constexpr Names names_of(SamplerKernel) { return kSamplerKernelNames; }

// Sampling parameters of the requests or, if these have none, of the model's generation_config.json.
struct Sampling {
  double temperature = 1;               // 0: greedy, without a filter
  int64_t top_k = 0;                    // most likely tokens to keep; 0: all
  double top_p = 1;                     // keep the most likely tokens with this total probability
  std::optional<SamplerKernel> method;  // absent: the default of the engine's version

  bool operator==(const Sampling&) const = default;
  bool filters() const { return temperature > 0 && (top_k > 0 || top_p < 1); }
};

// Time of a sampler kernel: fixed_s + per_logit_s (rows x vocabulary).
struct SamplerTime {
  double fixed_s = 0;
  double per_logit_s = 0;
};
SamplerTime sampler_time(SamplerKernel kernel);

}  // namespace kvcap
