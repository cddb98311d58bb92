// Lists the reuses of a workload with their LRU stack distances (Mattson et al., 1970): an LRU store hits iff
// its capacity is at least the distance, so one pass gives the hits of stores of any size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "workload/workload.h"

namespace kvcap {

// One reuse of a context or of a piece of a prompt.
struct ReusedTokens {
  int64_t distance_tokens = 0;  // tokens of all texts used since the last use, including the text itself
  int64_t tokens = 0;           // tokens of the reused text
  double idle_s = 0;            // seconds since the last use
};

struct ReuseOptions {
  bool by_prefix = true;  // a piece is reused only if all pieces before it are the same
  int64_t max_context_tokens = std::numeric_limits<int64_t>::max();  // longer contexts are truncated
  std::size_t max_turns = 200'000;
};

// Returns all reuses. Turns are processed in the order of arrival, as if answers took no time. With a warm
// start, all contexts count as used before the run, the contexts of the first sessions most recently.
//
// Workloads with more than max_turns turns are sampled: if every session has a context of its own, a random
// sample of sessions is used and distances are scaled up (SHARDS, FAST '15); if sessions share documents or
// pieces, the first sessions are used.
std::vector<ReusedTokens> reused_tokens(const Workload& workload, const ReuseOptions& options = {});

}  // namespace kvcap
