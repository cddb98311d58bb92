// Names: the JSON names of an enumeration's values, in order. They are defined next to the enumeration, with
// names_of(value) to find them.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>

namespace kvcap {

using Names = std::span<const std::string_view>;

template <class E>
requires std::is_enum_v<E>
constexpr std::string_view name_of(E value) { return names_of(value)[static_cast<std::size_t>(value)]; }

}  // namespace kvcap
