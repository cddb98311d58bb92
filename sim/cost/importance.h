// ImportanceModel: a statistical model of how much a query attends to each token of a stored prefix. The
// simulator does not compute attention, so importance is drawn. For layer l, query q, head h and token i
//
//   z = sqrt(r_l) (sqrt(kappa) S[l,i] + sqrt(1 - kappa) G[l,q,i] + a B[q,i]) + sqrt(1 - r_l) T[l,h,q,i]
//
//   S  importance for every query      standard normal, AR(1) over layers with psi
//   G  importance for this query       standard normal, AR(1) over layers with psi
//   B  content that the query needs    1 with probability u, else 0
//   T  deviation of one head           Student's t with nu degrees of freedom, variance 1
//   r_l  part common to all heads: r0 up to depth lb, from there linear to r1 at the last layer
//
// The parameters are fitted to HyperInfer's figures of real models (4, 5a, 8, 20, 21); the paper has no such
// model. tests/unit/cost/importance_test.cpp shows the results for OPT-30B's shape and their accuracy.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "cost/identification.h"

namespace kvcap {

struct ImportanceModel {
  double common_share_first = 0.831;  // r0
  double common_share_last = 0.20;    // r1
  double decline_depth = 0.70;        // lb, share of the layers
  double head_freedom = 2.5;          // nu, above 2
  double stable_share = 0.97;         // kappa
  double asked_probability = 0.02;    // u
  double asked_importance = 2.0;      // a
  double layer_correlation = 0.95;    // psi

  // Returns r_l. REQUIRES: 0 <= layer < layers.
  double common_share(int64_t layer, int64_t layers) const;
  bool operator==(const ImportanceModel&) const = default;
};

// Draws importance from the model, layer by layer; used by tests and by RestoreStatistics.
class ImportanceDraws {
 public:
  struct Shape {
    int64_t queries = 0;
    int64_t heads = 0;
    int64_t tokens = 0;
  };
  ImportanceDraws(const ImportanceModel& model, Shape shape, uint64_t seed);

  // Draws the next layer, starting with layer 0. The draws do not depend on r_l.
  void next_layer();
  // Returns z of one query for the given r_l, one row of tokens per head. Valid until the next call.
  std::span<const double> importance(int64_t query, double common_share);
  // Returns the value by which tokens are reordered: for each token, the mean over the first `queries`
  // queries of min(mean over heads, 3). The bound exists because attention weights are bounded and the
  // model's tails are not.
  std::vector<double> mean_importance(int64_t queries, double common_share);

 private:
  ImportanceModel model_;
  Shape shape_;
  RandomStream stable_of_, query_of_, asked_of_, head_of_;
  int64_t layer_ = -1;
  std::vector<double> stable_;          // S: tokens
  std::vector<double> query_, common_;  // G, and the sum that sqrt(r_l) multiplies: queries x tokens
  std::vector<double> head_;            // T: queries x heads x tokens
  std::vector<double> row_;             // z: heads x tokens
};

// How one query uses a chunk of a radix node, averaged over the layers that do not fall back (if all do,
// every chunk is touched).
struct ChunkUse {
  int64_t tokens = 0;           // less than a whole chunk only at the node's end
  double important_tokens = 0;  // expected
  double touched = 0;           // probability that at least one token is important
};

// RestoreStatistics: gives the cost of restoring a prefix without drawing its tokens, from statistics of the
// model for one retention and number of layers. Layers differ only in r_l, so draws of a few thousand tokens
// at two layers serve all layers: for each value of r_l in a grid, the chosen set gives s, the recall of
// prefetching from the previous layer, and the probability of importance by rank of mean importance. Layers
// are interpolated between grid points. This is exact in the limit of many tokens. Drawing takes about 60 ms;
// after that, a prefix takes microseconds. Draws are cached by their arguments.
class RestoreStatistics {
 public:
  RestoreStatistics(const ImportanceModel& model, const Identification& options, int64_t layers,
                    uint64_t seed);

  // Returns the Jaccard index s of the probe heads, averaged over layers.
  double mean_jaccard() const;
  // Return how many layers fall back to all keys for a prefix of `tokens` tokens: the mean, and the number
  // for one query. These are the last layers, where heads agree least. In a layer that falls back every chunk
  // is touched.
  double mean_fallback_layers(int64_t tokens) const;
  int64_t fallback_layers(int64_t tokens, uint64_t query) const;
  // Returns the share of a layer's important tokens that are also important at the layer before.
  double adjacent_recall() const { return adjacent_recall_; }
  // Returns the use of a chunk of a radix node: `tokens` tokens from `first_token` on in stored order.
  // `reordered`: by mean importance, the most important first; else in the order of the text.
  ChunkUse chunk(int64_t node_tokens, int64_t first_token, int64_t tokens, bool reordered) const;
  // Returns the use of all chunks of a node, in order.
  std::vector<ChunkUse> chunks(int64_t node_tokens, int64_t chunk_tokens, bool reordered) const;

 private:
  static constexpr int64_t kRanks = 64;
  // One value of r_l in the grid: the number of layers there that do not fall back, and the integrals from
  // rank 0 to rank i / kRanks of the probability p of importance and of log(1 - p).
  struct Level {
    double layers = 0;
    std::vector<double> important, none_log;
  };
  static void integrate(const std::vector<double>& important, Level& level);
  double fallback_probability(double jaccard, int64_t tokens) const;

  Identification options_;
  RandomStream fallback_of_;
  std::vector<double> jaccard_;  // s per layer
  double adjacent_recall_ = 0;
  std::vector<Level> levels_;
};

}  // namespace kvcap
