#include "run/idle_prefill.h"

#include <algorithm>

#include "serving/step_time.h"

namespace kvcap {

static double drafter_s(const Machine& machine, const PrefillChunk& slice, bool decodes) {
  if (!machine.speculation()) return 0;
  if (!decodes) return machine.speculation()->drafter_s({&slice, 1}, {});
  return machine.speculation()->drafter_s({}, {.sequences = 1, .context_tokens = slice.cached_tokens + 1});
}

double idle_prefill_s(const Machine& machine, const ServingOptions& serving, PrefillChunk chunk) {
  const StepTime step_time(machine.cost(), machine.policy().traits().save_floors, serving.mixed_attention);
  const double host_s = serving.step_overhead_s + serving.step_overhead_per_sequence_s;
  const bool one_decodes = serving.one_token_slices == OneTokenSlices::decode;
  double sum_s = 0;
  for (int64_t left = std::max<int64_t>(1, chunk.new_tokens), first = chunk.cached_tokens; left > 0;) {
    const int64_t tokens = std::min(left, serving.max_num_batched_tokens);
    left -= tokens;
    const int64_t sampled = left == 0 ? 1 : 0;
    const PrefillChunk slice{tokens, first};
    first += tokens;
    double gpu_s = tokens == 1 && one_decodes ? step_time.mixed_s({}, 1, first, sampled)
                                              : step_time.mixed_s({&slice, 1}, 0, 0, sampled);
    gpu_s += drafter_s(machine, slice, tokens == 1 && one_decodes);
    sum_s += serving.async_scheduling ? std::max(gpu_s, host_s) : gpu_s + host_s;
    if (machine.speculation()) sum_s += machine.speculation()->draft_step_s();
  }
  return sum_s;
}

}  // namespace kvcap
