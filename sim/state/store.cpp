#include "state/store.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace kvcap {

Store::Store(const std::vector<StoreTier>& tiers, const StoreOptions& options, Store* shared)
    : options_(options), leaving_tokens_(tiers.size()), shared_(shared) {
  KVCAP_CHECK(options.inclusive || options.write == WriteMode::back);
  for (const StoreTier& tier : tiers) {
    KVCAP_CHECK(levels_.empty() || levels_.back().options().kind < tier.kind);
    levels_.emplace_back(tier);
  }
  has_hbm_ = !levels_.empty() && levels_.front().options().kind == Tier::hbm;
  for (std::size_t i = first_host(); i < levels_.size(); ++i) {
    KVCAP_CHECK(levels_[i].options().bytes_per_token == levels_.back().options().bytes_per_token);
  }
  if (options.ttl_s) age_ = make_lru();
}

// ---- contexts and their slots ----

Slot Store::slot_of(Key key) {
  Slot slot = slots_.find(key);
  if (slot != kNoSlot) return slot;
  slot = slots_.add(key);
  if (slot == records_.size()) records_.emplace_back();
  records_[slot] = {.key = key, .in_use = true};
  return slot;
}

// Frees the slot of a context that is neither stored nor pinned and has no hints.
void Store::tidy(Slot slot) {
  Record& record = records_[slot];
  if (record.levels != 0 || record.pins > 0 || record.expected || record.weighed) return;
  slots_.erase(record.key);
  record = {};
}

// Clears the state of a context that has left the last level that stored it.
void Store::forget_if_gone(Slot slot) {
  Record& record = records_[slot];
  if (record.levels != 0) return;
  if (std::exchange(record.aging, false)) age_->leave(slot, false);
  if (std::exchange(record.weighed, false)) {
    for (StoreLevel& level : levels_) level.eviction().weigh(slot, 0);
  }
  tidy(slot);
}

void Store::used(Slot slot, Order now) {
  Record& record = records_[slot];
  record.last_use = now;
  if (!age_) return;
  if (std::exchange(record.aging, true)) {
    age_->touch(slot);
  } else {
    age_->enter(slot, record.key);
    if (record.pins > 0) age_->hold(slot);
  }
}

void Store::settle(Slot slot) {
  const Record& record = records_[slot];
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    if (record.levels & (1U << i)) levels_[i].settle(slot, record.pins > 0);
  }
}

std::optional<std::size_t> Store::host_level(Slot slot) const {
  const unsigned hosts = records_[slot].levels & ~(has_hbm_ ? 1U : 0U);
  if (hosts == 0) return std::nullopt;
  return static_cast<std::size_t>(std::countr_zero(hosts));
}

// Returns the tokens of the nearest host copy, which is the longest one.
int64_t Store::kept_tokens(Slot slot) const {
  const std::optional<std::size_t> at = host_level(slot);
  return at ? levels_[*at].tokens(slot) : 0;
}

// ---- uses and hints ----

void Store::pin(Key key) {
  if (shared_) shared_->pin(key);
  const Slot slot = slot_of(key);
  Record& record = records_[slot];
  ++pins_;
  if (++record.pins > 1) return;
  settle(slot);
  if (record.aging) age_->hold(slot);
}

void Store::unpin(Key key) {
  if (shared_) shared_->unpin(key);
  const Slot slot = slots_.find(key);
  KVCAP_CHECK(slot != kNoSlot && records_[slot].pins > 0);
  Record& record = records_[slot];
  --pins_;
  if (--record.pins > 0) return;
  settle(slot);
  if (record.aging) age_->release(slot);
  tidy(slot);
}

void Store::touch(Key key, Order now, bool again) {
  if (shared_) shared_->touch(key, now, again);
  const Slot slot = slots_.find(key);
  if (slot == kNoSlot || records_[slot].levels == 0) return;
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    if ((records_[slot].levels & (1U << i)) == 0) continue;
    levels_[i].eviction().touch(slot);
    levels_[i].lease(slot, now);
    if (records_[slot].shared) levels_[i].soft_pin(slot, now);
  }
  if (!again) ++records_[slot].uses;
  used(slot, now);
}

void Store::expect(Key key, Order next_use) {
  if (shared_) shared_->expect(key, next_use);
  if (next_use == kNever && slots_.find(key) == kNoSlot) return;
  const Slot slot = slot_of(key);
  records_[slot].expected = next_use != kNever;
  for (StoreLevel& level : levels_) level.eviction().expect(slot, next_use);
  tidy(slot);
}

void Store::weigh(Key key, double score) {
  if (shared_) shared_->weigh(key, score);
  if (score == 0 && slots_.find(key) == kNoSlot) return;
  const Slot slot = slot_of(key);
  records_[slot].weighed = score != 0;
  for (StoreLevel& level : levels_) level.eviction().weigh(slot, score);
  tidy(slot);
}

// ---- contexts that end ----

void Store::drop(Slot slot) {
  dropped_tokens_ += kept_tokens(slot);
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    if (levels_[i].has(slot)) leave(i, slot, false);
  }
  forget_if_gone(slot);
}

void Store::erase(Key key, Reach reach) {
  if (shared_ && reach == Reach::all) shared_->erase(key);
  const Slot slot = slots_.find(key);
  if (slot != kNoSlot) drop(slot);
}

void Store::shrink(Key key, int64_t tokens) {
  if (shared_) shared_->shrink(key, tokens);
  const Slot slot = slots_.find(key);
  if (slot == kNoSlot || tokens >= records_[slot].length) return;
  Record& record = records_[slot];
  const int64_t cut = record.length - std::max<int64_t>(tokens, 0);
  const int64_t kept = kept_tokens(slot);
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    if (!levels_[i].has(slot)) continue;
    if (cut < levels_[i].tokens(slot)) {
      levels_[i].cut(slot, cut);
    } else {
      leave(i, slot, false);
    }
  }
  record.length -= static_cast<uint32_t>(cut);
  dropped_tokens_ += kept - kept_tokens(slot);
  settle(slot);
  forget_if_gone(slot);
}

void Store::expire(Order now) {
  if (shared_) shared_->expire(now);
  if (!age_) return;
  for (Slot slot = age_->victim(); slot != kNoSlot; slot = age_->victim()) {
    if (now - records_[slot].last_use < *options_.ttl_s) return;
    drop(slot);
  }
}

}  // namespace kvcap
