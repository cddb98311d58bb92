// The number of chunks per query of the generator `rag`, whether it is given or a default.
#pragma once

#include <cstdint>

#include "workload/options.h"

namespace kvcap {

// Returns how many chunks each query retrieves.
int64_t rag_chunks(const SourceOptions& options);

}  // namespace kvcap
