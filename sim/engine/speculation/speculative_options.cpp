#include "engine/speculation/speculative_options.h"

#include <algorithm>
#include <numeric>

namespace kvcap {
namespace {

// Returns `count` chances: `first` times 1, ratio, ratio^2, ...
std::vector<double> geometric(int64_t count, double first, double ratio) {
  std::vector<double> chances(static_cast<std::size_t>(count), first);
  for (std::size_t i = 1; i < chances.size(); ++i) chances[i] = chances[i - 1] * ratio;
  return chances;
}

std::vector<double> continued(std::vector<double> chances, int64_t count) {
  const std::size_t given = chances.size();
  const double last = chances.back(), before = given > 1 ? chances[given - 2] : 1;
  const double ratio = before > 0 ? last / before : 0;
  chances.resize(static_cast<std::size_t>(count));
  for (std::size_t i = given; i < chances.size(); ++i) chances[i] = chances[i - 1] * ratio;
  return chances;
}

}  // namespace

double acceptance_length_of(int64_t draft_tokens, double chance) {
  const std::vector<double> chances = geometric(draft_tokens, chance, chance);
  return std::accumulate(chances.begin(), chances.end(), 1.0);
}

// Solves by bisection, as the length grows with the probability; 60 halvings reach double precision.
double solve_chance(int64_t draft_tokens, double acceptance_length) {
  if (acceptance_length <= 1) return 0;
  double low = 0, high = 1;
  if (acceptance_length_of(draft_tokens, high) <= acceptance_length) return high;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (acceptance_length_of(draft_tokens, middle) < acceptance_length ? low : high) = middle;
  }
  return (low + high) / 2;
}

std::vector<double> chances_of(const SpeculativeOptions& options, const ModelSpec& model) {
  const int64_t drafts = options.draft_tokens;
  if (options.acceptance_by_position) return continued(*options.acceptance_by_position, drafts);
  if (!options.acceptance_length && !options.acceptance_rate) {
    const AssumedAcceptance& assumed = assumed_acceptance(options, model);
    return geometric(drafts, assumed.first, assumed.next);
  }
  const double length = options.acceptance_length.value_or(1 + static_cast<double>(drafts) *
                                                                   options.acceptance_rate.value_or(0));
  const double chance = solve_chance(drafts, length);
  return geometric(drafts, chance, chance);
}

double mean_tokens_of_step(const SpeculativeOptions& options, const ModelSpec& model) {
  const std::vector<double> chances = chances_of(options, model);
  return std::accumulate(chances.begin(), chances.end(), 1.0);
}

int64_t drafts_of_batch(const SpeculativeOptions& options, int64_t sequences) {
  int64_t drafts = options.draft_tokens;
  for (const DraftsOfBatch& row : options.drafts_by_batch) {
    if (sequences < row.from_sequences) break;
    drafts = std::min(options.draft_tokens, row.draft_tokens);
  }
  return drafts;
}

}  // namespace kvcap
