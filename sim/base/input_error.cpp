#include "base/input_error.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace kvcap {
namespace {

// Edit distance with insertions, deletions, substitutions and swaps of neighbours, each of cost 1: a swap
// is the commonest slip of all.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitution = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, substitution});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  std::string_view best;
  // A third of the letters may be wrong, at most three. Long texts are no typing slips.
  std::size_t best_distance = std::min<std::size_t>(3, (name.size() + 2) / 3) + 1;
  if (name.empty() || name.size() > 64) return best;
  for (std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string suggestion(std::string_view name, std::span<const std::string_view> candidates) {
  const std::string_view nearest = nearest_name(name, candidates);
  if (nearest.empty()) return "";
  return "; did you mean \"" + std::string(nearest) + "\"?";
}

}  // namespace kvcap
