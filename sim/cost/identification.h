// Identification: which tokens of a stored prefix one query needs, found from the keys of a few heads
// (HyperInfer, IV-B).
//
// The importance of a token for a query is the sum of its column of attention weights. Of the n tokens of a
// prefix only the k = retention n most important ones are loaded and used. Attention weights need keys; to
// read all of them would save little. So the keys of P probe heads are read first, and the k most important
// tokens of each are compared. With s the mean Jaccard index of the pairs of probe heads,
//
//   s >= t:  all heads take the k tokens with most votes     P n + 2 k h vectors
//   s <  t:  the layer falls back: the other heads' keys are
//            read too and every head keeps its own k tokens    h n + k h vectors
//
//   t = j^alpha,  j = (k/n) / (2 - k/n)   the index of two sets that are drawn at random
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
  int64_t probe_heads = 3;  // P, stored a second time on their own
  double alpha = 0.6;       // smaller: a higher threshold, more layers fall back
};

// k, rounded, at least 1. REQUIRES: tokens >= 1.
int64_t important_tokens(double retention, int64_t tokens);
double random_jaccard(double retention);                     // j
double similarity_threshold(const Identification& options);  // t

// Key and value vectors that one layer reads for a query. Probe heads' keys of important tokens count twice,
// as in Fig. 9: once among the probes and once with the other heads'.
int64_t vectors_with_probes(int64_t tokens, int64_t important, int64_t heads, int64_t probe_heads);
int64_t vectors_with_all_keys(int64_t tokens, int64_t important, int64_t heads);

// Marks the `count` largest values; among equal ones the first.
std::vector<uint8_t> largest(std::span<const double> values, int64_t count);

struct ImportantSet {
  double jaccard = 0;           // s; 1 for a single probe head
  std::vector<uint8_t> chosen;  // 1 for the k tokens with most votes, ties by mean importance
};
// `importance`: one row of tokens for each probe head.
ImportantSet identify(std::span<const double> importance, int64_t probe_heads, int64_t important);

// What a chunk of keys or values is worth in a cache (IV-D2): the frequency of its use times the moving mean
// of the share of its tokens that were important. The paper does not say how many uses the mean covers;
// assumed: the last 16, weighted exponentially, as many as reordering looks back on.
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
