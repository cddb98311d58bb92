// Turns that take several calls of the model: records of calls in, records of turns out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "metrics/result.h"

namespace kvcap {

// Whose call the only turn of a session is.
struct CallOfTurn {
  uint32_t asked_session = 0;  // as sessions were before they were divided
  bool answers = false;        // what it generates is the turn's answer
  uint32_t output_tokens = 0;  // of the turn's answer
  bool warmup = false;
};

// One record a turn, under its own session. What was computed and found are the sums over its calls. Its
// first token is that of the call that answers, or where none does the end of the last call; it is served
// from the first admission of a call. Its restoration is that of the call that ended last, the answering one
// left out. A turn is rejected when one of its calls is,
// and else failed when one is; what clients of calls did before counts as queueing.
std::vector<TurnRecord> merged_calls(const std::vector<TurnRecord>& records,
                                     std::span<const CallOfTurn> of_session);

}  // namespace kvcap
