// Builds requests that arrive together, each with its own stored context: a workload that measures
// restoration without a trace.
#pragma once

#include <cstdint>

#include "workload/workload.h"

namespace kvcap {

struct StoredContexts {
  int64_t count = 0;
  int64_t tokens = 0;
  int64_t new_tokens = 1;
  int64_t output_tokens = 1;
};

// Returns one session of one turn per context, all at time 0; the contexts are stored beforehand and stand
// for texts at any position.
Workload requests_at_once(const StoredContexts& contexts);

}  // namespace kvcap
