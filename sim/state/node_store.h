// NodeStore: the stores that one node of a fleet can reach: its own Store and optionally a Store below it
// that all nodes share (a network tier).
//
// The state after a turn is written to both, so a node's own tiers may drop what they evict, and nodes find
// state that others saved; the first use loads it into DRAM. When a session changes nodes its copies differ
// in length: lookups find the longest, and of equal ones the nearest. When the node fails, its own tiers are
// emptied, and its unfinished writes to the shared store never arrive.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "state/store.h"

namespace kvcap {

class NodeStore {
 public:
  // `shared`: a store with only the remote tier, or nullptr. REQUIRES: with it, `tiers` has no remote tier.
  explicit NodeStore(const std::vector<StoreTier>& tiers, const StoreOptions& options = {},
                     Store* shared = nullptr)
      : tiers_(tiers), options_(options), own_(tiers, options), shared_(shared) {}

  // Returns the tiers that only this node can reach.
  Store& own() { return own_; }
  const Store& own() const { return own_; }

  // Sets the callback of Store::accept_moves(); put() also calls it before saves to the shared store.
  void accept_moves(Store::Accepts accepts) {
    accepts_ = std::move(accepts);
    own_.accept_moves(accepts_);
  }

  // These functions act on both stores, as in Store.
  std::optional<Hit> find(Key key) const {
    const std::optional<Hit> near = own_.find(key);
    return shared_ ? longer(near, shared_->find(key)) : near;
  }
  std::vector<Move> put(std::span<const Item> items, Order now);
  void preload(Key key, int64_t tokens, bool shared = false);
  std::vector<Move> promote(Key key, Order now);
  std::vector<Move> prefetch(Key key, Order now);
  bool fetching(Key key) const { return own_.fetching(key) || fetching_.contains(key); }
  void done(const Move& move);
  void pin(Key key) {
    own_.pin(key);
    if (shared_) shared_->pin(key);
  }
  void unpin(Key key) {
    own_.unpin(key);
    if (shared_) shared_->unpin(key);
  }
  void touch(Key key, Order now, bool again = false) {
    own_.touch(key, now, again);
    if (shared_) shared_->touch(key, now, again);
  }
  void expect(Key key, Order next_use) {
    own_.expect(key, next_use);
    if (shared_) shared_->expect(key, next_use);
  }
  // As in Store; take_changed() returns nullopt with a shared store, which other nodes may have changed.
  void watch() { own_.watch(); }
  std::optional<std::vector<Key>> take_changed() {
    if (shared_) return std::nullopt;
    return own_.take_changed();
  }
  void weigh(Key key, double score) {
    own_.weigh(key, score);
    if (shared_) shared_->weigh(key, score);
  }
  void erase(Key key) {
    own_.erase(key);
    if (shared_) shared_->erase(key);
  }
  void shrink(Key key, int64_t tokens) {
    own_.shrink(key, tokens);
    if (shared_) shared_->shrink(key, tokens);
  }
  void expire(Order now) {
    own_.expire(now);
    if (shared_) shared_->expire(now);
  }
  bool has(Tier tier) const { return own_.has(tier) || (shared_ && shared_->has(tier)); }
  double capacity_bytes(Tier tier) const {
    return own_.capacity_bytes(tier) + (shared_ ? shared_->capacity_bytes(tier) : 0);
  }
  void check() const;
  void check_in_turn();  // as in Store, for its own store
  // Returns the pins on the node's own store. Running prefetches also pin contexts of the shared store.
  int64_t pins() const { return own_.pins(); }
  int64_t fetches() const;

  // Empties the node's own store after a node failure. REQUIRES: no pins by users on this node.
  void fail();

 private:
  static std::optional<Hit> longer(const std::optional<Hit>& near, const std::optional<Hit>& far) {
    return far && (!near || far->tokens > near->tokens) ? far : near;
  }
  void check_moves() const;
  // Returns the tokens of the context if the shared store has more than this node, else 0.
  int64_t only_shared_tokens(Key key) const;

  std::vector<StoreTier> tiers_;
  StoreOptions options_;
  Store own_;
  Store::Accepts accepts_;
  Store* shared_;
  std::map<Key, int> writing_;   // this node's moves to the shared store, per context
  std::map<Key, int> fetching_;  // this node's prefetches from it, per context
};

}  // namespace kvcap
