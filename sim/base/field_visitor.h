// FieldVisitor: base class of everything that walks a table of fields. Each struct that is read from a file
// has one function `describe`, which lists each field once with its unit, range and meaning. Visitors use
// this one table to read JSON, write it, print help and build the JSON Schema.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/field_spec.h"

namespace kvcap {

// Largest integer that a JSON number (a double in most programs) holds exactly.
inline constexpr double kMaxInteger = 9007199254740991;

// Members of an object with arbitrary keys, in the order of the file.
template <class T>
using Members = std::vector<std::pair<std::string, T>>;

template <class T>
concept FieldLeaf =
    std::is_arithmetic_v<T> || std::same_as<T, std::string> || std::same_as<T, nlohmann::ordered_json>;

class FieldVisitor {
 public:
  using Describe = std::function<void(FieldVisitor&)>;
  using DescribeItem = std::function<void(FieldVisitor&, std::size_t)>;
  using DescribeMember = std::function<void(FieldVisitor&, const std::string& key)>;

  virtual ~FieldVisitor() = default;

  // Visits the key "schema", whose only allowed value is `value`.
  virtual void schema(std::string_view value, bool required) = 0;
  // Requires the field `needed` if the text field `name` has `value`.
  virtual void needs(std::string_view name, std::string_view value, std::string_view needed) = 0;

  // `present` is null for fields that always have a value. Otherwise it tells whether a value is given, and
  // visitors that read files set it.
  virtual void integer(std::string_view name, int64_t& value, bool* present, const FieldSpec& spec) = 0;
  virtual void number(std::string_view name, double& value, bool* present, const FieldSpec& spec) = 0;
  virtual void flag(std::string_view name, bool& value, bool* present, const FieldSpec& spec) = 0;
  virtual void text(std::string_view name, std::string& value, bool* present, const FieldSpec& spec) = 0;
  virtual void object(std::string_view name, bool* present, const FieldSpec& spec,
                      const Describe& describe) = 0;
  virtual void list(std::string_view name, std::size_t size, bool* present, const FieldSpec& spec,
                    const DescribeItem& describe_item) = 0;
  // json_value() visits raw JSON that the caller interprets; members() visits an object with arbitrary keys
  // or, if the bool is true, a list of plain values under the keys "0", "1", ... Both occur only in files
  // that kvcap reads but never writes, so visitors that do not read may ignore them.
  virtual void json_value(std::string_view, nlohmann::ordered_json&, bool*, const FieldSpec&) {}
  virtual void members(std::string_view, bool, bool*, const FieldSpec&, const DescribeMember&) {}
  // Visits a list of `size` values, each under its index. Visitors that read may add values.
  virtual void values(std::string_view name, std::size_t, bool* present, const FieldSpec& spec,
                      const DescribeMember& describe_value) {
    members(name, true, present, spec, describe_value);
  }

  // Called by the tables: selects one of the functions above by the type of the value.
  template <class T>
  void field(std::string_view name, T& value, const FieldSpec& spec = {}) {
    any(name, value, nullptr, spec);
  }
  template <class T>
  void field(std::string_view name, std::optional<T>& value, const FieldSpec& spec = {}) {
    bool present = value.has_value();
    T inner = value.value_or(T{});
    any(name, inner, &present, spec);
    if (present) {
      value = std::move(inner);
    } else {
      value.reset();
    }
  }
  // Visits an object of the file that has no struct of its own.
  void group(std::string_view name, const FieldSpec& spec, const Describe& describe) {
    object(name, nullptr, spec, describe);
  }

 private:
  void any(std::string_view name, int64_t& value, bool* present, const FieldSpec& spec) {
    integer(name, value, present, spec);
  }
  void any(std::string_view name, uint64_t& value, bool* present, const FieldSpec& spec) {
    auto same = static_cast<int64_t>(value);
    integer(name, same, present, spec);
    value = static_cast<uint64_t>(same);
  }
  void any(std::string_view name, double& value, bool* present, const FieldSpec& spec) {
    number(name, value, present, spec);
  }
  void any(std::string_view name, bool& value, bool* present, const FieldSpec& spec) {
    flag(name, value, present, spec);
  }
  void any(std::string_view name, std::string& value, bool* present, const FieldSpec& spec) {
    text(name, value, present, spec);
  }
  void any(std::string_view name, nlohmann::ordered_json& value, bool* present, const FieldSpec& spec) {
    json_value(name, value, present, spec);
  }
  template <class E>
  requires std::is_enum_v<E>
  void any(std::string_view name, E& value, bool* present, FieldSpec spec) {
    const std::span<const std::string_view> names = names_of(value);
    if (spec.allowed.empty()) spec.allowed = names;
    std::string chosen(names[static_cast<std::size_t>(value)]);
    text(name, chosen, present, spec);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == chosen) value = static_cast<E>(i);
    }
  }
  // `spec` also applies to each value, except for its minimum number of entries.
  template <FieldLeaf T>
  void any(std::string_view name, std::vector<T>& items, bool* present, const FieldSpec& spec) {
    values(name, items.size(), present, spec, [&](FieldVisitor& visitor, const std::string& key) {
      const std::size_t i = std::stoul(key);
      if (i >= items.size()) items.resize(i + 1);
      visitor.field(key, items[i], spec.of_one());
    });
  }
  template <class T>
  void any(std::string_view name, Members<T>& items, bool* present, const FieldSpec& spec) {
    members(name, false, present, spec, [&](FieldVisitor& visitor, const std::string& key) {
      visitor.field(key, items.emplace_back(key, T()).second, spec.of_one());
    });
  }
  template <class T>
  void any(std::string_view name, std::map<std::string, T>& items, bool* present, const FieldSpec& spec) {
    members(name, false, present, spec, [&](FieldVisitor& visitor, const std::string& key) {
      visitor.field(key, items[key], spec.of_one());
    });
  }
  template <class T>
  requires std::is_class_v<T>
  void any(std::string_view name, T& value, bool* present, const FieldSpec& spec) {
    object(name, present, spec, [&value](FieldVisitor& visitor) { describe(visitor, value); });
  }
  template <class T>
  void any(std::string_view name, std::vector<T>& items, bool* present, const FieldSpec& spec) {
    list(name, items.size(), present, spec, [&items](FieldVisitor& visitor, std::size_t i) {
      if (i >= items.size()) items.resize(i + 1);
      describe(visitor, items[i]);
    });
  }
};

// Return the range as errors and help texts state it: "an integer from 1 to 8", "a number from 0.5 to 2".
std::string allowed_integers(const FieldSpec& spec);
std::string allowed_numbers(const FieldSpec& spec);
// Describes the default of a field that may be absent, e.g. "the preset's; else 1". Empty if there is none.
std::string default_text(const FieldSpec& spec);
// Returns the shortest decimal text that reads back as the same double.
std::string number_text(double value);

}  // namespace kvcap
