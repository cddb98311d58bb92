// What a field of a configuration file may be, and what it means: one row of the table of fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace kvcap {

struct FieldSpec {
  std::string_view meaning = {};
  std::string_view unit = {};
  // Of numbers and integers: every one of them has both.
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool below_max = false;  // `max` itself is not allowed
  bool required = false;
  std::string_view absent = {};  // what an absent (or null) value means, where not a constant
  std::span<const std::string_view> allowed = {};  // text: the only values
  std::span<const int64_t> integers = {};          // integer: the only values
  std::string_view reference = {};                 // object: also a name or a path; says of what
  std::string_view shorthand = {};                 // object: also an integer, the field of this name
  std::size_t least = 0;                           // list, object with keys of its own: how many there are
  std::string_view shape = {};  // what errors say of one in place of "an object", "an array"

  // Of one value of a list.
  constexpr FieldSpec of_one() const {
    FieldSpec one = *this;
    one.required = false;
    one.least = 0;
    one.shape = {};
    return one;
  }
};

}  // namespace kvcap
