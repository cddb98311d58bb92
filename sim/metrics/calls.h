// Merges the records of model calls into the records of the turns that made these calls.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "metrics/result.h"

namespace kvcap {

// The turn that a call belongs to. In the simulation, each call is the only turn of a session of its own.
struct CallOfTurn {
  uint32_t asked_session = 0;  // session of the turn, in the workload as given
  bool answers = false;        // the call's output is the turn's answer
  uint32_t output_tokens = 0;  // output tokens of the turn's answer
  bool warmup = false;
};

// Returns one record per turn, with the session of the turn.
//
// - Prompt and hit tokens are sums over the calls of the turn.
// - The first token of the turn is that of the answering call; if no call answers, the end of the last call.
// - Service begins when the first call is admitted.
// - The times of the restoration are those of the call that ends last among the calls that do not answer; if
//   there is no such call, those of the answering call.
// - A turn is rejected if one of its calls is rejected, otherwise failed if one of its calls failed.
// - Abandoned attempts of calls count as queueing.
std::vector<TurnRecord> merged_calls(const std::vector<TurnRecord>& records,
                                     std::span<const CallOfTurn> of_session);

}  // namespace kvcap
