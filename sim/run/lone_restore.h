// The restoration of one context on an idle machine, in closed form.
#pragma once

#include "run/machine.h"
#include "scenario/scenario.h"
#include "workload/generators/stored_contexts.h"

namespace kvcap {

// Makes room for the contexts: all lie in `tier`, and the longest sequence and the memory for KV suffice,
// even if the GPU's memory does not.
void make_room(const StoredContexts& contexts, Tier tier, Scenario& scenario);

struct LoneRestore {
  Restoration restoration;  // empty: the context is computed, or nothing is to be done
  double restore_s = 0;     // without the new tokens
  double prefill_s = 0;     // of the new tokens
};
// Returns the restoration of one of the contexts, which lies in `tier`.
LoneRestore lone_restore(const Machine& machine, const StoredContexts& contexts, Tier tier);

}  // namespace kvcap
