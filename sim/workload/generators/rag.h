// What the generator `rag` makes of its options.
#pragma once

#include <cstdint>

#include "workload/options.h"

namespace kvcap {

// How many chunks a query retrieves.
int64_t rag_chunks(const SourceOptions& options);

}  // namespace kvcap
