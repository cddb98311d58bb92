// How Instances serve turns that one node computes and another decodes (handover.h).
//
// As vLLM behind a proxy: the prefill node serves the turn as one of a single token, which nobody sees. The
// decode node gets it as a new request, whose prompt is there when its KV has come, but for the last token:
// it computes that one again, and the first token that the client sees is its own. A request that it preempts
// computes its prompt there.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "serving/instance.h"

namespace kvcap {

// ---- the prefill node ----

// Of the step that begins: when its first layer is over, nothing else interfering.
void Instance::begin_pushes() {
  const double layer_s = step_.start_s + step_.work_s / static_cast<double>(parts_.handover->layers);
  for (const Slice& slice : current_.slices)
    slice.request->handover->begins(slice.first, slice.tokens, layer_s);
}

// Its blocks stay until the last byte of them has arrived, and what is saved of them is written.
void Instance::hand_over(Request& request) {
  const double now_s = parts_.node->now_s();
  if (request.phase != RequestPhase::running) {
    // Its blocks were taken while its last step ran: it waits, and computes its prompt again.
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
  if (parts_.keeping.save_at != SaveAt::step) save(cache_.keep(parts, request, now_s), request);
  if (!request.saves) request.saves = std::make_shared<Saves>();
  const std::shared_ptr<Saves> saves = request.saves;
  ++saves->under_way;
  cache_.lease(saves, std::exchange(request.holding, KvHolding()));
  const RequestPtr gone = scheduler_.remove(request);
  ++completed_;
  if (parts_.fleet.ended) parts_.fleet.ended(gone->arrival);
  if (!pushes()) parts_.fleet.hands_over(gone->arrival, gone->handover);
  if (parts_.handover->options.lease_s) handed_over_.push_back(gone->handover);
  gone->handover->ended(gone->record, gone->admitted_s, [this, saves] {
    if (--saves->under_way == 0) end_lease(saves);
  });
}

void Instance::end_leases(double now_s) {
  for (; !handed_over_.empty(); handed_over_.pop_front()) {
    Handover& first = *handed_over_.front();
    if (first.received()) continue;
    if (first.lease_end_s() > now_s + kResolution_s) return;
    first.give_up();
  }
}

// ---- the decode node ----

void Instance::take_over(const Arrival& arrival, const std::shared_ptr<Handover>& handover) {
  const double now_s = parts_.node->now_s();
  if (heeds_newcomers()) newcomer_s_ = now_s + parts_.serving.request_overhead_s;
  RequestPtr request = request_of(arrival, nullptr);
  ++arrived_;
  request->chain = cache_.chain_of(request->text);
  request->named = parts_.serving.prefix_caching;
  request->handover = handover;
  enters(std::move(request), now_s);
  record_level(Level::waiting, static_cast<double>(++recorded_waiting_), now_s);
}

// Whether the prompt's KV is gone: then it is computed here.
bool Instance::gave_up(Request& request) {
  if (!request.handover->is_given_up()) return false;
  take_record(request);
  request.handover = nullptr;
  return true;
}

// The turn as the prefill node leaves it.
void Instance::take_record(Request& request) {
  const uint16_t node = request.record.node;
  request.record = request.handover->record();
  request.record.node = node;
  request.admitted_s = request.handover->admitted_s();
}

// It holds blocks for the whole prompt from now on, and computes its last token when the others have come.
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
    // A step that ends before is soon enough to see it.
    if (!step_.running || in_long_run()) parts_.wake();
  });
  return Lookup::loads;
}

}  // namespace kvcap
