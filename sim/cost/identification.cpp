#include "cost/identification.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/check.h"

namespace kvcap {
namespace {

double jaccard(std::span<const uint8_t> a, std::span<const uint8_t> b) {
  int64_t both = 0, either = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    both += a[i] & b[i];
    either += a[i] | b[i];
  }
  return static_cast<double>(both) / static_cast<double>(either);
}

double mean_jaccard(const std::vector<std::vector<uint8_t>>& sets) {
  double sum = 0;
  int64_t pairs = 0;
  for (std::size_t a = 0; a < sets.size(); ++a) {
    for (std::size_t b = a + 1; b < sets.size(); ++b, ++pairs) sum += jaccard(sets[a], sets[b]);
  }
  return pairs == 0 ? 1 : sum / static_cast<double>(pairs);
}

}  // namespace

int64_t important_tokens(double retention, int64_t tokens) {
  KVCAP_CHECK(retention > 0 && retention <= 1 && tokens >= 1);
  return std::max<int64_t>(1, std::llround(retention * static_cast<double>(tokens)));
}

double random_jaccard(double retention) { return retention / (2 - retention); }

double similarity_threshold(const Identification& options) {
  return std::pow(random_jaccard(options.retention), options.alpha);
}

int64_t vectors_with_probes(int64_t tokens, int64_t important, int64_t heads, int64_t probe_heads) {
  return probe_heads * tokens + 2 * important * heads;
}

int64_t vectors_with_all_keys(int64_t tokens, int64_t important, int64_t heads) {
  return heads * tokens + important * heads;
}

std::vector<uint8_t> largest(std::span<const double> values, int64_t count) {
  const std::ptrdiff_t size = std::ssize(values);
  std::vector<uint8_t> marked(values.size(), count >= size);
  if (count <= 0 || count >= size) return marked;
  std::vector<double> sorted(values.begin(), values.end());
  std::nth_element(sorted.begin(), sorted.begin() + (count - 1), sorted.end(), std::greater<>());
  const double least = sorted[static_cast<std::size_t>(count - 1)];
  for (std::size_t i = 0; i < values.size(); ++i) {
    marked[i] = values[i] > least;
    count -= marked[i];
  }
  for (std::size_t i = 0; count > 0; ++i) {
    if (values[i] != least) continue;
    marked[i] = 1;
    --count;
  }
  return marked;
}

ImportantSet identify(std::span<const double> importance, int64_t probe_heads, int64_t important) {
  KVCAP_CHECK(probe_heads >= 1 && std::ssize(importance) % probe_heads == 0);
  const std::size_t tokens = importance.size() / static_cast<std::size_t>(probe_heads);
  std::vector<std::vector<uint8_t>> sets;
  std::vector<int64_t> votes(tokens, 0);
  std::vector<double> sums(tokens, 0);
  for (std::size_t first = 0; first < importance.size(); first += tokens) {
    const std::span<const double> row = importance.subspan(first, tokens);
    sets.push_back(largest(row, important));
    for (std::size_t i = 0; i < tokens; ++i) {
      votes[i] += sets.back()[i];
      sums[i] += row[i];
    }
  }
  std::vector<int64_t> with_votes(static_cast<std::size_t>(probe_heads) + 1, 0);
  for (int64_t number : votes) ++with_votes[static_cast<std::size_t>(number)];
  // Tokens with more than `level` votes are chosen; tokens with exactly `level` votes compete for the rest.
  int64_t level = probe_heads, left = important;
  while (level > 0 && with_votes[static_cast<std::size_t>(level)] < left) {
    left -= with_votes[static_cast<std::size_t>(level--)];
  }
  std::vector<std::size_t> tied;
  std::vector<double> tied_sums;
  ImportantSet found{mean_jaccard(sets), std::vector<uint8_t>(tokens, 0)};
  for (std::size_t i = 0; i < tokens; ++i) {
    found.chosen[i] = votes[i] > level;
    if (votes[i] != level) continue;
    tied.push_back(i);
    tied_sums.push_back(sums[i]);
  }
  const std::vector<uint8_t> wins = largest(tied_sums, left);
  for (std::size_t i = 0; i < tied.size(); ++i) found.chosen[tied[i]] = wins[i];
  return found;
}

void ChunkScore::use(double important_share) {
  ++uses_;
  const auto remembered = static_cast<double>(std::min(uses_, kRememberedQueries));
  important_share_ += (important_share - important_share_) / remembered;
}

}  // namespace kvcap
