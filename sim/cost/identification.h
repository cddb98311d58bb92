// Identification: finds the tokens of a stored prefix that a query needs, from the keys of a few heads
// (HyperInfer, IV-B).
//
// The importance of a token for a query is the sum of its column of attention weights. Only the k = retention
// n most important of the n tokens of a prefix are loaded and used. Attention weights need keys, and reading
// all keys would save little. Therefore the keys of P probe heads are read first, and the k most important
// tokens of each are compared. With s the mean Jaccard index over pairs of probe heads,
//
//   s >= t:  all heads use the k tokens with the most votes   P n + 2 k h vectors
//   s <  t:  the layer falls back: the other heads' keys are
//            read too and every head uses its own k tokens    h n + k h vectors
//
//   t = j^alpha,  j = (k/n) / (2 - k/n)   the index of two random sets
//
// A vector is one head's key or value of one token at one layer; h counts heads that store keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kvcap {

struct Identification {
  double retention = 0.25;  // k/n, above 0 and at most 1
  int64_t probe_heads = 3;  // P; their keys are stored a second time, separately
  double alpha = 0.6;       // smaller: a higher threshold, more layers fall back
};

// Returns k, rounded, at least 1. REQUIRES: tokens >= 1.
int64_t important_tokens(double retention, int64_t tokens);
double random_jaccard(double retention);                     // j
double similarity_threshold(const Identification& options);  // t

// Return how many key and value vectors one layer reads for a query. Probe heads' keys of important tokens
// count twice, as in Fig. 9: once among the probes and once with the other heads' keys.
int64_t vectors_with_probes(int64_t tokens, int64_t important, int64_t heads, int64_t probe_heads);
int64_t vectors_with_all_keys(int64_t tokens, int64_t important, int64_t heads);

// Marks the `count` largest values; ties go to the lower index.
std::vector<uint8_t> largest(std::span<const double> values, int64_t count);

struct ImportantSet {
  double jaccard = 0;           // s; 1 for a single probe head
  std::vector<uint8_t> chosen;  // 1 for the k tokens with the most votes; mean importance decides ties
};
// Returns the important set of one query. `importance`: one row of tokens per probe head.
ImportantSet identify(std::span<const double> importance, int64_t probe_heads, int64_t important);

// ChunkScore: the value of a chunk of keys or values in a cache (IV-D2): the number of its uses times the
// moving mean of the share of its tokens that were important. The paper does not state the length of the
// moving mean. It is assumed to be 16 uses, weighted exponentially; reordering also takes 16 queries into
// account.
class ChunkScore {
 public:
  void use(double important_share);
  double value() const { return static_cast<double>(uses_) * important_share_; }
  double important_share() const { return important_share_; }

 private:
  int64_t uses_ = 0;
  double important_share_ = 0;
};

inline constexpr int64_t kRememberedQueries = 16;

}  // namespace kvcap
