// NodeStore: what one node of a fleet can reach: a Store of its own and behind it, perhaps, one that all
// nodes share (a network tier).
//
// What a turn leaves is written to both, so what leaves the node's own tiers is dropped there, and what
// another node has saved is found as well; it comes into DRAM with its first use here. When a session changes
// nodes its copies differ in length: the longest is found, the nearest of equal ones. When the node fails its
// own tiers are empty and what it was writing to the shared one never arrives.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "state/store.h"

namespace kvcap {

class NodeStore {
 public:
  // `shared`: a store of the remote tier alone, or none. REQUIRES: with it, no remote tier in `tiers`.
  explicit NodeStore(const std::vector<StoreTier>& tiers, const StoreOptions& options = {},
                     Store* shared = nullptr)
      : tiers_(tiers), options_(options), own_(tiers, options), shared_(shared) {}

  // The tiers that nobody else can reach.
  Store& own() { return own_; }
  const Store& own() const { return own_; }

  // As of Store; the shared one is asked by whoever writes to it.
  void accept_moves(Store::Accepts accepts) {
    accepts_ = std::move(accepts);
    own_.accept_moves(accepts_);
  }

  // As of Store, over both.
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
  // As of Store. Nothing: other nodes may have changed anything.
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
  void check_in_turn();  // as Store's, of its own store
  // By those who use contexts on this node; and of the shared store, by what comes ahead of its use.
  int64_t pins() const { return own_.pins(); }
  int64_t fetches() const;

  // The node is lost. REQUIRES: nobody on it has pinned anything.
  void fail();

 private:
  static std::optional<Hit> longer(const std::optional<Hit>& near, const std::optional<Hit>& far) {
    return far && (!near || far->tokens > near->tokens) ? far : near;
  }
  void check_moves() const;
  // Tokens of the context that only the shared store has; 0: this node has as many.
  int64_t only_shared_tokens(Key key) const;

  std::vector<StoreTier> tiers_;
  StoreOptions options_;
  Store own_;
  Store::Accepts accepts_;
  Store* shared_;
  std::map<Key, int> writing_;   // moves of this node to the shared store
  std::map<Key, int> fetching_;  // and ahead of use from it
};

}  // namespace kvcap
