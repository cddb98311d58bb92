// Turns that a model's window cannot hold: they lose a part of their prompt, or are refused. A workload that
// was misread, with its histories counted twice, shows here first.
#pragma once

#include <cstdint>
#include <string>

#include "workload/workload.h"

namespace kvcap {

struct LongTurns {
  int64_t count = 0;           // with more than the window's tokens in prompt and answer, nothing truncated
  int64_t longest_tokens = 0;  // of all turns
};
LongTurns turns_beyond(const Workload& workload, int64_t window_tokens);

// What a user has to know of them; empty where there is none.
std::string note_on_long_turns(const Workload& workload, int64_t window_tokens);

}  // namespace kvcap
