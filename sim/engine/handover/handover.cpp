#include "engine/handover/handover.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "cost/kv_layers.h"

namespace kvcap {

HandoverPlan handover_plan(const DisaggregationOptions& options, const ModelSpec& model,
                           int64_t tensor_parallel_size, const Route& route, const ModelSpec* drafter) {
  HandoverPlan plan = {.options = options,
                       .route = route,
                       .kinds = kv_layers(model, tensor_parallel_size),
                       .gpus = tensor_parallel_size,
                       .layers = model.num_hidden_layers};
  if (!drafter) return plan;
  std::ranges::copy(kv_layers(*drafter, tensor_parallel_size), std::back_inserter(plan.kinds));
  plan.layers += drafter->num_hidden_layers;
  return plan;
}

// ---- bytes ----

double HandoverPlan::bytes(int64_t tokens) const {
  double of_gpu = 0;
  for (const KvLayers& kind : kinds) {
    if (kind.rule == KvRule::all) of_gpu += static_cast<double>(kind.layers * tokens) * kind.bytes_per_token;
  }
  return static_cast<double>(gpus) * of_gpu;
}

double HandoverPlan::last_bytes(int64_t prompt_tokens, int64_t missing) const {
  double of_gpu = 0;
  for (const KvLayers& kind : kinds) {
    int64_t kept = 0;
    if (kind.rule == KvRule::window) kept = std::min(prompt_tokens, kind.tokens);
    if (kind.rule == KvRule::chunk) kept = (prompt_tokens - 1) % kind.tokens + 1;
    of_gpu += static_cast<double>(kind.layers * std::min(kept, missing)) * kind.bytes_per_token +
              static_cast<double>(kind.layers) * kind.state_bytes;
  }
  return static_cast<double>(gpus) * of_gpu;
}

// ---- the prefill node ----

Handover::Handover(const HandoverPlan& plan, const Node& clock, Recorder& recorder, std::size_t sender,
                   int64_t prompt_tokens)
    : plan_(plan), clock_(clock), recorder_(recorder), sender_(sender), prompt_tokens_(prompt_tokens) {}

// A preempted request may compute tokens again, but computed_ never decreases.
void Handover::begins(int64_t first, int64_t tokens, double layer_s) {
  computed_ = std::max(computed_, first);
  step_first_ = first;
  step_tokens_ = tokens;
  step_layer_s_ = layer_s;
  send();
}

void Handover::computed(int64_t tokens) {
  computed_ = std::max(computed_, tokens);
  step_tokens_ = 0;
  send();
}

void Handover::ended(const TurnRecord& record, double admitted_s, std::function<void()> release) {
  record_ = record;
  admitted_s_ = admitted_s;
  release_ = std::move(release);
  ended_s_ = clock_.now_s();
  computed_ = prompt_tokens_;
  is_ended_ = true;
  if (has_failed_) return free_both();
  send();
  arrived();
}

double Handover::lease_end_s() const {
  if (!plan_.options.lease_s || received()) return std::numeric_limits<double>::infinity();
  return ended_s_ + *plan_.options.lease_s;
}

void Handover::give_up() {
  if (received() || is_given_up_ || is_abandoned_ || has_failed_) return;
  is_given_up_ = true;
  recorder_.gave_up_handover();
  release_();
}

// ---- either node ----

void Handover::abandon() {
  if (is_over_ || is_given_up_) return;
  is_abandoned_ = true;
  arrived();
}

void Handover::sender_failed() {
  release_ = nullptr;
  receiver_failed();
}

void Handover::receiver_failed() {
  if (is_over_ || is_given_up_) return;
  has_failed_ = true;
  under_way_ = 0;
  free_both();
}

// ---- the decode node ----

void Handover::receive(int64_t resident, std::function<void()> arrival) {
  KVCAP_CHECK(!received() && !is_given_up_ && resident < prompt_tokens_);
  resident_ = sent_ = resident;
  received_s_ = clock_.now_s();
  on_arrival_ = std::move(arrival);
  send();
  if (is_abandoned_) arrived();
}

// ---- transfers ----

void Handover::send() {
  const bool layerwise = plan_.options.granularity == TransferGranularity::layerwise;
  if (!received() || is_over_ || is_abandoned_ || (!layerwise && !is_ended_)) return;
  const double one_layer = 1.0 / static_cast<double>(plan_.layers);
  if (computed_ > sent_) {
    const int64_t early = std::min(early_tokens_, computed_ - sent_);
    double bytes = plan_.bytes(computed_ - sent_) - (1 - one_layer) * plan_.bytes(early);
    if (computed_ == prompt_tokens_) bytes += plan_.last_bytes(prompt_tokens_, prompt_tokens_ - resident_);
    sent_ = computed_;
    early_tokens_ -= early;
    move(bytes, 0);
  }
  const int64_t step_end = step_first_ + step_tokens_;
  if (!layerwise || step_end <= sent_ || early_tokens_ > 0 || plan_.layers == 1) return;
  early_tokens_ = step_end - sent_;
  move((1 - one_layer) * plan_.bytes(early_tokens_), step_layer_s_);
}

void Handover::move(double bytes, double ready_s) {
  ++under_way_;
  bytes_ += bytes;
  began_s_ = std::min(began_s_, std::max(ready_s, clock_.now_s()));
  lane_->move(
      plan_.route.seconds(bytes, 0), plan_.route.latency_s,
      [this](TransferPhase phase) {
        if (phase != TransferPhase::ended) return;
        --under_way_;
        arrived();
      },
      ready_s);
}

// Ends the handover if all bytes have arrived, or if it is abandoned and no transfer runs.
void Handover::arrived() {
  if (is_abandoned_ && under_way_ == 0) return free_both();
  if (!is_ended_ || !received() || under_way_ > 0 || sent_ < prompt_tokens_ || std::exchange(is_over_, true))
    return;
  const double now_s = clock_.now_s();
  const double ready_s = std::max(ended_s_, received_s_);
  record_.decode_queue_s = static_cast<float>(ready_s - ended_s_);
  record_.transfer_s = now_s - ready_s;
  recorder_.handed_over(bytes_, now_s - began_s_);
  release_();
  on_arrival_();
}

void Handover::free_both() {
  is_over_ = true;
  if (auto release = std::exchange(release_, nullptr)) release();
  if (auto arrival = std::exchange(on_arrival_, nullptr)) arrival();
}

}  // namespace kvcap
