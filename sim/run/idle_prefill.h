// Duration of a prefill on an idle engine: the baseline for the cost of sharing steps with other requests
// (batching).
#pragma once

#include "run/machine.h"

namespace kvcap {

// Returns the seconds from the first step of `chunk` to its first token without other requests: steps of the
// whole token budget, including host time and saves. A completely cached prompt computes one token.
double idle_prefill_s(const Machine& machine, const ServingOptions& serving, PrefillChunk chunk);

}  // namespace kvcap
