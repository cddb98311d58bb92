// Derived options of the generator `rag`.
#pragma once

#include <cstdint>

#include "workload/options.h"

namespace kvcap {

// Returns the number of chunks that a query retrieves.
int64_t rag_chunks(const SourceOptions& options);

}  // namespace kvcap
