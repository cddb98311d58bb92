// Turns whose prompt one Instance computes and another decodes (handover.h).
//
// As in vLLM behind a proxy, the prefill node serves the turn as a request for a single token, which is
// discarded. The decode node gets the turn as a new request and receives the KV of all prompt tokens but the
// last. It computes the last token again, so the first token that the client sees comes from it. If the
// decode node preempts the request, it computes the whole prompt itself.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/instance.h"

namespace kvcap {

// ---- the prefill node ----

// Reports the slices of the step that starts, and when its first layer ends if nothing delays it.
void Instance::begin_pushes() {
  const double layer_s = steps_.first_layer_end_s();
  for (const Slice& slice : steps_.current().slices)
    slice.request->handover->begins(slice.first, slice.tokens, layer_s);
}

// Hands the request over. Its blocks are kept until their last byte has been sent and their saves have ended.
void Instance::hand_over(Request& request) {
  const double now_s = parts_.node->now_s();
  if (request.phase != RequestPhase::running) {
    // The request was preempted during its last step: it waits and computes its prompt again.
    request.generated = 0;
    return;
  }
  deadlines_.remove(request);
  cache_.release(request);
  const std::vector<Part> parts = cache_.prompt_parts(request);
  int64_t left = 0;
  for (const Part& part : parts) left += part.tokens;
  forecast_.left(left);
  forecast_.record_next_uses(request.arrival, parts, now_s);
  if (keeping_.save_at != SaveAt::step) saves_.save(cache_.keep(parts, request, now_s), request);
  std::function<void()> release = saves_.keep_blocks_until_called(request);
  const RequestPtr gone = scheduler_.remove(request);
  ++completed_;
  if (parts_.fleet.ended) parts_.fleet.ended(gone->arrival);
  if (!pushes()) parts_.fleet.hands_over(gone->arrival, gone->handover);
  if (parts_.handover->options.lease_s) handed_over_.push_back(gone->handover);
  gone->handover->ended(gone->record, gone->admitted_s, std::move(release));
}

void Instance::end_leases(double now_s) {
  for (; !handed_over_.empty(); handed_over_.pop_front()) {
    Handover& first = *handed_over_.front();
    if (first.received()) continue;
    if (first.lease_end_s() > now_s + kTimeResolution_s) return;
    first.give_up();
  }
}

// ---- the decode node ----

void Instance::take_over(const Arrival& arrival, const std::shared_ptr<Handover>& handover) {
  const double now_s = parts_.node->now_s();
  if (heeds_newcomers()) newcomer_s_ = now_s + serving_.request_overhead_s;
  RequestPtr request = request_of(arrival, nullptr);
  ++arrived_;
  request->chain = cache_.chain_of(request->text);
  request->named = serving_.prefix_caching;
  request->handover = handover;
  enters(std::move(request), now_s);
  record_level(Level::waiting, static_cast<double>(++recorded_waiting_), now_s);
}

// True iff the prefill node gave up the prompt's KV; the prompt is then computed here.
bool Instance::gave_up(Request& request) {
  if (!request.handover->is_given_up()) return false;
  take_record(request);
  request.handover = nullptr;
  return true;
}

// Takes over the turn's record from the prefill node.
void Instance::take_record(Request& request) {
  const uint16_t node = request.record.node;
  request.record = request.handover->record();
  request.record.node = node;
  request.admitted_s = request.handover->admitted_s();
}

// Takes blocks for the whole prompt, and computes its last token when the KV of the others has arrived.
Lookup Instance::receive(Request& request) {
  cache_.use(request, parts_.node->now_s());
  const int64_t resident = request.planned;
  scheduler_.take_blocks(request, request.prompt_tokens());
  request.planned = request.computed = request.prompt_tokens() - 1;
  request.handover->receive(resident, [this, &request] {
    if (request.handover->is_ended()) take_record(request);
    const double now_s = parts_.node->now_s();
    request.handed_over_s = now_s;
    restored_.push_back({now_s, restorations_++, &request, false, {.loaded_s = now_s, .restored_s = now_s}});
    std::push_heap(restored_.begin(), restored_.end());
    steps_.wake();
  });
  return Lookup::loads;
}

}  // namespace kvcap
