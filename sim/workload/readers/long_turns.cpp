#include "workload/readers/long_turns.h"

#include <algorithm>

namespace kvcap {

LongTurns turns_beyond(const Workload& workload, int64_t window_tokens) {
  LongTurns found;
  for (const Session& session : workload.sessions) {
    const std::vector<int64_t> histories = workload.histories_of(session);
    for (uint32_t i = 0; i < session.turn_count; ++i) {
      const Turn& turn = workload.turns[session.first_turn + i];
      const int64_t tokens = histories[i] + turn.input_tokens + turn.output_tokens;
      found.count += tokens > window_tokens;
      found.longest_tokens = std::max(found.longest_tokens, tokens);
    }
  }
  return found;
}

std::string note_on_long_turns(const Workload& workload, int64_t window_tokens) {
  const LongTurns found = turns_beyond(workload, window_tokens);
  if (found.count == 0) return "";
  return std::to_string(found.count) + " of " + std::to_string(workload.turns.size()) +
         " turns have more than max_model_len (" + std::to_string(window_tokens) +
         ") tokens in prompt and answer, the longest " + std::to_string(found.longest_tokens) +
         ": serving.overflow decides what happens to them (metrics.truncated, metrics.rejected)";
}

}  // namespace kvcap
