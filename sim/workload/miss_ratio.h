// Computes the miss-ratio curve of LRU in one pass over a workload (Mattson et al., 1970): an LRU cache hits
// a text iff its capacity is at least the text's stack distance, so one pass gives all capacities.
#pragma once

#include <cstdint>
#include <vector>

namespace kvcap {

// One hit in a store that keeps everything.
struct StackFind {
  int64_t distance_tokens = 0;  // tokens of all texts used since the last use, including the text itself
  int64_t tokens = 0;           // prompt tokens that hit
};

struct MissRatioPoint {
  int64_t capacity_tokens = 0;
  double token_miss_ratio = 0;  // prompt tokens that miss in LRU of this capacity / all prompt tokens
};

inline constexpr int kMissRatioPoints = 50;

// Returns the curve at up to kMissRatioPoints capacities in ascending order, evenly spaced on a logarithmic
// scale from the smallest to the largest distance. The last point has the miss ratio of a store that keeps
// everything. Returns an empty curve if there are no hits.
std::vector<MissRatioPoint> miss_ratio_curve(std::vector<StackFind> found, int64_t prompt_tokens);

}  // namespace kvcap
