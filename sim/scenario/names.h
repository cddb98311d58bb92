// Lists the texts that some fields allow; names of enumerations are next to the enumerations (base/names.h).
#pragma once

#include <array>
#include <string_view>

namespace kvcap {

inline constexpr std::array<std::string_view, 5> kTierKindNames = {"hbm", "dram", "ssd", "remote",
                                                                   "mooncake_store"};
inline constexpr std::string_view kGemmEfficiencyNames[] = {"constant", "smooth_max", "table"};
inline constexpr std::string_view kAttentionEfficiencyNames[] = {"constant", "smooth_max", "wave", "blocks"};
inline constexpr std::string_view kProvenanceNames[] = {"datasheet", "paper", "measured"};
inline constexpr std::string_view kDtypeNames[] = {"float16",       "bfloat16",    "float32",
                                                   "float8_e4m3fn", "float8_e5m2", "int8"};

}  // namespace kvcap
