// Drops requests of an Instance whose clients have given up (arrivals.h).
//
// An engine learns of an abandoned request between two steps and drops it before it plans the next one,
// whether the request is in the API server, in the queue or running (vLLM's EngineCore takes abort_requests
// from its input queue between steps). Work on it that is under way ends first: a step planned ahead, a load,
// KV from another node. Its blocks are released as after a normal end: named blocks stay cached, and no more
// saves start. The tokenizer still processes its prompt.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/instance.h"

namespace kvcap {

void Instance::drop_given_up(double now_s) {
  while (Request* request = deadlines_.take(now_s)) {
    request->given_up = true;
    leaving_.push_back(request);
  }
  const auto stays = [this](const Request* request) { return !may_leave(*request); };
  const auto gone = std::stable_partition(leaving_.begin(), leaving_.end(), stays);
  for (auto request = gone; request != leaving_.end(); ++request) drop(**request, now_s);
  leaving_.erase(gone, leaving_.end());
}

bool Instance::may_leave(const Request& request) const {
  const auto computes = [&request](const StepPlan& plan) {
    return std::any_of(plan.slices.begin(), plan.slices.end(),
                       [&](const Slice& slice) { return slice.request == &request; });
  };
  return request.phase != RequestPhase::loading && !computes(current_) && !computes(following_);
}

void Instance::drop(Request& request, double now_s) {
  // The token that a prefill node samples is not sent to the client.
  parts_.recorder->wasted(prompt_tokens_computed(request), parts_.handover ? 0 : request.generated);
  parts_.recorder->dropped(now_s - request.arrival.time_s);
  const bool was_admitted = request.phase == RequestPhase::running || request.restored;
  if (was_admitted) {
    cache_.release(request);
  } else {
    forecast_.served(request.number);
  }
  if (request.handover) request.handover->abandon();
  if (request.saves && request.saves->under_way > 0) {
    cache_.lease(request.saves, std::exchange(request.holding, KvHolding()));
  }
  const RequestPtr gone = remove(request);
  ++dropped_;
  if (parts_.fleet.ended) parts_.fleet.ended(gone->arrival);
}

RequestPtr Instance::remove(Request& request) {
  const auto found = std::find_if(inbox_.begin(), inbox_.end(),
                                  [&](const RequestPtr& one) { return one.get() == &request; });
  if (found == inbox_.end()) return scheduler_.remove(request);
  RequestPtr removed = std::move(*found);
  inbox_.erase(found);
  return removed;
}

// Returns the prompt tokens that were computed in vain; 0 if the request was preempted before its first
// token.
int64_t Instance::prompt_tokens_computed(Request& request) const {
  int64_t tokens = std::min(request.computed, request.prompt_tokens());
  if (request.generated > 0) tokens = request.prompt_tokens();
  if (!parts_.handover && request.handover) {
    // If the prompt has not been handed over, the prefill node counts it.
    if (!request.handover->is_ended()) return 0;
    take_record(request);
    tokens = request.prompt_tokens();
  }
  return std::max<int64_t>(0, tokens - request.record.hit_tokens);
}

}  // namespace kvcap
