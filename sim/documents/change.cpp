#include "documents/change.h"

#include <algorithm>
#include <cmath>

namespace kvcap {

bool Change::is_same() const {
  return std::abs(difference()) <= 1e-9 * std::max(std::abs(before), std::abs(after));
}

bool Change::can_tell() const { return !(std::abs(difference()) <= half_width); }

std::string list_text(const std::vector<std::string>& items, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(items.size(), most); ++i) text += (i > 0 ? ", " : "") + items[i];
  if (items.size() > most) text += " and " + std::to_string(items.size() - most) + " more";
  return text;
}

}  // namespace kvcap
