#include "run/lone_restore.h"

#include <algorithm>
#include <vector>

#include "engine/step_time.h"
#include "run/engine_memory.h"

namespace kvcap {

void make_room(const StoredContexts& contexts, Tier tier, Scenario& scenario) {
  scenario.policy.tiers = {{.kind = tier}};
  ServingOptions& serving = scenario.serving;
  serving.max_model_len = std::max(serving.max_model_len.value_or(scenario.model.max_position_embeddings),
                                   contexts.tokens + contexts.new_tokens + 1);
  serving.allow_impossible = true;
  serving.kv_capacity_tokens = roomy_kv_capacity_tokens(scenario, contexts.count, *serving.max_model_len);
}

namespace {

// Returns the seconds of the step that computes the new tokens after a context on the GPU. An engine may
// compute a single new token as a decode.
double new_tokens_s(const Machine& machine, const ServingOptions& serving, const StoredContexts& contexts) {
  const StepTime step_time(machine.cost(), {}, serving);
  std::vector<PrefillChunk> chunks;
  Decodes decodes;
  step_time.add_slice(contexts.new_tokens, contexts.tokens, chunks, decodes);
  return chunks.empty() ? step_time.mixed_s(chunks, decodes, 1) : machine.cost().prefill_s(chunks.front());
}

}  // namespace

LoneRestore lone_restore(const Machine& machine, const ServingOptions& serving,
                         const StoredContexts& contexts, Tier tier) {
  const CostModel& cost = machine.cost();
  const Policy& policy = machine.policy();
  LoneRestore alone{.prefill_s = new_tokens_s(machine, serving, contexts)};
  if (policy.traits().reuse == Reuse::everything) return alone;
  if (policy.traits().reuse == Reuse::stored) {
    const Hit hit{.tier = tier, .tokens = contexts.tokens};
    Context context{.history_tokens = contexts.tokens, .new_tokens = contexts.new_tokens};
    context.use[index(tier)] = policy.use({contexts.tokens, 0, contexts.tokens});
    alone.restoration = policy.restore(context, {&hit, 1}, machine.idle_rates());
  }
  if (alone.restoration.empty()) {
    alone.restore_s = cost.prefill_s({contexts.tokens + contexts.new_tokens, 0}) - alone.prefill_s;
  } else {
    const double makespan = makespan_s(alone.restoration, machine.idle_rates());
    alone.restore_s = makespan - (alone.restoration.fused ? alone.prefill_s : 0);
  }
  return alone;
}

}  // namespace kvcap
