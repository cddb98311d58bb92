// Every structural invariant of what serves, re-derived from the parts after every event where that was asked
// for (InstanceParts::check_invariants); the sums of a large store in turn, so that a check takes no longer
// as the store grows.
#include <algorithm>
#include <unordered_map>

#include "base/check.h"
#include "serving/fleet.h"
#include "serving/instance.h"

namespace kvcap {
namespace {

// Sums of seconds are as exact as doubles are.
constexpr double kRounding_s = 1e-7;

template <typename Pointers>
bool contains(const Pointers& pointers, const void* request) {
  return std::any_of(pointers.begin(), pointers.end(),
                     [&](const auto& one) { return std::to_address(one) == request; });
}

}  // namespace

// ---- an instance ----

int64_t Instance::pins() const {
  int64_t pins = 0;
  for (const RequestPtr& request : admitted_) pins += std::ssize(request->prompt);
  return pins;
}

void Instance::check(double now_s) {
  KVCAP_CHECK(now_s >= checked_s_);
  checked_s_ = now_s;
  // GPU time is left to steps, never taken back, and no faster than the clock.
  const double progress_s = parts_.restorer->progress_s(now_s);
  KVCAP_CHECK(progress_s >= checked_progress_s_ - kRounding_s && progress_s <= now_s + kRounding_s);
  KVCAP_CHECK(parts_.restorer->pending_compute_s() >= 0);
  checked_progress_s_ = progress_s;
  for (Tier tier : kTiers) {
    if (tier == Tier::hbm || !parts_.store->has(tier)) continue;
    KVCAP_CHECK(parts_.node->lane(Tier::hbm, tier).pending_s() >= -kRounding_s);
    KVCAP_CHECK(parts_.node->lane(tier, Tier::hbm).pending_s() >= -kRounding_s);
  }
  KVCAP_CHECK(arrived_ == completed_ + refused_ + turns());
  check_requests();
  check_step(now_s);
  forecast_.check();
  KVCAP_CHECK(!parts_.keeping.look_ahead || forecast_.waiting() == waiting_.size());
  KVCAP_CHECK(parts_.store->pins() == pins());
  parts_.store->check_in_turn();
}

// Who is where, and what memory each has.
void Instance::check_requests() const {
  KVCAP_CHECK(std::ssize(admitted_) <= parts_.serving.max_num_seqs);
  KVCAP_CHECK(!parts_.serving.max_queued_turns ||
              turns() <= parts_.serving.max_num_seqs + *parts_.serving.max_queued_turns);
  int64_t blocks = 0;
  std::size_t prefilling = 0, decoding = 0;
  for (const RequestPtr& request : admitted_) {
    KVCAP_CHECK(request->free_tokens >= 0 && request->unused_tokens >= 0);
    KVCAP_CHECK(request->cached_tokens >= request->free_tokens);
    KVCAP_CHECK(request->blocks >= blocks_needed(request->resident_tokens()));
    blocks += request->blocks;
    const bool prefills = contains(prefilling_, request.get());
    const bool decodes = contains(decoding_, request.get());
    KVCAP_CHECK(!prefills || !decodes);
    KVCAP_CHECK(!prefills || request->cached_tokens < request->prompt_tokens());
    // All but the token that it sampled last.
    KVCAP_CHECK(!decodes || request->cached_tokens + 1 == request->prompt_tokens());
    KVCAP_CHECK(!decodes || request->generated >= 1);
    KVCAP_CHECK(request->generated < request->output_tokens);
    prefilling += prefills;
    decoding += decodes;
  }
  KVCAP_CHECK(prefilling == prefilling_.size() && decoding == decoding_.size());
  KVCAP_CHECK(prefilling + decoding + restored_.size() <= admitted_.size());
  for (const Restored& restored : restored_) KVCAP_CHECK(contains(admitted_, restored.request));
  KVCAP_CHECK(blocks + blocks_.free() == blocks_.total() && blocks_.free() >= 0);
  for (const RequestPtr& request : waiting_) {
    KVCAP_CHECK(request->blocks == 0 && request->cached_tokens == 0 && request->free_tokens == 0);
  }
}

void Instance::check_step(double now_s) const {
  int64_t context_tokens = 0;
  for (const Request* request : decoding_) context_tokens += request->cached_tokens;
  KVCAP_CHECK(context_tokens == decoding_context_tokens_);
  if (!step_.running) return;
  KVCAP_CHECK(step_.start_s <= now_s && step_.work_s >= 0);
  KVCAP_CHECK(step_.steps >= 1 && step_.steps <= step_.most_steps);
  KVCAP_CHECK(step_.steps == 1 || step_.chunks.empty());
  int64_t tokens = std::ssize(decoding_);
  for (const Chunk& chunk : step_.chunks) {
    KVCAP_CHECK(chunk.tokens > 0 && contains(prefilling_, chunk.request));
    tokens += chunk.tokens;
  }
  KVCAP_CHECK(tokens > 0);
  KVCAP_CHECK(step_.chunks.empty() || tokens <= parts_.serving.max_num_batched_tokens);
}

void Instance::check_ended() const {
  KVCAP_CHECK(waiting_.empty() && admitted_.empty() && prefilling_.empty() && decoding_.empty());
  KVCAP_CHECK(restored_.empty() && !step_.running);
  KVCAP_CHECK(arrived_ == completed_ + refused_);
  KVCAP_CHECK(blocks_.free() == blocks_.total());
  forecast_.check();
  KVCAP_CHECK(parts_.store->pins() == 0);
  parts_.store->check();
}

// ---- what it knows of the future ----

void Forecast::check() const {
  KVCAP_CHECK(fetched_ <= expected_ && expected_ <= waiting_.size());
  std::unordered_map<Key, std::set<Order>> numbers;
  for (std::size_t i = 0; i < expected_; ++i) {
    for (const Item& item : *waiting_[i].prompt) numbers[item.key].insert(waiting_[i].number);
  }
  KVCAP_CHECK(numbers == numbers_);
}

// ---- a fleet ----

void Fleet::check(double now_s) const {
  int64_t outstanding = 0;
  bool any_up = false;
  for (std::size_t node = 0; node < members_.size(); ++node) {
    const NodeFacts& facts = facts_[node];
    const Instance* instance = members_[node].instance.get();
    KVCAP_CHECK(facts.up == (instance != nullptr));
    KVCAP_CHECK(facts.turns == (instance ? instance->turns() : 0));
    // Nobody sleeps for ever, and nobody who is lost is woken.
    KVCAP_CHECK(due_.contains(static_cast<Slot>(node)) == facts.up);
    outstanding += facts.turns;
    any_up = any_up || facts.up;
  }
  KVCAP_CHECK(routed_ == ended_ + outstanding);
  KVCAP_CHECK(held_.empty() || !any_up);
  KVCAP_CHECK(next_change_ == changes_.size() || changes_[next_change_].at_s > now_s);
  KVCAP_CHECK(sessions_.arrivals.next_s() > now_s);
  if (parts_.shared) parts_.shared->check_in_turn();
  check_pins();
}

void Fleet::check_pins() const {
  if (!parts_.shared) return;
  int64_t pins = 0;
  for (std::size_t node = 0; node < members_.size(); ++node) {
    if (members_[node].instance) pins += members_[node].instance->pins();
    pins += parts_.stores[node].fetches();
  }
  KVCAP_CHECK(parts_.shared->pins() == pins);
}

void Fleet::check_ended() const {
  for (const Member& member : members_) {
    if (member.instance) member.instance->check_ended();
  }
  KVCAP_CHECK(held_.empty() && routed_ == ended_);
  if (parts_.shared) parts_.shared->check();
  check_pins();
}

}  // namespace kvcap
