#include "validate/studies/formulas.h"

#include <cmath>

#include "cost/identification.h"
#include "cost/importance.h"
#include "policy/blend.h"

namespace kvcap {
namespace {

int64_t whole(double number) { return std::llround(number); }

// ---- HyperInfer: vectors that are read, and the model of importance (cost/importance.h) ----

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
// Of a query's important tokens, those that are important in the mean of all.
double fixed_set_recall(double retention, double layers) {
  constexpr int64_t kTokens = 4096;
  const double important = retention * kTokens;
  return statistics(retention, layers).chunk(kTokens, 0, whole(important), true).important_tokens / important;
}
double fallback_share(double retention, double layers) {
  constexpr int64_t kTokens = 5000;
  return statistics(retention, layers).mean_fallback_layers(kTokens) / layers;
}

// Of a chunk of which a share is important, after some uses.
double score(double uses, double important_share) {
  ChunkScore chunk;
  for (int64_t i = 0; i < whole(uses); ++i) chunk.use(important_share);
  return chunk.value();
}

// ---- curves ----

// log_crossing(y, x1, y1, x2, y2, ...): where a curve through the points reaches y, a straight line of its
// logarithm between two of them; NaN outside of all.
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
                                      {"log_crossing", log_crossing}};
  return kFormulas;
}

}  // namespace kvcap
