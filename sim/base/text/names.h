// Names: the JSON names of an enumeration's values, in order. They are defined next to the enumeration, with
// names_of(value) to find them.
#pragma once

#include <span>
#include <string_view>

namespace kvcap {

using Names = std::span<const std::string_view>;

}  // namespace kvcap
