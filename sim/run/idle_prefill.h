// A prefill in an idle engine: the yardstick for what sharing steps with other requests costs (batching).
#pragma once

#include "run/machine.h"

namespace kvcap {

// Seconds from the first step that computes `chunk` to its first token, when nobody else is there: steps of
// the whole token budget, each as long as the engine takes for it, the host and saving included. A prompt
// that was found as a whole computes one token.
double idle_prefill_s(const Machine& machine, const ServingOptions& serving, PrefillChunk chunk);

}  // namespace kvcap
