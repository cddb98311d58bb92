// The miss-ratio curve of LRU in one pass over a workload (Mattson et al., 1970): what was last used a stack
// distance ago is found from a capacity of that distance on, so that one pass gives every capacity.
#pragma once

#include <cstdint>
#include <vector>

namespace kvcap {

// Something that a request finds in a store that keeps everything.
struct StackFind {
  int64_t distance_tokens = 0;  // of all that was used since, itself included
  int64_t tokens = 0;           // of the prompt
};

struct MissRatioPoint {
  int64_t capacity_tokens = 0;
  double token_miss_ratio = 0;  // prompt tokens that LRU of this capacity does not find / all prompt tokens
};

inline constexpr int kMissRatioPoints = 50;

// At most kMissRatioPoints capacities, ascending, evenly spaced in their logarithm from the least distance to
// the greatest, where the curve ends at the ratio of a store that keeps everything. Empty where nothing is
// found.
std::vector<MissRatioPoint> miss_ratio_curve(std::vector<StackFind> found, int64_t prompt_tokens);

}  // namespace kvcap
