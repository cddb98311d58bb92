// Merges the records of model calls into the records of the turns that made them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "metrics/result.h"

namespace kvcap {

// The turn that a call belongs to. Each call is the only turn of its own session.
struct CallOfTurn {
  uint32_t asked_session = 0;  // session of the turn, in the workload as given
  bool answers = false;        // the call's output is the turn's answer
  uint32_t output_tokens = 0;  // output tokens of the turn's answer
  bool warmup = false;
};

// Returns one record per turn, under the turn's session. Tokens (prompt, hits) are sums over the turn's
// calls. The turn's first token is that of the answering call, or the end of the last call if none answers.
// Service begins when the first call is admitted. The restoration is taken from the call, other than the
// answering one, that ends last. A turn is rejected if one of its calls is rejected, otherwise failed if one
// of them failed; abandoned attempts of calls count as queueing.
std::vector<TurnRecord> merged_calls(const std::vector<TurnRecord>& records,
                                     std::span<const CallOfTurn> of_session);

}  // namespace kvcap
