// The names of an enumeration's values in JSON, in their order. They stand beside the enumeration, with
// names_of(value) to find them.
#pragma once

#include <span>
#include <string_view>

namespace kvcap {

using Names = std::span<const std::string_view>;

}  // namespace kvcap
