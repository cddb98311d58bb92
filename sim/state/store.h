// Store: what lies where. It decides placement and eviction and hands out the Moves that follow; whoever
// owns the clock performs them and reports back. It knows no time, no links and no policy.
//
// A context (all turns of a session) lies in at most one host tier, the nearest that has room: new bytes
// enter the first tier, its victims are demoted to the next, the last tier's victims are dropped, and a
// context that is read from farther than DRAM is promoted into DRAM, which it passes on its way. In front may
// stand an `hbm` tier, which holds contexts as KV between turns without giving up the copy behind it. Space
// is reserved when a Move is issued and visible to find() when it is done, so occupancy never exceeds
// capacity; what a demotion leaves is free at once, its bytes wait in the write queue. A context with a save
// or a demotion under way cannot be evicted.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/tier.h"
#include "state/eviction.h"

namespace kvcap {

struct Hit {
  Key key = 0;
  Tier tier = Tier::hbm;
  int64_t tokens = 0;  // the context's first tokens
};

// Bytes to carry. from == hbm: a save of what the GPU has just computed.
struct Move {
  Key key = 0;
  Tier from = Tier::hbm;
  Tier to = Tier::dram;
  int64_t tokens = 0;        // that move
  int64_t tokens_after = 0;  // of the context that are in `to` when done
  uint64_t generation = 0;
};

struct StoreTier {
  Tier kind = Tier::ssd;
  double capacity_bytes = 0;
  EvictionKind eviction = EvictionKind::lru;
  double bytes_per_token = 0;  // of a context in this tier
};

class Store {
 public:
  // REQUIRES: tiers from near to far, each kind at most once.
  explicit Store(const std::vector<StoreTier>& tiers);

  // The nearest copy of a context, or nothing.
  std::optional<Hit> find(Key key) const;

  // The context now has `tokens` tokens: makes room and reserves it. Returns the moves to perform, in
  // order: demotions, then the save. A context that fits nowhere is not stored.
  std::vector<Move> put(Key key, int64_t tokens, Order now);
  // Puts a context where it would lie after a long time, with no moves (a warm start).
  void preload(Key key, int64_t tokens);
  // A context in a farther host tier is being read: it moves up to the first one if room can be made.
  // Its own bytes travel with the read; returns the demotions.
  std::vector<Move> promote(Key key, Order now);
  void done(const Move& move);

  // A pinned context is in use and may not be evicted; pins nest.
  void pin(Key key);
  void unpin(Key key);
  void touch(Key key, Order now);
  void erase(Key key);

  bool has(Tier tier) const;
  double occupied_bytes(Tier tier) const;
  double capacity_bytes(Tier tier) const;
  double entered_bytes() const { return entered_bytes_; }  // into host tiers from the GPU
  double dropped_bytes() const { return dropped_bytes_; }  // out of the last host tier, or erased
  // Re-derives every sum from the entries; aborts when one is off or a capacity is exceeded.
  void check() const;

 private:
  struct Entry {
    int64_t tokens = 0;   // reserved
    int64_t visible = 0;  // saved
    uint64_t generation = 0;
  };
  struct Level {
    StoreTier options;
    double used_bytes = 0;
    std::unordered_map<Key, Entry> entries;
    std::unique_ptr<Eviction> eviction;
    double bytes(int64_t tokens) const { return static_cast<double>(tokens) * options.bytes_per_token; }
  };

  bool make_room(std::size_t level, double bytes, Key keep, Order now, std::vector<Move>& moves);
  bool enter(std::size_t level, Key key, const Entry& entry, Order now, std::vector<Move>& moves);
  void leave(std::size_t level, Key key);
  std::optional<std::size_t> host_level(Key key) const;
  std::size_t first_host() const { return has_hbm_ ? 1 : 0; }

  std::vector<Level> levels_;
  bool has_hbm_ = false;
  std::unordered_map<Key, int> pins_;
  uint64_t generation_ = 0;
  double entered_bytes_ = 0;
  double dropped_bytes_ = 0;
};

}  // namespace kvcap
