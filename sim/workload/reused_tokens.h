// What a workload uses again, and how much it uses in between: LRU of a capacity of this stack distance finds
// it (Mattson et al., 1970). One pass gives the hits of stores of every size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "workload/workload.h"

namespace kvcap {

// One use of a context, or of a piece of a prompt, that was used before.
struct ReusedTokens {
  int64_t distance_tokens = 0;  // of all that was used since then, itself included
  int64_t tokens = 0;           // that lie there
  double idle_s = 0;            // since then
};

struct ReuseOptions {
  bool by_prefix = true;  // a piece counts as the same only behind the same pieces
  int64_t max_context_tokens = std::numeric_limits<int64_t>::max();  // longer contexts are truncated to it
  std::size_t max_turns = 200'000;
};

// Turns are taken at their arrivals, as if every answer took no time. In a warm start all contexts were used
// before, those of the first sessions last, as the store is filled then.
//
// Of a workload with more than max_turns turns a part is followed: where every session has a context of its
// own, a random sample of the sessions, with distances scaled up to all of them (SHARDS, FAST '15); where
// sessions share documents or pieces, the first sessions.
std::vector<ReusedTokens> reused_tokens(const Workload& workload, const ReuseOptions& options = {});

}  // namespace kvcap
