// Items of documents by their names.
#pragma once

#include <map>
#include <string>

#include "documents/document.h"

namespace kvcap {

inline constexpr double kNoticeable = 1.005;  // a ratio; below it two are the same

// Items of a list by the text behind `name`.
inline std::map<std::string, const Json*> by_name(const Json& list, std::string_view name) {
  std::map<std::string, const Json*> items;
  for (const Json& item : list) items.try_emplace(text_of(item, name), &item);
  return items;
}

// What plans, sweeps and maps are known by.
inline std::string name_of(const Json& content) { return text_of(content, "name"); }

}  // namespace kvcap
