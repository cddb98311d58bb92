#include "cost/importance.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

#include "base/check.h"

namespace kvcap {
namespace {

constexpr double kLargestImportance = 3;

// Sample sizes of RestoreStatistics. The sampled queries come after those that determine the order of the
// tokens.
constexpr int64_t kSampledLayers = 2;
constexpr int64_t kSampledQueries = 4;
constexpr int64_t kSampledTokens = 4096;
constexpr double kSampledSets = kSampledLayers * kSampledQueries;
constexpr std::size_t kGrid = 9;  // values of r_l

// Results for one value of r_l (ImportanceModel::common_share), summed over sampled layers and queries.
struct Sums {
  double jaccard = 0, adjacent_recall = 0;
  std::vector<double> important;             // chosen tokens by rank
  std::vector<std::vector<uint8_t>> chosen;  // per query, at the latest layer
};

double overlap(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
  int64_t both = 0, all = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    both += a[i] & b[i];
    all += b[i];
  }
  return static_cast<double>(both) / static_cast<double>(all);
}

// Returns the rank of each token by descending value, from 0.
std::vector<std::size_t> places_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size()), place(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  return place;
}

// Adds the results of the layer that was drawn last, for the given r_l.
void add_layer(ImportanceDraws& draws, double common_share, const Identification& options, Sums& sums) {
  const std::size_t ranks = sums.important.size();
  const int64_t important = important_tokens(options.retention, kSampledTokens);
  const std::vector<std::size_t> place = places_of(draws.mean_importance(kRememberedQueries, common_share));
  for (std::size_t q = 0; q < kSampledQueries; ++q) {
    ImportantSet set = identify(draws.importance(kRememberedQueries + static_cast<int64_t>(q), common_share),
                                options.probe_heads, important);
    sums.jaccard += set.jaccard;
    for (std::size_t i = 0; i < place.size(); ++i) {
      sums.important[place[i] * ranks / place.size()] += set.chosen[i];
    }
    if (sums.chosen[q].empty()) {
      sums.chosen[q] = std::move(set.chosen);
    } else {
      sums.adjacent_recall += overlap(sums.chosen[q], set.chosen);
    }
  }
}

std::vector<Sums> draw_grid(const ImportanceModel& model, const Identification& options, int64_t ranks,
                            uint64_t seed) {
  std::vector<Sums> grid(kGrid);
  for (Sums& sums : grid) {
    sums.important.assign(static_cast<std::size_t>(ranks), 0);
    sums.chosen.resize(kSampledQueries);
  }
  ImportanceDraws draws(model, {kRememberedQueries + kSampledQueries, options.probe_heads, kSampledTokens},
                        seed);
  for (int64_t layer = 0; layer < kSampledLayers; ++layer) {
    draws.next_layer();
    for (std::size_t i = 0; i < kGrid; ++i) {
      const double part = static_cast<double>(i) / (kGrid - 1);
      add_layer(draws, std::lerp(model.common_share_last, model.common_share_first, part), options, grid[i]);
    }
  }
  for (Sums& sums : grid) sums.chosen.clear();
  return grid;
}

// Returns draw_grid() from a cache. The grid does not depend on the number of layers or on the threshold.
const std::vector<Sums>& sample_grid(const ImportanceModel& model, const Identification& options,
                                     int64_t ranks, uint64_t seed) {
  struct Drawn {
    ImportanceModel model;
    double retention;
    int64_t probe_heads;
    uint64_t seed;
    std::vector<Sums> grid;
  };
  constexpr std::size_t kRemembered = 16;
  thread_local std::deque<Drawn> drawn;
  for (const Drawn& one : drawn) {
    if (one.model == model && one.retention == options.retention && one.probe_heads == options.probe_heads &&
        one.seed == seed) {
      return one.grid;
    }
  }
  if (drawn.size() == kRemembered) drawn.pop_front();
  drawn.push_back(
      {model, options.retention, options.probe_heads, seed, draw_grid(model, options, ranks, seed)});
  return drawn.back().grid;
}

}  // namespace

double ImportanceModel::common_share(int64_t layer, int64_t layers) const {
  const double depth = layers < 2 ? 0 : static_cast<double>(layer) / static_cast<double>(layers - 1);
  if (depth < decline_depth) return common_share_first;
  return std::lerp(common_share_first, common_share_last, (depth - decline_depth) / (1 - decline_depth));
}

ImportanceDraws::ImportanceDraws(const ImportanceModel& model, Shape shape, uint64_t seed)
    : model_(model),
      shape_(shape),
      stable_of_(seed, "importance.stable"),
      query_of_(seed, "importance.query"),
      asked_of_(seed, "importance.asked"),
      head_of_(seed, "importance.head"),
      stable_(static_cast<std::size_t>(shape.tokens)),
      query_(static_cast<std::size_t>(shape.queries * shape.tokens)),
      common_(query_.size()),
      head_(query_.size() * static_cast<std::size_t>(shape.heads)),
      row_(static_cast<std::size_t>(shape.heads * shape.tokens)) {}

void ImportanceDraws::next_layer() {
  ++layer_;
  const double kept = layer_ == 0 ? 0 : model_.layer_correlation;
  const double fresh = std::sqrt(1 - kept * kept);
  const double stable_weight = std::sqrt(model_.stable_share);
  const double query_weight = std::sqrt(1 - model_.stable_share);
  const std::size_t tokens = stable_.size();
  const auto layer = static_cast<uint64_t>(layer_);
  for (std::size_t i = 0; i < tokens; ++i)
    stable_[i] = kept * stable_[i] + fresh * stable_of_.normal(layer, i);
  const auto queries = static_cast<uint64_t>(shape_.queries), heads = static_cast<uint64_t>(shape_.heads);
  for (uint64_t q = 0; q < queries; ++q) {
    for (std::size_t i = 0; i < tokens; ++i) {
      double& query = query_[q * tokens + i];
      query = kept * query + fresh * query_of_.normal(layer * queries + q, i);
      const bool asked = asked_of_.uniform(q, i) < model_.asked_probability;
      common_[q * tokens + i] =
          stable_weight * stable_[i] + query_weight * query + (asked ? model_.asked_importance : 0);
    }
    for (uint64_t h = q * heads; h < (q + 1) * heads; ++h) {
      for (std::size_t i = 0; i < tokens; ++i) {
        head_[h * tokens + i] = head_of_.student_t(model_.head_freedom, layer * queries * heads + h, i);
      }
    }
  }
}

std::span<const double> ImportanceDraws::importance(int64_t query, double common_share) {
  KVCAP_CHECK(layer_ >= 0 && query >= 0 && query < shape_.queries);
  const double common_weight = std::sqrt(common_share), head_weight = std::sqrt(1 - common_share);
  const std::size_t tokens = stable_.size();
  const auto q = static_cast<std::size_t>(query), heads = static_cast<std::size_t>(shape_.heads);
  const double* common = common_.data() + q * tokens;
  const double* head = head_.data() + q * heads * tokens;
  for (std::size_t h = 0; h < heads; ++h) {
    for (std::size_t i = 0; i < tokens; ++i) {
      row_[h * tokens + i] = common_weight * common[i] + head_weight * head[h * tokens + i];
    }
  }
  return row_;
}

std::vector<double> ImportanceDraws::mean_importance(int64_t queries, double common_share) {
  const std::size_t tokens = stable_.size();
  std::vector<double> mean(tokens, 0), of_heads(tokens);
  for (int64_t q = 0; q < queries; ++q) {
    const std::span<const double> rows = importance(q, common_share);
    std::fill(of_heads.begin(), of_heads.end(), 0);
    for (std::size_t first = 0; first < rows.size(); first += tokens) {
      for (std::size_t i = 0; i < tokens; ++i) of_heads[i] += rows[first + i];
    }
    for (std::size_t i = 0; i < tokens; ++i) {
      mean[i] += std::min(of_heads[i] / static_cast<double>(shape_.heads), kLargestImportance);
    }
  }
  for (double& one : mean) one /= static_cast<double>(queries);
  return mean;
}

RestoreStatistics::RestoreStatistics(const ImportanceModel& model, const Identification& options,
                                     int64_t layers, uint64_t seed)
    : options_(options), fallback_of_(seed, "importance.fallback"), levels_(kGrid) {
  KVCAP_CHECK(layers >= 1);
  const std::vector<Sums>& grid = sample_grid(model, options, kRanks, seed);
  for (std::size_t i = 0; i < kGrid; ++i) integrate(grid[i].important, levels_[i]);
  const double threshold = similarity_threshold(options);
  const double span = model.common_share_first - model.common_share_last;
  for (int64_t layer = 0; layer < layers; ++layer) {
    const double r = model.common_share(layer, layers);
    const double place = span == 0 ? 0 : (r - model.common_share_last) / span * (kGrid - 1);
    const std::size_t below = std::min(static_cast<std::size_t>(place), kGrid - 2);
    const double part = place - static_cast<double>(below);
    jaccard_.push_back(std::lerp(grid[below].jaccard, grid[below + 1].jaccard, part) / kSampledSets);
    adjacent_recall_ += std::lerp(grid[below].adjacent_recall, grid[below + 1].adjacent_recall, part) /
                        kSampledQueries / static_cast<double>(layers);
    if (jaccard_.back() < threshold) continue;
    levels_[below].layers += 1 - part;
    levels_[below + 1].layers += part;
  }
}

void RestoreStatistics::integrate(const std::vector<double>& important, Level& level) {
  constexpr double kDrawn = kSampledSets * kSampledTokens / kRanks;
  level.important.assign(1, 0);
  level.none_log.assign(1, 0);
  for (double count : important) {
    // Counts at most kDrawn - 0.5 tokens, so that log(1 - p) is finite.
    const double probability = std::min(count, kDrawn - 0.5) / kDrawn;
    level.important.push_back(level.important.back() + count / kDrawn / kRanks);
    level.none_log.push_back(level.none_log.back() + std::log1p(-probability) / kRanks);
  }
}

double RestoreStatistics::mean_jaccard() const {
  return std::accumulate(jaccard_.begin(), jaccard_.end(), 0.0) / static_cast<double>(jaccard_.size());
}

// Returns the probability that a layer falls back. Near the threshold heads choose almost independently: the
// intersection of two sets is hypergeometric with variance n p^2 (1 - p)^2, and dJ/dI = (1 + J)^2 / 2k. The
// pairs of heads are treated as independent.
double RestoreStatistics::fallback_probability(double jaccard, int64_t tokens) const {
  const auto heads = static_cast<double>(options_.probe_heads);
  const double threshold = similarity_threshold(options_);
  if (options_.probe_heads < 2) return 0;
  const double deviation = (1 + threshold) * (1 + threshold) * (1 - options_.retention) / 2 /
                           std::sqrt(static_cast<double>(tokens) * heads * (heads - 1) / 2);
  return deviation == 0 ? jaccard < threshold : normal_cdf((threshold - jaccard) / deviation);
}

double RestoreStatistics::mean_fallback_layers(int64_t tokens) const {
  double sum = 0;
  for (double jaccard : jaccard_) sum += fallback_probability(jaccard, tokens);
  return sum;
}

int64_t RestoreStatistics::fallback_layers(int64_t tokens, uint64_t query) const {
  int64_t count = 0;
  for (std::size_t layer = 0; layer < jaccard_.size(); ++layer) {
    count += fallback_of_.uniform(query, layer) < fallback_probability(jaccard_[layer], tokens);
  }
  return count;
}

ChunkUse RestoreStatistics::chunk(int64_t node_tokens, int64_t first_token, int64_t tokens,
                                  bool reordered) const {
  KVCAP_CHECK(first_token >= 0 && tokens >= 1 && first_token + tokens <= node_tokens);
  ChunkUse use{.tokens = tokens};
  const auto all = static_cast<double>(node_tokens);
  const double unordered = options_.retention * static_cast<double>(tokens);
  if (!reordered) {
    use.important_tokens = unordered;
    use.touched = 1 - std::pow(1 - options_.retention, static_cast<double>(tokens));
    return use;
  }
  // Interpolates linearly between the points of the integrals.
  const auto until = [&](const std::vector<double>& integral, int64_t token) {
    const double place = static_cast<double>(token) / all * kRanks;
    const auto below = static_cast<std::size_t>(std::min<double>(place, kRanks - 1));
    return all * std::lerp(integral[below], integral[below + 1], place - static_cast<double>(below));
  };
  const auto within = [&](const std::vector<double>& integral) {
    return until(integral, first_token + tokens) - until(integral, first_token);
  };
  double layers = 0;
  for (const Level& level : levels_) {
    if (level.layers == 0) continue;
    use.important_tokens += level.layers * within(level.important);
    use.touched += level.layers * -std::expm1(within(level.none_log));
    layers += level.layers;
  }
  use.important_tokens = layers == 0 ? unordered : use.important_tokens / layers;
  use.touched = layers == 0 ? 1 : use.touched / layers;
  return use;
}

std::vector<ChunkUse> RestoreStatistics::chunks(int64_t node_tokens, int64_t chunk_tokens,
                                                bool reordered) const {
  KVCAP_CHECK(node_tokens >= 1 && chunk_tokens >= 1);
  std::vector<ChunkUse> chunks;
  for (int64_t first = 0; first < node_tokens; first += chunk_tokens) {
    chunks.push_back(chunk(node_tokens, first, std::min(chunk_tokens, node_tokens - first), reordered));
  }
  return chunks;
}

}  // namespace kvcap
