// Counts the turns that exceed a model's window and are therefore truncated or rejected. Such turns are the
// first sign of a misread workload in which histories count twice.
#pragma once

#include <cstdint>
#include <string>

#include "workload/workload.h"

namespace kvcap {

struct LongTurns {
  int64_t count = 0;  // turns with more tokens in prompt and answer than the window, before truncation
  int64_t longest_tokens = 0;  // over all turns
};
LongTurns turns_beyond(const Workload& workload, int64_t window_tokens);

// Returns a note for the user; empty if no turn is too long.
std::string note_on_long_turns(const Workload& workload, int64_t window_tokens);

}  // namespace kvcap
