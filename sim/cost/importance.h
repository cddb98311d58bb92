// Importance: how much a query attends to each token of a stored prefix, as a statistical model. There is no
// attention in a simulator, so importance is drawn. For layer l, query q, head h and token i
//
//   z = sqrt(r_l) (sqrt(kappa) S[l,i] + sqrt(1 - kappa) G[l,q,i] + a B[q,i]) + sqrt(1 - r_l) T[l,h,q,i]
//
//   S  what the token is worth to every query    standard normal, AR(1) over layers with psi
//   G  what it is worth to this query            likewise
//   B  it holds what this query asks for         1 with probability u, else 0
//   T  what one head makes of it                 Student's t with nu degrees of freedom, variance 1
//   r_l  what heads have in common: r0 up to depth lb, from there linear to r1 at the last layer
//
// The parameters are fitted to what HyperInfer prints of real models (Figs. 4, 5a, 8, 20, 21); the paper has
// no such model. What follows for OPT-30B's shape, and how well, is in tests/unit/importance_test.cpp.
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
  double decline_depth = 0.70;        // lb, of the layers
  double head_freedom = 2.5;          // nu, above 2
  double stable_share = 0.97;         // kappa
  double asked_probability = 0.02;    // u
  double asked_importance = 2.0;      // a
  double layer_correlation = 0.95;    // psi

  // r_l of the layers 0 to layers - 1.
  double common_share(int64_t layer, int64_t layers) const;
  bool operator==(const ImportanceModel&) const = default;
};

// The model itself, layer after layer: for tests, and for the statistics below.
class ImportanceDraws {
 public:
  struct Shape {
    int64_t queries = 0;
    int64_t heads = 0;
    int64_t tokens = 0;
  };
  ImportanceDraws(const ImportanceModel& model, Shape shape, uint64_t seed);

  // Draws the next layer, first of all layer 0. Everything but r_l is in it.
  void next_layer();
  // z of one query, one row of tokens for each head, were r_l the given one. Valid until the next call.
  std::span<const double> importance(int64_t query, double common_share);
  // For each token the mean of min(mean of the heads, 3) over the first `queries` queries: by this order
  // tokens are repacked. Attention weights are bounded, the model's tails are not.
  std::vector<double> mean_importance(int64_t queries, double common_share);

 private:
  ImportanceModel model_;
  Shape shape_;
  RandomStream stable_of_, query_of_, asked_of_, head_of_;
  int64_t layer_ = -1;
  std::vector<double> stable_;          // S: tokens
  std::vector<double> query_, common_;  // G and the bracket: queries x tokens
  std::vector<double> head_;            // T: queries x heads x tokens
  std::vector<double> row_;             // z: heads x tokens
};

// A chunk of a radix node as one query uses it, in the mean over the layers that do not fall back (where all
// do, every chunk is touched).
struct ChunkUse {
  int64_t tokens = 0;           // fewer than a whole chunk only at the node's end
  double important_tokens = 0;  // expected
  double touched = 0;           // probability that at least one is important
};

// What restoring a prefix takes, without drawing its tokens: statistics of the model for one retention and
// number of layers. Layers differ only in r_l, so draws of a few thousand tokens at two layers serve all: the
// set found for each r of a grid gives s, the recall of prefetch from the layer before, and the probability
// to be important by rank in the order of mean importance; layers lie between the grid's points. In the limit
// of many tokens nothing else matters. Drawing takes some 60 ms, a prefix of any length then microseconds;
// what was drawn is remembered for whoever asks for the same.
class RestoreStatistics {
 public:
  RestoreStatistics(const ImportanceModel& model, const Identification& options, int64_t layers,
                    uint64_t seed);

  // Mean over layers of the probe heads' index s.
  double mean_jaccard() const;
  // Layers of a prefix of `tokens` tokens that fall back to all keys: their mean number, and that of one
  // query. They are the last ones, where heads have least in common. In a layer that falls back every chunk
  // is touched.
  double mean_fallback_layers(int64_t tokens) const;
  int64_t fallback_layers(int64_t tokens, uint64_t query) const;
  // Share of a layer's important tokens that are important at the layer before too.
  double adjacent_recall() const { return adjacent_recall_; }
  // A chunk of a radix node: `tokens` tokens from `first_token` on in the order in which they are stored,
  // that is, reordered by mean importance, the most important first, or as they stand in the text.
  ChunkUse chunk(int64_t node_tokens, int64_t first_token, int64_t tokens, bool reordered) const;
  // All chunks of a node, in order.
  std::vector<ChunkUse> chunks(int64_t node_tokens, int64_t chunk_tokens, bool reordered) const;

 private:
  static constexpr int64_t kRanks = 64;
  // One r of the grid: the layers there that do not fall back, and integrals from rank 0 to rank i / kRanks
  // of the probability p to be important and of log(1 - p).
  struct Level {
    double layers = 0;
    std::vector<double> important, none_log;
  };
  static void integrate(const std::vector<double>& important, Level& level);
  double fallback_probability(double jaccard, int64_t tokens) const;

  Identification options_;
  RandomStream fallback_of_;
  std::vector<double> jaccard_;  // s of each layer
  double adjacent_recall_ = 0;
  std::vector<Level> levels_;
};

}  // namespace kvcap
