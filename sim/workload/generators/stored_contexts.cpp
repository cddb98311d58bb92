#include "workload/generators/stored_contexts.h"

namespace kvcap {

Workload requests_at_once(const StoredContexts& contexts) {
  Workload workload;
  workload.warm_start = true;
  workload.contexts_lead = false;
  for (int64_t i = 0; i < contexts.count; ++i) {
    workload.sessions.push_back({.first_turn = static_cast<uint32_t>(i),
                                 .turn_count = 1,
                                 .context_tokens = static_cast<uint32_t>(contexts.tokens),
                                 .history_grows = contexts.tokens == 0});
    workload.turns.push_back({.input_tokens = static_cast<uint32_t>(contexts.new_tokens),
                              .output_tokens = static_cast<uint32_t>(contexts.output_tokens)});
  }
  return workload;
}

}  // namespace kvcap
