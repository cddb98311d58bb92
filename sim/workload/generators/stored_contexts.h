// Requests that arrive together, each on top of a stored context of its own: what restoring is measured with,
// where no trace is asked for.
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

// One session of one turn a context, all at time 0; contexts lie in the store before.
Workload requests_at_once(const StoredContexts& contexts);

}  // namespace kvcap
