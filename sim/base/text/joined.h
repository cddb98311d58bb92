// joined, listed: lists of words as one text.
#pragma once

#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace kvcap {

// "a, b, c"; `word` makes the text of an item.
template <typename Items, typename Word = std::identity>
std::string joined(const Items& items, std::string_view between = ", ", Word word = {}) {
  std::string text;
  bool is_first = true;
  for (const auto& item : items) {
    if (!std::exchange(is_first, false)) text += between;
    text += std::invoke(word, item);
  }
  return text;
}

// "a, b and c"
template <typename Words>
std::string listed(const Words& words, std::string_view last = " and ") {
  std::string text;
  std::size_t left = std::size(words);
  for (const auto& word : words) {
    if (left != std::size(words)) text += left == 1 ? last : ", ";
    text += word;
    --left;
  }
  return text;
}

}  // namespace kvcap
