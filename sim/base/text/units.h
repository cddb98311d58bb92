// Numbers with units as people write them: "512GB", "40s", "4k".
//
// Lower-case factors are decimal and upper-case ones binary, as in vLLM's flags
// (vllm/utils/argparse_utils.py): 4k is 4,000 and 4K is 4,096; of bytes, GB is 1e9 and GiB is 2^30.
#pragma once

#include <optional>
#include <string_view>

namespace kvcap {

enum class UnitOf { count, bytes, bytes_per_s, seconds, milliseconds };

// Returns the unit of a field or a metric, which its name ends with: "mean_s", "capacity_bytes".
UnitOf unit_of(std::string_view name);

// Returns the number in its unit, with or without a written unit; nullopt if the text is none.
std::optional<double> number_with_unit(std::string_view text, UnitOf unit);

}  // namespace kvcap
