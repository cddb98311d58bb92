#include "engine/handover/handovers.h"

#include <limits>
#include <utility>

namespace kvcap {

// ---- the prefill node ----

// The single output token marks the end of the prompt's computation.
void Handovers::open(Request& request) const {
  request.output_tokens = 1;
  request.handover = std::make_shared<Handover>(*parts_.handover, *parts_.node, *parts_.recorder,
                                                parts_.number, request.prompt_tokens());
}

void Handovers::admitted(const Request& request) const {
  if (pushes()) parts_.fleet.hands_over(request.arrival, request.handover);
}

void Handovers::begin_step(const Steps& steps) const {
  if (!pushes()) return;
  const double layer_s = steps.first_layer_end_s();
  for (const Slice& slice : steps.current().slices) {
    slice.request->handover->begins(slice.first, slice.tokens, layer_s);
  }
}

void Handovers::hand_over(const Request& request, std::function<void()> release) {
  if (!pushes()) parts_.fleet.hands_over(request.arrival, request.handover);
  if (parts_.handover->options.lease_s) handed_over_.push_back(request.handover);
  request.handover->ended(request.record, request.admitted_s, std::move(release));
}

void Handovers::end_leases(double now_s) {
  for (; !handed_over_.empty(); handed_over_.pop_front()) {
    Handover& first = *handed_over_.front();
    if (first.received() || first.has_failed()) continue;
    if (first.lease_end_s() > now_s + kTimeResolution_s) return;
    first.give_up();
  }
}

double Handovers::next_lease_end_s() const {
  return handed_over_.empty() ? std::numeric_limits<double>::infinity() : handed_over_.front()->lease_end_s();
}

// ---- the decode node ----

// This node computes a prompt whose KV the prefill node has dropped.
bool Handovers::receives(Request& request) const {
  if (!is_receiver(request)) return false;
  if (!request.handover->is_given_up()) return true;
  take_record(request);
  request.handover = nullptr;
  return false;
}

void Handovers::receive(Request& request, int64_t resident, std::function<void()> arrived) const {
  request.handover->receive(resident, [this, &request, arrived = std::move(arrived)] {
    if (request.handover->is_ended()) take_record(request);
    request.handed_over_s = parts_.node->now_s();
    arrived();
  });
}

void Handovers::take_record(Request& request) {
  const uint16_t node = request.record.node;
  request.record = request.handover->record();
  request.record.node = node;
  request.admitted_s = request.handover->admitted_s();
}

}  // namespace kvcap
