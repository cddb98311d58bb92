// Reads values from JSON that another program may have changed: a value that is missing or has another type
// is read as NaN, "" or an empty list.
#pragma once

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

using Json = nlohmann::ordered_json;

// Returns the value of a key; null if the key is missing.
inline const Json& value_of(const Json& object, std::string_view key) {
  static const Json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}

inline double number_or_nan(const Json& value) {
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}
inline double number_of(const Json& object, std::string_view key) {
  return number_or_nan(value_of(object, key));
}

// Returns a text, "" for null, or the JSON of any other value.
inline std::string text_or_json(const Json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : value.dump();
}
inline std::string text_of(const Json& object, std::string_view key) {
  return text_or_json(value_of(object, key));
}

inline const Json& list_of(const Json& object, std::string_view key) {
  static const Json kEmpty = Json::array();
  const Json& value = value_of(object, key);
  return value.is_array() ? value : kEmpty;
}

// Returns the text or JSON of every item.
inline std::vector<std::string> texts_of(const Json& list) {
  std::vector<std::string> texts;
  for (const Json& item : list) texts.push_back(text_or_json(item));
  return texts;
}

}  // namespace kvcap
