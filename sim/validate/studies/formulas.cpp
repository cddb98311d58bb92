#include "validate/studies/formulas.h"

#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "cost/identification.h"
#include "cost/importance.h"
#include "policy/blend.h"
#include "workload/generators/named_workloads.h"

namespace kvcap {
namespace {

int64_t whole(double number) { return std::llround(number); }

// ---- HyperInfer: vectors read, and the model of importance (cost/importance.h) ----

double all_keys(double tokens, double important, double heads) {
  return static_cast<double>(vectors_with_all_keys(whole(tokens), whole(important), whole(heads)));
}
double with_probes(double tokens, double important, double heads, double probe_heads) {
  return static_cast<double>(
      vectors_with_probes(whole(tokens), whole(important), whole(heads), whole(probe_heads)));
}
double threshold(double retention) { return similarity_threshold({.retention = retention}); }

RestoreStatistics statistics(double retention, double layers) {
  return {ImportanceModel{}, {.retention = retention}, whole(layers), 1};
}
double jaccard(double retention, double layers) { return statistics(retention, layers).mean_jaccard(); }
// Returns the recall of a fixed set of tokens: the share of a query's important tokens that are among the
// tokens with the highest mean importance over all queries.
double fixed_set_recall(double retention, double layers) {
  constexpr int64_t kTokens = 4096;
  const double important = retention * kTokens;
  return statistics(retention, layers).chunk(kTokens, 0, whole(important), true).important_tokens / important;
}
double fallback_share(double retention, double layers) {
  constexpr int64_t kTokens = 5000;
  return statistics(retention, layers).mean_fallback_layers(kTokens) / layers;
}

// Returns the score of a chunk after it was used `uses` times, each time with this share of important tokens.
double score(double uses, double important_share) {
  ChunkScore chunk;
  for (int64_t i = 0; i < whole(uses); ++i) chunk.use(important_share);
  return chunk.value();
}

// ---- curves ----

// log_crossing(y, x1, y1, x2, y2, ...): returns the x at which a curve through the points reaches y, where
// log y is linear between points; NaN outside the points.
double log_crossing(const double* arguments, int count) {
  const double target = arguments[0];
  for (int i = 1; i + 3 < count; i += 2) {
    const double low_x = arguments[i], low = arguments[i + 1];
    const double high_x = arguments[i + 2], high = arguments[i + 3];
    if (!(low <= target && target <= high)) continue;
    return low_x + std::log(target / low) / std::log(high / low) * (high_x - low_x);
  }
  return std::nan("");
}

// ---- caches of `items` with Zipf popularities under independent references ----

// Returns the t > 0 at which the increasing function `of` reaches `level`.
double solve(double level, const std::function<double(double)>& of) {
  double low = 0, high = 1;
  while (of(high) < level) high *= 2;
  while (true) {
    const double middle = 0.5 * (low + high);
    if (middle <= low || middle >= high) return middle;
    (of(middle) < level ? low : high) = middle;
  }
}

// Returns the hit rate of a cache that contains item i with probability stored(p_i T), where T is chosen so
// that the cache contains `places` items.
double characteristic_hit_rate(double items, double alpha, double places, double (*stored)(double)) {
  if (!(places > 0 && places < items)) return std::nan("");
  const std::vector<double> popularity = zipf(static_cast<std::size_t>(items), alpha);
  const auto sum = [&](double t, auto weight) {
    return std::accumulate(popularity.begin(), popularity.end(), 0.0,
                           [&](double so_far, double p) { return so_far + weight(p) * stored(p * t); });
  };
  const double t = solve(places, [&](double at) { return sum(at, [](double) { return 1.0; }); });
  return sum(t, [](double p) { return p; });
}
// LRU by Che's approximation: an item stays for a time T, counted in references, that solves sum (1 -
// exp(-p_i T)) = places (Che, Tung, Wang 2002; asymptotically exact: Fricker, Robert, Roberts 2012).
double lru_hit_rate(double items, double alpha, double places) {
  return characteristic_hit_rate(items, alpha, places, [](double pt) { return -std::expm1(-pt); });
}
// FIFO by the same approximation, where an item stays for a time T whether or not it is used: sum p_i T / (1
// + p_i T) = places (Martina, Garetto, Leonardi 2014; FIFO has the hit rate of RANDOM: Gelenbe 1973).
double fifo_hit_rate(double items, double alpha, double places) {
  return characteristic_hit_rate(items, alpha, places, [](double pt) { return pt / (1 + pt); });
}
// Returns the exact hit rate of a cache in which items expire after ttl_s without use, for references from a
// Poisson process with rate `rate`.
double ttl_hit_rate(double items, double alpha, double rate, double ttl_s) {
  double hits = 0;
  for (const double p : zipf(static_cast<std::size_t>(items), alpha))
    hits -= p * std::expm1(-p * rate * ttl_s);
  return hits;
}

}  // namespace

std::span<const Formula> formulas() {
  static const Formula kFormulas[] = {{"vectors_with_all_keys", all_keys},
                                      {"vectors_with_probes", with_probes},
                                      {"similarity_threshold", threshold},
                                      {"importance_jaccard", jaccard},
                                      {"importance_fixed_set_recall", fixed_set_recall},
                                      {"importance_fallback_share", fallback_share},
                                      {"chunk_score", score},
                                      {"controlled_ratio", controlled_ratio},
                                      {"log_crossing", log_crossing},
                                      {"lru_hit_rate", lru_hit_rate},
                                      {"fifo_hit_rate", fifo_hit_rate},
                                      {"ttl_hit_rate", ttl_hit_rate}};
  return kFormulas;
}

}  // namespace kvcap
