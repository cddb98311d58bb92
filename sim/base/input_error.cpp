#include "base/input_error.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <vector>

namespace kvcap {
namespace {

int lower(char letter) { return std::tolower(static_cast<unsigned char>(letter)); }

// Returns the case-insensitive edit distance. An insertion, deletion, substitution or swap of neighbours
// costs 1; a swap is the most common typing error.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitution = above[j - 1] + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, substitution});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

// Returns the runs of letters and the runs of digits: llama, 2, 7, b for "llama-2-7b".
std::vector<std::string_view> words_of(std::string_view text) {
  const auto kind = [](char c) {
    const auto one = static_cast<unsigned char>(c);
    return std::isdigit(one) != 0 ? 2 : std::isalpha(one) != 0 ? 1 : 0;
  };
  std::vector<std::string_view> words;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    while (end < text.size() && kind(text[end]) == kind(text[begin])) ++end;
    if (kind(text[begin]) != 0) words.push_back(text.substr(begin, end - begin));
  }
  return words;
}

std::string digits_of(std::string_view text) {
  std::string digits;
  for (char c : text)
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) digits += c;
  return digits;
}

// Returns the shortest candidate that contains every word of `name` and its digits in their order: "ttft_ms"
// for "ttft".
std::string_view completed_name(std::string_view name, std::span<const std::string_view> candidates) {
  constexpr std::size_t kFewestLetters = 3;
  std::string_view best;
  const std::vector<std::string_view> words = words_of(name);
  if (name.size() < kFewestLetters || words.empty()) return best;
  for (std::string_view candidate : candidates) {
    const auto has = [&](std::string_view word) {
      const auto same = [](char a, char b) { return lower(a) == lower(b); };
      return std::search(candidate.begin(), candidate.end(), word.begin(), word.end(), same) !=
             candidate.end();
    };
    if (digits_of(candidate).find(digits_of(name)) == std::string::npos) continue;
    const bool shorter = best.empty() || candidate.size() < best.size();
    if (shorter && std::all_of(words.begin(), words.end(), has)) best = candidate;
  }
  return best;
}

}  // namespace

// A name with another digit is usually a different name, not a typing error: llama-3.3-70b is not
// llama-3.1-70b.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  std::string_view best;
  // A third of the letters may be wrong, at most three. Long texts are not typing errors.
  std::size_t best_distance = std::min<std::size_t>(3, (name.size() + 2) / 3) + 1;
  if (name.empty() || name.size() > 64) return best;
  for (std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  if (!best.empty() && digits_of(best) == digits_of(name)) return best;
  const std::string_view completed = completed_name(name, candidates);
  return completed.empty() ? best : completed;
}

std::string suggestion(std::string_view name, std::span<const std::string_view> candidates) {
  const std::string_view nearest = nearest_name(name, candidates);
  if (nearest.empty()) return "";
  return "; did you mean \"" + std::string(nearest) + "\"?";
}

}  // namespace kvcap
