// The part of Store that uses the store shared with other nodes.
#include <algorithm>
#include <iterator>

#include "state/store.h"

namespace kvcap {

// Returns the tokens of the context if the shared store has more than this node, else 0.
int64_t Store::only_shared_tokens(Key key) const {
  const std::optional<Hit> hit = shared_ ? find(key) : std::nullopt;
  return hit && hit->tier == Tier::remote ? hit->tokens : 0;
}

// Tokens arrive in order, so a context that another node is still writing cannot grow yet; the next turn
// saves the new tokens.
void Store::put_shared(std::span<const Item> items, Order now, std::vector<Move>& moves) {
  std::vector<Item> writable;
  std::copy_if(items.begin(), items.end(), std::back_inserter(writable),
               [&](const Item& item) { return writing_.contains(item.key) || !shared_->arriving(item.key); });
  int64_t tokens = 0;
  for (const Item& item : writable) tokens += item.tokens;
  if (!accepts(Tier::hbm, Tier::remote, tokens)) return;
  for (Move& move : shared_->put(writable, now)) {
    for (const Moved& moved : move.items) ++writing_[moved.key];
    moves.push_back(std::move(move));
  }
}

std::vector<Move> Store::note_fetches(std::vector<Move> moves) {
  for (const Move& move : moves) {
    if (move.from != Tier::remote) continue;
    for (const Moved& moved : move.items) {
      ++fetching_[moved.key];
      shared_->pin(moved.key);
    }
  }
  return moves;
}

void Store::done_shared(const Move& move) {
  const bool writes = move.to == Tier::remote;
  if (writes) shared_->done(move);
  std::map<Key, int>& under_way = writes ? writing_ : fetching_;
  for (const Moved& moved : move.items) {
    if (!writes) shared_->unpin(moved.key);
    const auto of_key = under_way.find(moved.key);
    if (--of_key->second == 0) under_way.erase(of_key);
  }
}

int64_t Store::fetches() const {
  int64_t fetches = 0;
  for (const auto& [key, moves] : fetching_) fetches += moves;
  return fetches;
}

void Store::fail() {
  for (const auto& [key, moves] : writing_) shared_->abandon(key);
  for (const auto& [key, moves] : fetching_) {
    for (int i = 0; i < moves; ++i) shared_->unpin(key);
  }
  std::vector<StoreTier> tiers;
  for (const StoreLevel& level : levels_) tiers.push_back(level.options());
  *this = Store(tiers, options_, shared_);
}

}  // namespace kvcap
