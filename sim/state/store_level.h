// StoreLevel: one tier of the store: its contexts, their arrived tokens and the choice of victims. It counts
// tokens, so its sums are exact; bytes are tokens times bytes_per_token.
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
  double bytes_per_token = 0;  // size of a context's token in this tier
  double free_fraction = 0;    // 0 <= f < 1
  bool exclusive = false;      // hbm only: contexts here take no room in the first host tier
  // If more than this share of the capacity is full, evict_share of it is evicted at once, in the background;
  // 0: never.
  double evict_at = 0;
  double evict_share = 0;
  double lease_s = 0;  // contexts are not evicted for this time after a read
  // Shared contexts stay for this time after a use, as long as another context can be evicted.
  double soft_pin_s = 0;
  int64_t after_uses = 1;  // a context enters after this many uses
};

class StoreLevel {
 public:
  static constexpr uint32_t kNothing = std::numeric_limits<uint32_t>::max();

  // A context in this tier. Its tokens arrive in order, except for one part that may come from another tier.
  struct Entry {
    uint64_t generation = 0;           // distinguishes the entry from earlier ones of the context
    uint32_t tokens = 0;               // reserved; 0: not in this tier
    uint32_t arrived = 0;              // tokens from the front that have arrived, except awaited ones
    uint32_t awaited_from = kNothing;  // beginning of the part that comes from another tier
    uint32_t cut = 0;                  // tokens lost at the front since the context entered
    bool source = false;               // is being copied to a nearer tier
    bool held = false;                 // must not be evicted
    bool chosen = false;               // newcomer of a victim search, or its victim until eviction
    bool soft_pinned = false;          // evicted after all contexts without a soft pin
    bool leased = false;               // read within lease_s: not evicted
    Order leased_until = 0;
    Order pinned_until = 0;  // end of the soft pin
    int64_t visible() const { return std::min(arrived, awaited_from); }
    bool complete() const { return visible() == tokens; }
  };

  explicit StoreLevel(const StoreTier& options);

  const StoreTier& options() const { return options_; }
  int64_t used_tokens() const { return used_tokens_; }
  int64_t capacity_tokens() const { return capacity_tokens_; }
  int64_t target_tokens() const { return target_tokens_; }  // capacity without the share to keep free
  // True iff `tokens` more fit without an eviction.
  bool has_room(int64_t tokens) const;
  int64_t came_tokens() const { return came_tokens_; }  // total since the beginning
  double bytes(int64_t tokens) const { return static_cast<double>(tokens) * options_.bytes_per_token; }
  Eviction& eviction() { return *eviction_; }

  // Returns the entry of a context; all fields are zero if it is not in this tier.
  const Entry& entry(Slot slot) const { return slot < entries_.size() ? entries_[slot] : kNone; }
  int64_t tokens(Slot slot) const { return entry(slot).tokens; }
  bool has(Slot slot) const { return entry(slot).tokens > 0; }

  // Chooses victims so that `tokens` more tokens of `newcomer` keep the tier within `limit_tokens`. Returns
  // false if that is impossible: there is not enough room, or a victim has a lease or does not yield. Chosen
  // victims are held until they leave.
  bool choose_victims(Slot newcomer, int64_t tokens, int64_t limit_tokens, bool ahead, Order now);
  // Returns the next victim, or kNoSlot. Leases and soft pins that ended by `now` no longer count.
  Slot victim(Order now);
  // Renews the lease of a context that was read.
  void lease(Slot slot, Order now);
  // Renews the soft pin of a context that several sessions share and that was put or used.
  void soft_pin(Slot slot, Order now);
  // Returns how many tokens background eviction should evict now.
  int64_t batch_tokens() const;
  std::span<const Slot> victims() const { return victims_; }
  // Returns how many tokens of the last victim need not leave.
  int64_t spare_tokens() const { return spare_tokens_; }

  // Adds the context or grows it to `tokens`. REQUIRES: there is room; the context does not shrink.
  Entry& reserve(Slot slot, Key key, int64_t tokens, uint64_t generation);
  // Marks all tokens of the context as arrived.
  void show(Slot slot) { entries_[slot].arrived = entries_[slot].tokens; }
  // Marks the tokens after the first `tokens` ones as coming from another tier; later saves may arrive before
  // them.
  void await(Slot slot, int64_t tokens) { entries_[slot].awaited_from = static_cast<uint32_t>(tokens); }
  void leave(Slot slot, bool evicted);
  // Keeps the first `tokens` tokens of the context and its place in the order. REQUIRES: `tokens` is positive
  // and at most the number that it has; the context is not held.
  void trim(Slot slot, int64_t tokens);
  // Removes the first `tokens` tokens of the context. REQUIRES: fewer than all.
  void cut(Slot slot, int64_t tokens);
  // Gives up the tokens that have not arrived. REQUIRES: some tokens are visible.
  void end_at_visible(Slot slot);
  // Ends a move of `moved` into this tier. Returns false if its entry has left the tier.
  bool arrive(const Moved& moved, bool from_gpu);
  // set_source() and settle() update whether a context may be evicted: it must be complete, not being copied
  // and unpinned.
  void set_source(Slot slot, bool source) { entries_[slot].source = source; }
  void settle(Slot slot, bool pinned);

  // Checks, using only the sums, that the stored tokens are between 0 and the tier's capacity.
  void check_room() const;
  // Recomputes the sums and aborts on a mismatch. `contexts`: expected number of contexts.
  void check(int64_t contexts) const;

 private:
  static const Entry kNone;

  struct Lease {
    Order until = 0;
    Slot slot = 0;
  };

  // The only function that holds or releases a context in the orders; it considers all of the context's
  // marks.
  void hold_or_release(Slot slot);
  void choose(Slot slot, bool chosen);
  Slot next_victim();
  void end_leases(Order now);
  void end_soft_pins(Order now);

  StoreTier options_;
  int64_t capacity_tokens_ = 0;
  int64_t target_tokens_ = 0;
  std::unique_ptr<Eviction> eviction_;
  std::unique_ptr<Eviction> soft_pins_;  // soft-pinned contexts, least recently used first; may be null
  std::deque<Lease> leases_;             // ordered by end; includes leases that have been renewed since
  std::vector<Entry> entries_;
  std::vector<Slot> victims_;  // victims of the last choice
  int64_t spare_tokens_ = 0;
  int64_t used_tokens_ = 0;
  int64_t free_to_leave_tokens_ = 0;  // tokens of entries that are not held
  int64_t came_tokens_ = 0;
  int64_t left_tokens_ = 0;
};

}  // namespace kvcap
