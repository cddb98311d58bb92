// StepPlan: sums over the slices of a step, and corrections of plans that were made ahead.
#include "engine/scheduler/scheduler.h"

namespace kvcap {

void StepPlan::clear() {
  slices.clear();
  decoding = context_tokens = drafts = sampled = 0;
  lost = {};
  preempted = admitted = false;
}

void StepPlan::count() {
  decoding = context_tokens = drafts = sampled = 0;
  for (const Slice& slice : slices) {
    decoding += slice.decode;
    if (slice.decode) context_tokens += slice.first + slice.tokens;
    drafts += slice.drafts;
    sampled += slice.yields;
  }
}

void StepPlan::settle() {
  for (Slice& slice : slices) slice.first = slice.request->computed;
  count();
}

void StepPlan::lose(const Request& ended) {
  for (const Slice& slice : slices) {
    if (slice.request != &ended) continue;
    ++lost.sequences;
    lost.context_tokens += ended.computed + slice.tokens;
    lost.drafts += slice.drafts;
  }
  keep([&](const Slice& slice) { return slice.request != &ended; });
}

}  // namespace kvcap
