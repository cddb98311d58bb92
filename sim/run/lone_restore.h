// Computes the restoration of one context on an idle machine in closed form.
#pragma once

#include "run/machine.h"
#include "scenario/scenario.h"
#include "workload/generators/stored_contexts.h"

namespace kvcap {

// Changes the scenario so that the contexts fit: `tier` is the only tier, and the longest sequence and the KV
// capacity are sufficient even if the GPU's memory is not.
void make_room(const StoredContexts& contexts, Tier tier, Scenario& scenario);

struct LoneRestore {
  Restoration restoration;  // empty if the context is recomputed or is already on the GPU
  double restore_s = 0;     // not including the prefill of the new tokens
  double prefill_s = 0;     // prefill of the new tokens by an engine that holds the context
};
// Returns the restoration of one of the contexts from `tier`.
LoneRestore lone_restore(const Machine& machine, const ServingOptions& serving,
                         const StoredContexts& contexts, Tier tier);

}  // namespace kvcap
