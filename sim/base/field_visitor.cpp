#include "base/field_visitor.h"

#include <charconv>
#include <cmath>

#include "base/text/joined.h"

namespace kvcap {

std::string number_text(double value) {
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  std::string text(digits, end);
  if (std::abs(value) < 1e15 && value == static_cast<double>(static_cast<int64_t>(value))) {
    text = std::to_string(static_cast<int64_t>(value));
  }
  return text;
}

static std::string range_text(const std::string& what, const FieldSpec& spec) {
  return what + " from " + number_text(spec.min) + (spec.below_max ? " to less than " : " to ") +
         number_text(spec.max);
}

std::string default_text(const FieldSpec& spec) {
  struct Text {
    std::string operator()(std::monostate) { return ""; }
    std::string operator()(bool value) { return value ? "true" : "false"; }
    std::string operator()(int64_t value) { return std::to_string(value); }
    std::string operator()(double value) { return number_text(value); }
    std::string operator()(std::string_view value) { return std::string(value); }
  };
  const std::string value = std::visit(Text(), spec.fallback);
  if (spec.absent.empty() || value.empty()) return std::string(spec.absent) + value;
  return std::string(spec.absent) + "; else " + value;
}

std::string allowed_integers(const FieldSpec& spec) {
  if (spec.integers.empty()) return range_text("an integer", spec);
  return joined(spec.integers, ", ", [](int64_t one) { return std::to_string(one); });
}
std::string allowed_numbers(const FieldSpec& spec) { return range_text("a number", spec); }

}  // namespace kvcap
