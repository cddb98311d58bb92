// The texts that some fields allow; names of enumerations stand beside the enumerations (base/text/names.h).
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "base/tier.h"

namespace kvcap {

inline constexpr auto kTierKindNames = [] {
  std::array<std::string_view, kTierCount + 1> names;
  std::copy(kTierNames.begin(), kTierNames.end(), names.begin());
  names.back() = "mooncake_store";
  return names;
}();
inline constexpr std::string_view kGemmEfficiencyNames[] = {"constant", "smooth_max", "table"};
inline constexpr std::string_view kAttentionEfficiencyNames[] = {"constant", "smooth_max", "wave", "blocks"};
inline constexpr std::string_view kProvenanceNames[] = {"datasheet", "paper", "measured"};
inline constexpr std::string_view kDtypeNames[] = {"float16",       "bfloat16",    "float32",
                                                   "float8_e4m3fn", "float8_e5m2", "int8"};

}  // namespace kvcap
