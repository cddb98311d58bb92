// Numbers with units as people write them: "512GB", "40s", "4k".
//
// Lower-case factors are decimal and upper-case ones binary, as in vLLM's flags
// (vllm/utils/argparse_utils.py): 4k is 4,000 and 4K is 4,096; for bytes, GB is 1e9 and GiB is 2^30.
#pragma once

#include <optional>
#include <string_view>

namespace kvcap {

enum class UnitOf { count, bytes, bytes_per_s, seconds, milliseconds };

// Returns the unit that ends the name of a field or metric: "mean_s", "capacity_bytes".
UnitOf unit_of(std::string_view name);

// Converts a text to a number of `unit`s; the text may omit the unit. Returns nullopt if the text is not such
// a number.
std::optional<double> number_with_unit(std::string_view text, UnitOf unit);

}  // namespace kvcap
