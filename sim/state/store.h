// Store: what lies where. It decides placement and eviction and hands out the Moves that follow; whoever
// owns the clock performs them and reports back. It knows no links and no policy, and time only as a number
// that it is told.
//
// A context (all turns of a session, a prefix block, a chunk of text) lies in one host tier, the nearest that
// has room: new bytes enter the first tier, its victims are demoted to the next that takes them, the last
// tier's are dropped, and a context that is read from farther than DRAM is promoted into DRAM, which it
// passes on its way. In an inclusive store a copy stays behind when a context moves up, and one that comes
// down again to such a copy costs no move; with write-through the copies below are written when a context is
// put, which is when a tier can lose it at no cost. An eager store does so from DRAM to the tier below while
// that has room for all of DRAM besides, and demotes what has no copy. In front may stand an `hbm` tier,
// which holds contexts as KV between turns without giving up the copy behind it. Where it is exclusive, what
// enters it gives up its place in the first host tier if a farther one has all of it, and what it evicts goes
// back there if that takes it.
//
// Space is reserved when a Move is issued and visible to find() when it is done, so occupancy never exceeds
// capacity. What leaves a tier are contexts as a whole; or, with `unit_tokens`, blocks of so many tokens,
// where no tier below takes all of the context: then the end of the first to leave makes the room, as in a
// least-recently-used order of blocks that a use touches from the last to the first.
//
// A context is held, that is, cannot be evicted, while it is pinned, while a move brings part of it
// and while it is copied to a nearer tier; whether a context has a place at all is known before anything is
// evicted for it. What a demotion leaves is free at once, although its bytes still wait in the write queue:
// leaving_bytes() says how many do, and a tier's free_fraction is the room to hold them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/tier.h"
#include "state/eviction.h"
#include "state/move.h"
#include "state/options.h"
#include "state/store_level.h"

namespace kvcap {

struct Hit {
  Key key = 0;
  Tier tier = Tier::hbm;
  int64_t tokens = 0;  // the context's first tokens
};

struct Item {
  Key key = 0;
  int64_t tokens = 0;
  bool shared = false;  // other sessions may have it, too
};

struct StoreOptions {
  bool inclusive = false;
  WriteMode write = WriteMode::back;  // back, unless the store is inclusive
  int64_t unit_tokens = 0;            // in which contexts lose their ends; 0: they leave as a whole
  std::optional<double> ttl_s;        // contexts unused for so long leave; absent: never
};

class Store {
 public:
  // REQUIRES: tiers from near to far, each kind at most once; host tiers with the same bytes_per_token.
  explicit Store(const std::vector<StoreTier>& tiers, const StoreOptions& options = {});

  // Asked before tokens are to move into a host tier, from the GPU or from another tier: false where the
  // write queue of that tier is full, so that they do not. `issued`: tokens of moves between the same tiers
  // that the same call has issued before, and that nobody performs yet. `ahead`: the context moves
  // later if this is refused. Without this function every move is accepted. What a tier refuses to save stays
  // as it is, and goes to no other tier instead.
  using Accepts = std::function<bool(Tier from, Tier to, int64_t tokens, int64_t issued, bool ahead)>;
  void accept_moves(Accepts accepts) { accepts_ = std::move(accepts); }

  // The nearest copy of a context, or nothing.
  std::optional<Hit> find(Key key) const;

  // The contexts now have so many tokens: makes room and reserves it. Returns the moves to perform, one for
  // each pair of tiers, demotions before saves. Of several contexts the last is the most recently used. One
  // that fits nowhere is not stored; one that has outgrown its tier moves down, and stays as it is (its first
  // part is still good) where that is impossible or part of it is still under way.
  std::vector<Move> put(std::span<const Item> items, Order now);
  std::vector<Move> put(Key key, int64_t tokens, Order now);
  // Puts a context where it would lie after a long time, with no moves (a warm start): into the first host
  // tier that has room, in an inclusive store into those below as well.
  void preload(Key key, int64_t tokens, bool shared = false);
  // A context in a farther host tier is being read: it moves up into DRAM if room can be made.
  // Its own bytes travel with the read; returns the demotions.
  std::vector<Move> promote(Key key, Order now);
  // Brings a context from a farther host tier into the first one ahead of its use, which delays its expiry;
  // until that is done the old copy serves. Nothing happens when it is there or under way already, or when
  // something would have to leave that is needed sooner (next_use) or worth more (score), or more than the
  // share to keep free.
  std::vector<Move> prefetch(Key key, Order now);
  // True while a prefetch of the context is under way.
  bool fetching(Key key) const;
  // The context's first tokens are in another store, as far as `from` is away, and are to lie here as well:
  // in DRAM, if that is the first host tier and room can be made. They travel with a read of them, or,
  // `ahead` of any, with a move of their own, under the rules of prefetch().
  std::vector<Move> take_in(Key key, int64_t tokens, Tier from, bool ahead, Order now);
  void done(const Move& move);
  // Part of the context is still under way to some tier.
  bool arriving(Key key) const;
  // What is under way of the context will never arrive: there it ends before that, or leaves.
  void abandon(Key key);

  // A pinned context is in use and may not be evicted; pins nest.
  void pin(Key key);
  void unpin(Key key);
  // A use of a stored context; again by the same turn: it is as recent, but not used once more.
  void touch(Key key, Order now, bool again = false);
  // When a context will be used next, stored or not; holds until told otherwise. kNever: not known.
  void expect(Key key, Order next_use);
  // From now on, contexts whose next use is known and of which something enters, arrives or leaves are
  // listed.
  void watch() { watched_ = true; }
  // Those since it was asked last; some more than once.
  std::vector<Key> take_changed() { return std::exchange(changed_, {}); }
  // What a context is worth to tiers that keep the highest score; forgotten when it leaves the store, or is
  // put and not admitted. 0: nothing.
  void weigh(Key key, double score);

  // Everything stored of a context is void.
  void erase(Key key);
  // The context keeps only its last `tokens` tokens, in place.
  void shrink(Key key, int64_t tokens);
  // Drops what was not used for ttl_s and is not pinned.
  void expire(Order now);

  bool has(Tier tier) const { return level_of(tier) != nullptr; }
  double occupied_bytes(Tier tier) const;
  double capacity_bytes(Tier tier) const;
  // Demoted out of the tier and not yet arrived where they go.
  double leaving_bytes(Tier tier) const;
  // Into the tier in all, as saves, demotions and copies.
  double came_bytes(Tier tier) const;
  double entered_bytes() const { return host_bytes(entered_tokens_); }  // into host tiers from the GPU
  double dropped_bytes() const { return host_bytes(dropped_tokens_); }  // the last copy left, for any reason
  // Contexts that it has a record of: stored, pinned or told of.
  std::size_t known() const { return slots_.size(); }
  int64_t pins() const { return pins_; }
  // Re-derives every sum from the entries; aborts when one is off or a capacity is exceeded.
  void check() const;
  // For after every event: room is checked at every call, the sums too while there are up to 256 contexts,
  // and of more as often as takes no longer.
  void check_in_turn();

 private:
  struct Record {
    Key key = 0;
    Order last_use = 0;
    uint32_t length = 0;  // tokens of the context, stored or not
    uint32_t pins = 0;
    uint32_t uses = 1;      // the turn that left it, and those that found it
    uint8_t levels = 0;     // a bit for each level it lies in
    bool expected = false;  // its next use is known
    bool weighed = false;   // its score is not 0
    bool aging = false;     // stands in age_
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

  std::size_t first_host() const { return has_hbm_ ? 1 : 0; }
  std::optional<std::size_t> host_level(Slot slot) const;
  int64_t kept_tokens(Slot slot) const;
  const StoreLevel* level_of(Tier tier) const;
  double host_bytes(int64_t tokens) const;

  StoreOptions options_;
  Order now_ = 0;  // of the call under way
  std::vector<StoreLevel> levels_;
  bool has_hbm_ = false;
  KeyMap<Slot, kNoSlot> slots_;
  std::vector<Record> records_;  // by slot
  std::vector<Slot> free_slots_;
  std::unique_ptr<Eviction> age_;  // where contexts expire: all that are stored, least recently used first
  std::vector<Move> moves_;        // of the call under way
  std::vector<int64_t> leaving_tokens_;  // by level
  bool watched_ = false;
  std::vector<Key> changed_;
  Accepts accepts_;
  uint64_t generation_ = 0;
  int64_t entered_tokens_ = 0;
  int64_t dropped_tokens_ = 0;
  int64_t pins_ = 0;
  std::size_t unchecked_slots_ = 0;  // that check_in_turn() has put off
};

}  // namespace kvcap
