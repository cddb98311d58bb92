// Store: the contexts in the tiers of one node, with an optional Store below that all nodes share (a network
// tier). It decides on placement and eviction and returns the resulting Moves; its caller, who owns the
// clock, performs them and calls done(). It has no links and no policy, and sees time only as a parameter.
//
// A context (all turns of a session, a prefix block, a chunk of text) is stored in the nearest host tier with
// room:
//
//   - New bytes enter the first tier. Victims are demoted to the next tier that accepts them, and the last
//     tier drops its victims.
//   - A context that is read from below DRAM is promoted into DRAM, because it passes through DRAM anyway.
//   - An inclusive store keeps the lower copy on promotion, and a demotion to such a copy needs no move.
//   - With write-through, the lower copies are written at each put, so that a tier can evict at no cost.
//   - An eager store writes copies from DRAM to the next tier as long as that tier has room for everything in
//     DRAM, and demotes contexts that have no lower copy.
//   - An `hbm` tier may precede the host tiers. It holds contexts as KV between turns, in addition to their
//     host copies. If it is exclusive, a context that enters it leaves the first host tier if a lower tier
//     has all of it, and returns there on eviction if accepted.
//
// Space is reserved when a Move is issued, so occupancy never exceeds capacity; find() sees the tokens when
// the move is done. Tiers evict whole contexts. With `unit_tokens`, the last victim loses only as many units
// of that size at its end as are needed, unless a tier below takes the whole context. This is as in an LRU
// order of blocks in which each use touches the last block first.
//
// A context is held (cannot be evicted) while it is pinned, while a move brings part of it and while it is
// copied to a nearer tier. Room for a context is confirmed before anything is evicted for it. Demoted bytes
// free their room immediately although they still wait in the write queue: leaving_bytes() counts them, and
// free_fraction keeps room for them.
//
// The state after a turn is written both to the node's own tiers and to the shared store. The node's own
// tiers may therefore drop what they evict, and a node finds state that other nodes saved; the first use
// loads this state into DRAM. When a session changes nodes, its copies differ in length: lookups find the
// longest copy, and among equally long copies the nearest.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/tier.h"
#include "state/eviction.h"
#include "state/move.h"
#include "state/options.h"
#include "state/orders.h"
#include "state/store_level.h"

namespace kvcap {

struct Hit {
  Key key = 0;
  Tier tier = Tier::hbm;
  int64_t tokens = 0;  // tokens from the front of the context
};

struct Item {
  Key key = 0;
  int64_t tokens = 0;
  bool shared = false;  // other sessions may use the context, too
};

struct StoreOptions {
  bool inclusive = false;
  WriteMode write = WriteMode::back;  // `back` unless the store is inclusive
  int64_t unit_tokens = 0;            // unit in which contexts lose their ends; 0: whole contexts
  std::optional<double> ttl_s;        // contexts are dropped when unused for this time; absent: never
};

enum class Reach : uint8_t { own, all };  // own: without the shared store

class Store {
 public:
  // `shared`: a store with only the remote tier, which other stores may share, or nullptr. REQUIRES: tiers
  // are ordered from near to far, each kind at most once, none is in `shared`; host tiers have equal
  // bytes_per_token.
  explicit Store(const std::vector<StoreTier>& tiers, const StoreOptions& options = {},
                 Store* shared = nullptr);

  // Called before tokens move into a host tier, from the GPU or another tier. Returns false if the tier's
  // write queue is full, which refuses the move. `issued`: tokens that the current call of the store has
  // already issued between the same tiers. `ahead`: a prefetch, which can happen later if refused. Without a
  // callback every move is accepted. A refused save is dropped; it is not redirected to another tier.
  using Accepts = std::function<bool(Tier from, Tier to, int64_t tokens, int64_t issued, bool ahead)>;
  void accept_moves(Accepts accepts) { accepts_ = std::move(accepts); }

  // Returns the nearest copy of a context, or a longer one in the shared store; nullopt if there is none.
  std::optional<Hit> find(Key key, Reach reach = Reach::all) const;

  // Stores the contexts with their current numbers of tokens: makes and reserves room. Returns the moves to
  // perform, one per pair of tiers, demotions before saves. The last context is the most recently used one. A
  // context that fits nowhere is not stored. A context that outgrew its tier moves down; if that is
  // impossible or part of the context is under way, it stays unchanged (its first part remains valid).
  std::vector<Move> put(std::span<const Item> items, Order now);
  std::vector<Move> put(Key key, int64_t tokens, Order now);
  // Stores a context without moves (a warm start) in the first host tier with room, and in an inclusive store
  // also in the tiers below.
  void preload(Key key, int64_t tokens, bool shared = false);
  // Promotes a context that is being read from a lower tier into DRAM if room can be made. The context's own
  // bytes travel with the read, so this returns only the demotions.
  std::vector<Move> promote(Key key, Order now);
  // Prefetches a context from a lower tier into the first host tier, which delays its expiry. The old copy
  // serves until the prefetch is done. Does nothing if the context is already in the first tier or under way,
  // or if making room would evict contexts that are needed sooner (next_use) or have a higher score, or would
  // use room that is to be kept free.
  std::vector<Move> prefetch(Key key, Order now);
  // True iff a prefetch of the context is under way.
  bool fetching(Key key) const;
  // Copies the first `tokens` tokens of a context from another store, which is as far away as tier `from`,
  // into DRAM, if DRAM is the first host tier and room can be made. The tokens travel with a read or, with
  // `ahead`, in a move of their own under the rules of prefetch().
  std::vector<Move> take_in(Key key, int64_t tokens, Tier from, bool ahead, Order now);
  void done(const Move& move);
  // True iff part of the context is still under way to some tier.
  bool arriving(Key key) const;
  // Cancels the moves of the context that are under way: each entry ends at its visible tokens, or leaves if
  // it has none.
  void abandon(Key key);

  // Pins the context, which is in use and may not be evicted; pins nest.
  void pin(Key key);
  void unpin(Key key);
  // Notes a use of a stored context. `again`: by the same turn; this updates recency but does not count as a
  // use.
  void touch(Key key, Order now, bool again = false);
  // Sets the next use of a context, stored or not, until replaced. kNever: unknown.
  void expect(Key key, Order next_use);
  // From now on, records contexts with a known next use whenever a part of them enters, arrives or leaves.
  void watch() { watched_ = true; }
  // Returns the contexts recorded since the last call, some perhaps twice. Returns nullopt if there is a
  // shared store, which other nodes may have changed.
  std::optional<std::vector<Key>> take_changed() {
    if (shared_) return std::nullopt;
    return std::exchange(changed_, {});
  }
  // Sets the value of a context for tiers that evict by score. The value becomes 0 when the context leaves
  // the store, or when it is put but not admitted.
  void weigh(Key key, double score);

  // Drops all stored copies of a context.
  void erase(Key key, Reach reach = Reach::all);
  // Keeps only the last `tokens` tokens of the context, in place.
  void shrink(Key key, int64_t tokens);
  // Drops unpinned contexts that were not used for ttl_s.
  void expire(Order now);
  // Empties the node's own tiers after a failure of the node, whose unfinished writes to the shared store
  // never arrive. REQUIRES: no pins by users on this node.
  void fail();

  bool has(Tier tier, Reach reach = Reach::all) const {
    return level_of(tier) || (reach == Reach::all && shared_ && shared_->has(tier));
  }
  // These functions refer to the node's own tiers; capacity_bytes() also covers the shared store.
  double occupied_bytes(Tier tier) const;
  double capacity_bytes(Tier tier) const;
  // Returns the bytes that were demoted out of the tier and have not arrived at their target.
  double leaving_bytes(Tier tier) const;
  // Returns the total bytes that entered the tier as saves, demotions and copies.
  double came_bytes(Tier tier) const;
  double entered_bytes() const { return host_bytes(entered_tokens_); }  // from the GPU into host tiers
  // Returns the bytes of contexts whose last host copy left, for any reason.
  double dropped_bytes() const { return host_bytes(dropped_tokens_); }
  // Returns the number of contexts with a record: stored, pinned, or with a hint.
  std::size_t known() const { return slots_.size(); }
  int64_t pins() const { return pins_; }
  // Returns the number of running prefetches from the shared store; each pins its context there.
  int64_t fetches() const;
  // Recomputes every sum from the entries. Aborts on a mismatch or an exceeded capacity.
  void check() const;
  // Runs the checks that are due after an event. Each call checks the capacities; the sums over all contexts
  // are checked at every call for up to 256 contexts and less often beyond that, so that the cost per call
  // stays the same.
  void check_in_turn();

 private:
  struct Record {
    Key key = 0;
    Order last_use = 0;
    uint32_t length = 0;  // tokens of the context, stored or not
    uint32_t pins = 0;
    uint32_t uses = 1;      // turns that created or found the context
    uint8_t levels = 0;     // one bit per level that stores the context
    bool expected = false;  // the next use is known
    bool weighed = false;   // the score is not 0
    bool aging = false;     // the context is in age_
    bool in_use = false;    // the slot is taken
    bool shared = false;    // several sessions may use it
  };

  Slot slot_of(Key key);
  void tidy(Slot slot);
  void forget_if_gone(Slot slot);
  void used(Slot slot, Order now);
  void settle(Slot slot);
  void put_one(Slot slot, int64_t tokens, Order now);
  void copy_down(Slot slot);
  void put_front(Slot slot, int64_t tokens);
  void free_host_place(Slot slot);
  void return_to_host(Slot slot);
  enum class Placed : uint8_t { yes, no_room, refused };
  Placed place(std::size_t level, Slot slot, int64_t tokens, std::optional<std::size_t> from);
  bool make_way(std::size_t level, Slot slot, int64_t tokens, int64_t limit_tokens, bool ahead = false);
  bool accepts(Tier from, Tier to, int64_t tokens, bool ahead = false) const;
  void evict(std::size_t level, Slot slot, int64_t spare_tokens);
  bool move_down(Slot slot, int64_t tokens);
  void evict_victims(std::size_t level);
  void reserve(std::size_t level, Slot slot, int64_t tokens);
  void leave(std::size_t level, Slot slot, bool evicted);
  void drop(Slot slot);
  void add_move(std::size_t level, Slot slot, Tier from, int64_t first, int64_t end);
  void note_change(Slot slot) {
    if (watched_ && records_[slot].expected) changed_.push_back(records_[slot].key);
  }
  std::vector<Move> finish();
  void put_shared(std::span<const Item> items, Order now, std::vector<Move>& moves);
  int64_t only_shared_tokens(Key key) const;
  std::vector<Move> note_fetches(std::vector<Move> moves);
  void done_shared(const Move& move);

  std::size_t first_host() const { return has_hbm_ ? 1 : 0; }
  std::optional<std::size_t> host_level(Slot slot) const;
  int64_t kept_tokens(Slot slot) const;
  const StoreLevel* level_of(Tier tier) const;
  double host_bytes(int64_t tokens) const;

  StoreOptions options_;
  Order now_ = 0;  // time of the current call
  std::vector<StoreLevel> levels_;
  bool has_hbm_ = false;
  KeySlots slots_;
  std::vector<Record> records_;          // by slot
  std::unique_ptr<Eviction> age_;        // with a TTL: all stored contexts, least recently used first
  std::vector<Move> moves_;              // moves of the current call
  std::vector<int64_t> leaving_tokens_;  // by level
  bool watched_ = false;
  std::vector<Key> changed_;
  Accepts accepts_;
  Store* shared_ = nullptr;
  std::map<Key, int> writing_;   // moves to the shared store, per context
  std::map<Key, int> fetching_;  // prefetches from the shared store, per context
  uint64_t generation_ = 0;
  int64_t entered_tokens_ = 0;
  int64_t dropped_tokens_ = 0;
  int64_t pins_ = 0;
  std::size_t unchecked_slots_ = 0;  // slots since the last check by check_in_turn()
};

}  // namespace kvcap
