#include "state/node_store.h"

#include <algorithm>
#include <iterator>

#include "base/invariants.h"

namespace kvcap {

int64_t NodeStore::only_shared_tokens(Key key) const {
  const std::optional<Hit> hit = shared_ ? find(key) : std::nullopt;
  return hit && hit->tier == Tier::remote ? hit->tokens : 0;
}

std::vector<Move> NodeStore::put(std::span<const Item> items, Order now) {
  std::vector<Move> moves = own_.put(items, now);
  if (!shared_) return moves;
  // Tokens arrive in order, so a context that another node is still writing cannot grow yet; the next turn
  // saves the new tokens.
  std::vector<Item> writable;
  std::copy_if(items.begin(), items.end(), std::back_inserter(writable),
               [&](const Item& item) { return writing_.contains(item.key) || !shared_->arriving(item.key); });
  int64_t tokens = 0;
  for (const Item& item : writable) tokens += item.tokens;
  if (tokens > 0 && accepts_ && !accepts_(Tier::hbm, Tier::remote, tokens, 0, false)) return moves;
  for (Move& move : shared_->put(writable, now)) {
    for (const Moved& moved : move.items) ++writing_[moved.key];
    moves.push_back(std::move(move));
  }
  return moves;
}

void NodeStore::preload(Key key, int64_t tokens, bool shared) {
  own_.preload(key, tokens, shared);
  if (shared_ && !shared_->find(key)) shared_->preload(key, tokens, shared);
}

std::vector<Move> NodeStore::promote(Key key, Order now) {
  const int64_t tokens = only_shared_tokens(key);
  return tokens > 0 ? own_.take_in(key, tokens, Tier::remote, false, now) : own_.promote(key, now);
}

std::vector<Move> NodeStore::prefetch(Key key, Order now) {
  const int64_t tokens = only_shared_tokens(key);
  if (tokens == 0) return own_.prefetch(key, now);
  std::vector<Move> moves = own_.take_in(key, tokens, Tier::remote, true, now);
  for (const Move& move : moves) {
    if (move.from != Tier::remote) continue;
    for (const Moved& moved : move.items) {
      ++fetching_[moved.key];
      shared_->pin(moved.key);
    }
  }
  return moves;
}

void NodeStore::done(const Move& move) {
  if (shared_ && move.to == Tier::remote) {
    shared_->done(move);
    for (const Moved& moved : move.items) {
      const auto of_key = writing_.find(moved.key);
      if (--of_key->second == 0) writing_.erase(of_key);
    }
    return;
  }
  own_.done(move);
  if (!shared_ || move.from != Tier::remote) return;
  for (const Moved& moved : move.items) {
    const auto of_key = fetching_.find(moved.key);
    if (--of_key->second == 0) fetching_.erase(of_key);
    shared_->unpin(moved.key);
  }
}

int64_t NodeStore::fetches() const {
  int64_t fetches = 0;
  for (const auto& [key, moves] : fetching_) fetches += moves;
  return fetches;
}

void NodeStore::check() const {
  own_.check();
  check_moves();
}

void NodeStore::check_in_turn() {
  own_.check_in_turn();
  check_moves();
}

void NodeStore::check_moves() const {
  for (const std::map<Key, int>* under_way : {&writing_, &fetching_}) {
    for (const auto& [key, moves] : *under_way) KVCAP_INVARIANT("INV-MOVES", moves > 0 && shared_);
  }
}

void NodeStore::fail() {
  if (shared_) {
    for (const auto& [key, moves] : writing_) shared_->abandon(key);
    for (const auto& [key, moves] : fetching_) {
      for (int i = 0; i < moves; ++i) shared_->unpin(key);
    }
  }
  writing_.clear();
  fetching_.clear();
  own_ = Store(tiers_, options_);
  own_.accept_moves(accepts_);
}

}  // namespace kvcap
