// FieldSpec: one row of a table of fields: the meaning, unit and allowed values of a configuration field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <variant>

namespace kvcap {

// A default value: a Boolean, an integer, a number or a text. monostate: there is no default.
using DefaultValue = std::variant<std::monostate, bool, int64_t, double, std::string_view>;

// Bounds that many fields share.
inline constexpr double kMaxCount = 1e6;
inline constexpr double kMinShare = 1e-6;
inline constexpr double kMaxYears_s = 1e10;  // 300 years

struct FieldSpec {
  std::string_view meaning = {};
  std::string_view unit = {};
  // Range of a number or integer; every such field has both bounds.
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool below_max = false;  // `max` itself is not allowed
  bool required = false;
  // Default of a field that is absent or null: `absent` describes where the default comes from, and
  // `fallback` is used if that source gives none.
  std::string_view absent = {};
  DefaultValue fallback = {};
  std::span<const std::string_view> allowed = {};  // text: the allowed values
  std::span<const int64_t> integers = {};          // integer: the allowed values
  std::string_view reference = {};  // object: a name or path of this kind may be given instead of the object
  std::string_view shorthand = {};  // object: a plain number, given instead of the object, sets this field
  std::size_t least = 0;            // list, object with arbitrary keys: minimum number of entries
  std::string_view shape = {};      // what errors call the allowed value; empty: an object or an array

  // Returns the spec of one value of a list.
  constexpr FieldSpec of_one() const {
    FieldSpec one = *this;
    one.required = false;
    one.least = 0;
    one.shape = {};
    return one;
  }
};

}  // namespace kvcap
