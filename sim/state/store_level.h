// StoreLevel: one tier of the store: which contexts lie in it, how many of their tokens have arrived, who may
// leave. It counts in tokens, so that its sums are exact; bytes are tokens times bytes_per_token.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "base/tier.h"
#include "state/eviction.h"
#include "state/move.h"

namespace kvcap {

struct StoreTier {
  Tier kind = Tier::ssd;
  double capacity_bytes = 0;
  EvictionKind eviction = EvictionKind::lru;
  double bytes_per_token = 0;  // of a context in this tier
  double free_fraction = 0;    // 0 <= f < 1
  bool exclusive = false;      // hbm: what lies here takes no room in the first host tier
  // Beyond this share of the capacity evict_share of it leaves at once, in the background; 0: never.
  double evict_at = 0;
  double evict_share = 0;
  double lease_s = 0;      // what was read so shortly ago does not leave
  double soft_pin_s = 0;   // what is shared stays so long after a use, if something else can leave
  int64_t after_uses = 1;  // of a context before it enters
};

class StoreLevel {
 public:
  static constexpr uint32_t kNothing = std::numeric_limits<uint32_t>::max();

  // A context in this tier. Its tokens arrive in order, save one part that may come from another tier.
  struct Entry {
    uint64_t generation = 0;           // tells it from earlier ones of the same context
    uint32_t tokens = 0;               // reserved; 0: not here
    uint32_t arrived = 0;              // of the first ones, but for those awaited
    uint32_t awaited_from = kNothing;  // where the part begins that comes from another tier
    uint32_t cut = 0;                  // lost in front since it entered
    bool source = false;               // is being copied to a nearer tier
    bool held = false;                 // may not leave
    bool chosen = false;       // by a search: as the newcomer until it ends, as a victim until it leaves
    bool soft_pinned = false;  // leaves after all that are not
    bool leased = false;       // was read within lease_s: it does not leave
    Order leased_until = 0;
    Order pinned_until = 0;  // of the soft pin
    int64_t visible() const { return std::min(arrived, awaited_from); }
    bool complete() const { return visible() == tokens; }
  };

  explicit StoreLevel(const StoreTier& options);

  const StoreTier& options() const { return options_; }
  int64_t used_tokens() const { return used_tokens_; }
  int64_t capacity_tokens() const { return capacity_tokens_; }
  int64_t target_tokens() const { return target_tokens_; }  // capacity without the share to keep free
  // Whether `tokens` more fit without an eviction.
  bool has_room(int64_t tokens) const;
  int64_t came_tokens() const { return came_tokens_; }  // in all, since the beginning
  double bytes(int64_t tokens) const { return static_cast<double>(tokens) * options_.bytes_per_token; }
  Eviction& eviction() { return *eviction_; }

  // Of a context that is not here, all fields are zero.
  const Entry& entry(Slot slot) const { return slot < entries_.size() ? entries_[slot] : kNone; }
  int64_t tokens(Slot slot) const { return entry(slot).tokens; }
  bool has(Slot slot) const { return entry(slot).tokens > 0; }

  // Who leaves so that `tokens` more of `newcomer` keep the tier within `limit_tokens`; false when there is
  // no way, by room or because some victim does not yield, or has a lease. The chosen are held until they
  // leave.
  bool choose_victims(Slot newcomer, int64_t tokens, int64_t limit_tokens, bool ahead, Order now);
  // The next victim, or kNoSlot. Leases and soft pins that have ended by `now` no longer count.
  Slot victim(Order now);
  // The context was read: its lease begins anew.
  void lease(Slot slot, Order now);
  // The context, which several sessions share, was put or used: its soft pin begins anew.
  void soft_pin(Slot slot, Order now);
  // Tokens that should leave by now.
  int64_t batch_tokens() const;
  std::span<const Slot> victims() const { return victims_; }
  // Of the last victim's tokens those that need not leave.
  int64_t spare_tokens() const { return spare_tokens_; }

  // The context enters or grows to `tokens`. REQUIRES: there is room; not fewer than before.
  Entry& reserve(Slot slot, Key key, int64_t tokens, uint64_t generation);
  // All of it is here.
  void show(Slot slot) { entries_[slot].arrived = entries_[slot].tokens; }
  // What follows the first `tokens` comes from another tier, later saves perhaps before it.
  void await(Slot slot, int64_t tokens) { entries_[slot].awaited_from = static_cast<uint32_t>(tokens); }
  void leave(Slot slot, bool evicted);
  // The context keeps its first `tokens` tokens and its place in the order. REQUIRES: 0 < tokens, not more
  // than it has; it may leave.
  void trim(Slot slot, int64_t tokens);
  // The first `tokens` of the context are gone. REQUIRES: fewer than all.
  void cut(Slot slot, int64_t tokens);
  // What has not arrived is given up. REQUIRES: some of it is visible.
  void end_at_visible(Slot slot);
  // A move of `moved` into this tier has ended. Returns false when it is for an entry that has left.
  bool arrive(const Moved& moved, bool from_gpu);
  // Contexts may leave that are here completely, are not being copied and are not pinned.
  void set_source(Slot slot, bool source) { entries_[slot].source = source; }
  void settle(Slot slot, bool pinned);

  // Nothing is above the capacity or below zero, by the sums.
  void check_room() const;
  // Re-derives the sums. `contexts`: how many should be here.
  void check(int64_t contexts) const;

 private:
  static const Entry kNone;

  struct Lease {
    Order until = 0;
    Slot slot = 0;
  };

  // The only place that holds a context in the orders or releases it there, by all of its marks.
  void hold_or_release(Slot slot);
  void choose(Slot slot, bool chosen);
  Slot next_victim();
  void end_leases(Order now);
  void end_soft_pins(Order now);

  StoreTier options_;
  int64_t capacity_tokens_ = 0;
  int64_t target_tokens_ = 0;
  std::unique_ptr<Eviction> eviction_;
  std::unique_ptr<Eviction> soft_pins_;  // of the soft-pinned, least recently used first; none without such
  std::deque<Lease> leases_;             // by their end, also those that a later one has taken the place of
  std::vector<Entry> entries_;
  std::vector<Slot> victims_;  // of the last choice
  int64_t spare_tokens_ = 0;
  int64_t used_tokens_ = 0;
  int64_t free_to_leave_tokens_ = 0;  // of entries that are not held
  int64_t came_tokens_ = 0;
  int64_t left_tokens_ = 0;
};

}  // namespace kvcap
