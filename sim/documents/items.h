// Finds items of JSON documents by name.
#pragma once

#include <map>
#include <string>

#include "documents/document.h"

namespace kvcap {

inline constexpr double kNoticeable = 1.005;  // values whose ratio is below this count as equal

// Returns the items of a list by name: the text that each item has under the key `name`.
inline std::map<std::string, const Json*> by_name(const Json& list, std::string_view name) {
  std::map<std::string, const Json*> items;
  for (const Json& item : list) items.try_emplace(text_of(item, name), &item);
  return items;
}

// Returns the name of a plan, a sweep or a break-even map.
inline std::string name_of(const Json& content) { return text_of(content, "name"); }

}  // namespace kvcap
