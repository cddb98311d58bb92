// Handovers: an engine's part in turns whose prompt is computed on one node and whose answer is decoded on
// another (handover.h).
//
// As in vLLM behind a proxy, the prefill node serves the turn as a request for a single token, which is
// discarded. The decode node gets the turn as a new request and receives the KV of all prompt tokens but the
// last. It computes the last token again, so the first token that the client sees comes from it. If the
// decode node preempts the request, it computes the whole prompt itself.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "engine/instance_parts.h"
#include "engine/request.h"
#include "engine/steps.h"

namespace kvcap {

class Handovers {
 public:
  explicit Handovers(const InstanceParts& parts) : parts_(parts) {}

  // ---- the prefill node ----

  // Turns the request into one for its prompt alone. REQUIRES: this node computes prompts for others.
  void open(Request& request) const;
  // With push transfers, asks the fleet for a decode node when the prefill node admits the request.
  void admitted(const Request& request) const;
  // Reports the slices of the step that begins.
  void begin_step(const Steps& steps) const;
  // Hands the request over. `release` is called when the last byte has been sent or the lease has ended.
  void hand_over(const Request& request, std::function<void()> release);
  // Drops the prompts whose leases have ended.
  void end_leases(double now_s);
  double next_lease_end_s() const;

  // ---- the decode node ----

  // True iff another node computes the request's prompt and has not dropped its KV.
  bool receives(Request& request) const;
  // Receives the KV of the request's prompt. This node already stores the first `resident` tokens and has
  // blocks for the whole prompt. `arrived` is called when all KV has arrived.
  void receive(Request& request, int64_t resident, std::function<void()> arrived) const;
  // True iff the KV of the request's prompt comes from another node and has not arrived.
  bool is_receiver(const Request& request) const { return !parts_.handover && request.handover; }
  // Takes over the turn's record from the prefill node. REQUIRES: is_receiver(), and the handover has ended.
  static void take_record(Request& request);

 private:
  bool pushes() const { return parts_.handover && parts_.handover->options.transfer == KvTransfer::push; }

  const InstanceParts& parts_;
  std::deque<std::shared_ptr<Handover>> handed_over_;  // ordered by the ends of their leases
};

}  // namespace kvcap
