#include "state/store_level.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/invariants.h"

namespace kvcap {
namespace {

constexpr double kMostTokens = 4e18;

// Returns the whole tokens that fit into `bytes`, tolerating the rounding error of the division.
int64_t whole_tokens(double bytes, double bytes_per_token) {
  const double tokens = bytes_per_token > 0 ? bytes / bytes_per_token * (1 + 1e-12) : kMostTokens;
  return static_cast<int64_t>(std::floor(std::clamp(tokens, 0.0, kMostTokens)));
}

}  // namespace

const StoreLevel::Entry StoreLevel::kNone;

StoreLevel::StoreLevel(const StoreTier& options)
    : options_(options),
      capacity_tokens_(whole_tokens(options.capacity_bytes, options.bytes_per_token)),
      target_tokens_(
          whole_tokens(options.capacity_bytes * (1 - options.free_fraction), options.bytes_per_token)),
      eviction_(eviction_row(options.eviction).make()) {
  KVCAP_CHECK(options.free_fraction >= 0 && options.free_fraction < 1);
  if (options.soft_pin_s > 0) soft_pins_ = make_lru();
}

// ---- eviction ----

void StoreLevel::hold_or_release(Slot slot) {
  const Entry& entry = entries_[slot];
  const bool stays = entry.held || entry.leased || entry.chosen;
  stays || entry.soft_pinned ? eviction_->hold(slot) : eviction_->release(slot);
  if (!entry.soft_pinned) return;
  stays ? soft_pins_->hold(slot) : soft_pins_->release(slot);
}

void StoreLevel::choose(Slot slot, bool chosen) {
  entries_[slot].chosen = chosen;
  hold_or_release(slot);
}

void StoreLevel::lease(Slot slot, Order now) {
  if (options_.lease_s <= 0) return;
  end_leases(now);
  Entry& entry = entries_[slot];
  entry.leased_until = now + options_.lease_s;
  leases_.push_back({entry.leased_until, slot});
  if (!std::exchange(entry.leased, true)) hold_or_release(slot);
}

void StoreLevel::end_leases(Order now) {
  for (; !leases_.empty() && leases_.front().until <= now; leases_.pop_front()) {
    const Slot slot = leases_.front().slot;
    Entry& entry = entries_[slot];
    if (!entry.leased || entry.leased_until > now) continue;
    entry.leased = false;
    hold_or_release(slot);
  }
}

void StoreLevel::soft_pin(Slot slot, Order now) {
  if (!soft_pins_) return;
  Entry& entry = entries_[slot];
  entry.pinned_until = now + options_.soft_pin_s;
  if (std::exchange(entry.soft_pinned, true)) return soft_pins_->touch(slot);
  soft_pins_->enter(slot, 0);
  hold_or_release(slot);
}

void StoreLevel::end_soft_pins(Order now) {
  if (!soft_pins_) return;
  for (Slot oldest = soft_pins_->victim(); oldest != kNoSlot && entries_[oldest].pinned_until <= now;
       oldest = soft_pins_->victim()) {
    soft_pins_->leave(oldest, false);
    entries_[oldest].soft_pinned = false;
    hold_or_release(oldest);
  }
}

Slot StoreLevel::victim(Order now) {
  end_leases(now);
  end_soft_pins(now);
  return next_victim();
}

Slot StoreLevel::next_victim() {
  const Slot first = eviction_->victim();
  return first == kNoSlot && soft_pins_ ? soft_pins_->victim() : first;
}

int64_t StoreLevel::batch_tokens() const {
  const auto capacity = static_cast<double>(capacity_tokens_);
  if (options_.evict_at <= 0 || static_cast<double>(used_tokens_) <= options_.evict_at * capacity) return 0;
  return static_cast<int64_t>(std::ceil(options_.evict_share * capacity));
}

bool StoreLevel::has_room(int64_t tokens) const {
  const double share = options_.evict_at > 0 ? options_.evict_at : 1;
  return used_tokens_ + tokens <= target_tokens_ &&
         static_cast<double>(used_tokens_ + tokens) <= share * static_cast<double>(capacity_tokens_);
}

bool StoreLevel::choose_victims(Slot newcomer, int64_t tokens, int64_t limit_tokens, bool ahead, Order now) {
  victims_.clear();
  spare_tokens_ = 0;
  int64_t missing = used_tokens_ + tokens - limit_tokens;
  if (missing <= 0) return true;
  const Entry& own = entry(newcomer);
  const bool stays = own.tokens > 0 && !own.held;
  if (missing > free_to_leave_tokens_ - (stays ? own.tokens : 0)) return false;

  end_leases(now);
  end_soft_pins(now);
  if (stays) choose(newcomer, true);
  bool yields = true;
  while (missing > 0 && yields) {
    const Slot first = next_victim();
    yields = first != kNoSlot && eviction_->yields(first, newcomer, ahead);
    if (!yields) break;
    choose(first, true);
    eviction_->chosen(first);
    victims_.push_back(first);
    missing -= entries_[first].tokens;
  }
  if (stays) choose(newcomer, false);
  if (!yields) {
    for (Slot victim : victims_) choose(victim, false);
    victims_.clear();
  }
  spare_tokens_ = -missing;
  return yields;
}

StoreLevel::Entry& StoreLevel::reserve(Slot slot, Key key, int64_t tokens, uint64_t generation) {
  if (slot >= entries_.size()) entries_.resize(std::max<std::size_t>(slot + std::size_t{1}, 64));
  Entry& entry = entries_[slot];
  const int64_t more = tokens - entry.tokens;
  KVCAP_CHECK(more >= 0 && tokens > 0 && tokens < kNothing);
  if (entry.tokens == 0) {
    entry = {.generation = generation};
    eviction_->enter(slot, key);
  } else {
    eviction_->renew(slot);
  }
  entry.tokens = static_cast<uint32_t>(tokens);
  used_tokens_ += more;
  came_tokens_ += more;
  if (!entry.held) free_to_leave_tokens_ += more;
  return entry;
}

void StoreLevel::leave(Slot slot, bool evicted) {
  Entry& entry = entries_[slot];
  KVCAP_CHECK(entry.tokens > 0);
  used_tokens_ -= entry.tokens;
  left_tokens_ += entry.tokens;
  if (!entry.held) free_to_leave_tokens_ -= entry.tokens;
  if (entry.soft_pinned) soft_pins_->leave(slot, false);
  entry = {};
  eviction_->leave(slot, evicted);
}

void StoreLevel::trim(Slot slot, int64_t tokens) {
  Entry& entry = entries_[slot];
  KVCAP_CHECK(0 < tokens && tokens <= entry.tokens && !entry.held);
  const int64_t gone = entry.tokens - tokens;
  entry.tokens = entry.arrived = static_cast<uint32_t>(tokens);
  used_tokens_ -= gone;
  left_tokens_ += gone;
  free_to_leave_tokens_ -= gone;
  choose(slot, false);
}

void StoreLevel::cut(Slot slot, int64_t tokens) {
  Entry& entry = entries_[slot];
  KVCAP_CHECK(tokens < entry.tokens);
  const auto lost = static_cast<uint32_t>(tokens);
  entry.tokens -= lost;
  entry.arrived -= std::min(entry.arrived, lost);
  if (entry.awaited_from != kNothing) entry.awaited_from -= std::min(entry.awaited_from, lost);
  entry.cut += lost;
  used_tokens_ -= lost;
  left_tokens_ += lost;
  if (!entry.held) free_to_leave_tokens_ -= lost;
}

void StoreLevel::end_at_visible(Slot slot) {
  Entry& entry = entries_[slot];
  KVCAP_CHECK(entry.held && entry.visible() > 0);
  const auto lost = static_cast<uint32_t>(entry.tokens - entry.visible());
  entry.tokens -= lost;
  entry.arrived = entry.tokens;
  entry.awaited_from = kNothing;
  used_tokens_ -= lost;
  left_tokens_ += lost;
}

bool StoreLevel::arrive(const Moved& moved, bool from_gpu) {
  if (moved.slot >= entries_.size() || entries_[moved.slot].generation != moved.generation) return false;
  Entry& entry = entries_[moved.slot];
  const int64_t lost = entry.cut - moved.cut;
  const int64_t reached = std::clamp<int64_t>(moved.tokens_after - lost, 0, entry.tokens);
  entry.arrived = std::max(entry.arrived, static_cast<uint32_t>(reached));
  if (!from_gpu) entry.awaited_from = kNothing;
  return true;
}

void StoreLevel::settle(Slot slot, bool pinned) {
  if (!has(slot)) return;
  Entry& entry = entries_[slot];
  const bool held = pinned || entry.source || !entry.complete();
  if (held == entry.held) return;
  entry.held = held;
  free_to_leave_tokens_ += held ? -static_cast<int64_t>(entry.tokens) : entry.tokens;
  hold_or_release(slot);
}

void StoreLevel::check_room() const {
  KVCAP_INVARIANT("INV-CAPACITY", used_tokens_ <= capacity_tokens_);
  KVCAP_INVARIANT("INV-CAPACITY", 0 <= free_to_leave_tokens_ && free_to_leave_tokens_ <= used_tokens_);
  KVCAP_INVARIANT("INV-STORED", came_tokens_ - left_tokens_ == used_tokens_);
}

void StoreLevel::check(int64_t contexts) const {
  int64_t found = 0;
  int64_t used_tokens = 0;
  int64_t free_to_leave_tokens = 0;
  for (const Entry& entry : entries_) {
    KVCAP_INVARIANT("INV-CAPACITY",
                    entry.visible() >= 0 && entry.visible() <= entry.tokens && entry.arrived <= entry.tokens);
    found += entry.tokens > 0;
    used_tokens += entry.tokens;
    if (!entry.held) free_to_leave_tokens += entry.tokens;
    KVCAP_INVARIANT("INV-HELD", entry.held || entry.complete());
    KVCAP_INVARIANT("INV-HELD", !entry.chosen);
    KVCAP_INVARIANT("INV-HELD", !entry.soft_pinned || (soft_pins_ && entry.tokens > 0));
    KVCAP_INVARIANT("INV-HELD", !entry.leased || entry.tokens > 0);
  }
  KVCAP_INVARIANT("INV-INDEX", found == contexts);
  KVCAP_INVARIANT("INV-CAPACITY", used_tokens == used_tokens_);
  KVCAP_INVARIANT("INV-CAPACITY", free_to_leave_tokens == free_to_leave_tokens_);
  check_room();
}

}  // namespace kvcap
