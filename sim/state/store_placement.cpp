// The part of Store that decides on the tier of each context, the victims, and the resulting moves.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "state/store.h"

namespace kvcap {

std::optional<Hit> Store::find(Key key, Reach reach) const {
  std::optional<Hit> far;
  if (shared_ && reach == Reach::all) far = shared_->find(key);
  const Slot slot = slots_.find(key);
  if (slot == kNoSlot) return far;
  for (unsigned levels = records_[slot].levels; levels != 0; levels &= levels - 1) {
    const StoreLevel& level = levels_[static_cast<std::size_t>(std::countr_zero(levels))];
    const int64_t visible = level.entry(slot).visible();
    if (visible == 0) continue;
    return far && far->tokens > visible ? far : Hit{key, level.options().kind, visible};
  }
  return far;
}

void Store::reserve(std::size_t level, Slot slot, int64_t tokens) {
  Record& record = records_[slot];
  const bool enters = !levels_[level].has(slot);
  levels_[level].reserve(slot, record.key, tokens, enters ? ++generation_ : 0);
  record.levels |= static_cast<uint8_t>(1U << level);
  if (record.shared) levels_[level].soft_pin(slot, now_);
  note_change(slot);
}

void Store::leave(std::size_t level, Slot slot, bool evicted) {
  levels_[level].leave(slot, evicted);
  records_[slot].levels &= static_cast<uint8_t>(~(1U << level));
  note_change(slot);
}

// Adds a move of tokens [first, end) of a context to its entry in `level`.
void Store::add_move(std::size_t level, Slot slot, Tier from, int64_t first, int64_t end) {
  if (end <= first) return;
  const Tier to = levels_[level].options().kind;
  auto move = std::find_if(moves_.begin(), moves_.end(),
                           [&](const Move& one) { return one.from == from && one.to == to; });
  if (move == moves_.end()) move = moves_.insert(moves_.end(), {.from = from, .to = to});
  const StoreLevel::Entry& entry = levels_[level].entry(slot);
  move->tokens += end - first;
  move->items.push_back({.key = records_[slot].key,
                         .tokens = end - first,
                         .tokens_after = end,
                         .generation = entry.generation,
                         .slot = slot,
                         .cut = entry.cut});
}

// Gives a context `tokens` tokens in `level` if room can be made. Missing tokens come from the level `from`,
// as far as it has them, and the rest from the GPU.
Store::Placed Store::place(std::size_t level, Slot slot, int64_t tokens, std::optional<std::size_t> from) {
  StoreLevel& to = levels_[level];
  const int64_t before = to.tokens(slot);
  const int64_t carried = from ? std::max(levels_[*from].tokens(slot), before) : before;
  if (before == 0 && records_[slot].uses < to.options().after_uses) return Placed::no_room;
  const Tier carried_from = from ? levels_[*from].options().kind : Tier::hbm;
  if (!accepts(carried_from, to.options().kind, carried - before) ||
      !accepts(Tier::hbm, to.options().kind, tokens - carried)) {
    return Placed::refused;
  }
  if (!make_way(level, slot, tokens, to.capacity_tokens())) return Placed::no_room;
  evict_victims(level);
  reserve(level, slot, tokens);
  if (carried > before) {
    to.await(slot, before);
    add_move(level, slot, levels_[*from].options().kind, before, carried);
    if (*from < level) leaving_tokens_[*from] += carried - before;
  }
  add_move(level, slot, Tier::hbm, carried, tokens);
  to.settle(slot, records_[slot].pins > 0);
  return Placed::yes;
}

bool Store::accepts(Tier from, Tier to, int64_t tokens, bool ahead) const {
  if (!accepts_ || tokens <= 0) return true;
  const auto issued = std::find_if(moves_.begin(), moves_.end(),
                                   [&](const Move& one) { return one.from == from && one.to == to; });
  return accepts_(from, to, tokens, issued == moves_.end() ? 0 : issued->tokens, ahead);
}

// Chooses the victims that leave `level` so that a context can have `tokens` tokens there. Returns false if
// that is impossible.
bool Store::make_way(std::size_t level, Slot slot, int64_t tokens, int64_t limit_tokens, bool ahead) {
  StoreLevel& to = levels_[level];
  if (!to.has(slot)) to.eviction().awaits(records_[slot].key);
  return to.choose_victims(slot, tokens - to.tokens(slot), limit_tokens, ahead, now_);
}

void Store::evict_victims(std::size_t level) {
  const std::span<const Slot> victims = levels_[level].victims();
  const int64_t spare_tokens = levels_[level].spare_tokens();
  for (Slot victim : victims) evict(level, victim, victim == victims.back() ? spare_tokens : 0);
}

// Demotes the context to the next level that accepts it, or drops it. With unit_tokens, keeps as much of its
// first `spare_tokens` tokens as whole units allow.
void Store::evict(std::size_t level, Slot slot, int64_t spare_tokens) {
  const int64_t kept = kept_tokens(slot);
  // A written-through context has its copy below, or that copy has already been evicted.
  if (host_level(slot) == level && options_.write != WriteMode::through)
    move_down(slot, levels_[level].tokens(slot));
  if (levels_[level].options().exclusive) return_to_host(slot);
  if (levels_[level].has(slot)) {
    const int64_t unit = options_.unit_tokens;
    const int64_t stay = unit > 0 && level >= first_host() ? spare_tokens / unit * unit : 0;
    const bool below_has_it =
        std::any_of(levels_.begin() + static_cast<std::ptrdiff_t>(level) + 1, levels_.end(),
                    [&](const StoreLevel& below) { return below.tokens(slot) >= stay; });
    if (stay > 0 && !below_has_it) {
      levels_[level].trim(slot, stay);
      note_change(slot);
    } else {
      leave(level, slot, true);
    }
  }
  dropped_tokens_ += kept - kept_tokens(slot);
  forget_if_gone(slot);
}

// Moves a context and its new tokens to the first lower level that accepts all of it. Copies on the way are
// shorter and leave together with the source.
bool Store::move_down(Slot slot, int64_t tokens) {
  const std::size_t from = *host_level(slot);
  for (std::size_t level = from + 1; level < levels_.size(); ++level) {
    if (place(level, slot, tokens, from) != Placed::yes) continue;
    for (std::size_t above = from; above < level; ++above) {
      if (levels_[above].has(slot)) leave(above, slot, true);
    }
    return true;
  }
  return false;
}

void Store::put_front(Slot slot, int64_t tokens) {
  StoreLevel& front = levels_[0];
  const int64_t before = front.tokens(slot);
  if (tokens <= before) {
    front.eviction().renew(slot);
  } else if (make_way(0, slot, tokens, front.capacity_tokens())) {
    if (front.options().exclusive) {
      free_host_place(slot);  // before evictions because a victim may take its place
      ++records_[slot].pins;  // demotions of victims must not evict its own copy
      settle(slot);
    }
    evict_victims(0);
    if (front.options().exclusive) --records_[slot].pins;
    reserve(0, slot, tokens);
    front.show(slot);
    settle(slot);
  } else if (before > 0) {
    leave(0, slot, false);
  }
}

void Store::free_host_place(Slot slot) {
  if (levels_.size() == first_host()) return;
  const StoreLevel::Entry& here = levels_[first_host()].entry(slot);
  if (here.tokens == 0 || here.source || !here.complete()) return;
  for (std::size_t level = first_host() + 1; level < levels_.size(); ++level) {
    const StoreLevel::Entry& copy = levels_[level].entry(slot);
    if (copy.tokens != here.tokens || copy.source || !copy.complete()) continue;
    return leave(first_host(), slot, false);
  }
}

void Store::return_to_host(Slot slot) {
  const std::optional<std::size_t> at = host_level(slot);
  if (!at || *at == first_host()) return;
  StoreLevel& below = levels_[*at];
  const int64_t kept = below.tokens(slot);
  if (!below.entry(slot).complete() || levels_[0].tokens(slot) < kept) return;
  below.set_source(slot, true);  // demotions for it must not evict its own copy
  settle(slot);
  place(first_host(), slot, kept, std::nullopt);
  below.set_source(slot, false);
  settle(slot);
}

void Store::put_one(Slot slot, int64_t tokens, Order now) {
  Record& record = records_[slot];
  const auto length = static_cast<uint32_t>(tokens);
  record.length = record.levels == 0 ? length : std::max(record.length, length);
  if (has_hbm_) put_front(slot, tokens);

  const std::optional<std::size_t> at = host_level(slot);
  const int64_t kept = kept_tokens(slot);
  if (tokens <= kept) {
    levels_[*at].eviction().renew(slot);
    if (record.shared) levels_[*at].soft_pin(slot, now);
  } else if (at) {
    const bool complete = levels_[*at].entry(slot).complete();
    const Placed placed = place(*at, slot, tokens, std::nullopt);
    const bool outgrown = placed == Placed::no_room && complete;
    if (placed == Placed::yes || (outgrown && move_down(slot, tokens))) entered_tokens_ += tokens - kept;
  } else {
    for (std::size_t level = first_host(); level < levels_.size(); ++level) {
      const Placed placed = place(level, slot, tokens, std::nullopt);
      if (placed == Placed::no_room) continue;
      if (placed == Placed::yes) entered_tokens_ += tokens;
      break;
    }
  }
  if (options_.write != WriteMode::back) copy_down(slot);
  if (record.levels != 0) used(slot, now);
}

// Copies the nearest host entry to all lower tiers that accept it. Eager: only from DRAM to the next tier,
// and only if that tier also has room for all of DRAM. So demotions always find room there, and no copy
// evicts anything.
void Store::copy_down(Slot slot) {
  const std::optional<std::size_t> at = host_level(slot);
  if (!at) return;
  const bool eager = options_.write == WriteMode::eager;
  if (eager && levels_[*at].options().kind != Tier::dram) return;
  const std::size_t end = eager ? std::min(*at + 2, levels_.size()) : levels_.size();
  const int64_t tokens = levels_[*at].tokens(slot);
  ++records_[slot].pins;  // demotions of victims must not evict its own copy
  settle(slot);
  for (std::size_t level = *at + 1; level < end; ++level) {
    const int64_t missing = tokens - levels_[level].tokens(slot);
    if (missing <= 0) continue;
    const Tier to = levels_[level].options().kind;
    const int64_t room = missing + levels_[*at].capacity_tokens();
    if (eager && !(levels_[level].has_room(room) && accepts(Tier::dram, to, missing, true))) break;
    const bool shorter = place(level, slot, tokens, at) != Placed::yes;
    if (shorter && levels_[level].has(slot)) break;  // no copy is longer than one above it
  }
  --records_[slot].pins;
  settle(slot);
}

std::vector<Move> Store::put(std::span<const Item> items, Order now) {
  now_ = now;
  for (const Item& item : items) {
    if (item.tokens <= 0) continue;
    const Slot slot = slot_of(item.key);
    records_[slot].shared |= item.shared;
    put_one(slot, item.tokens, now);
    forget_if_gone(slot);
  }
  std::vector<Move> moves = finish();
  if (shared_) put_shared(items, now, moves);
  return moves;
}

std::vector<Move> Store::put(Key key, int64_t tokens, Order now) {
  const Item item{key, tokens};
  return put({&item, 1}, now);
}

void Store::preload(Key key, int64_t tokens, bool shared) {
  now_ = 0;
  const Slot slot = slot_of(key);
  KVCAP_CHECK(records_[slot].levels == 0 && tokens > 0);
  records_[slot].shared |= shared;
  for (std::size_t i = first_host(); i < levels_.size(); ++i) {
    if (levels_[i].used_tokens() + tokens > levels_[i].target_tokens()) continue;
    if (records_[slot].levels == 0) entered_tokens_ += tokens;
    reserve(i, slot, tokens);
    levels_[i].show(slot);
    records_[slot].length = static_cast<uint32_t>(tokens);
    if (!options_.inclusive) break;
  }
  if (records_[slot].levels != 0) used(slot, 0);
  settle(slot);
  forget_if_gone(slot);
  if (shared_ && !shared_->find(key)) shared_->preload(key, tokens, shared);
}

std::vector<Move> Store::promote(Key key, Order now) {
  if (const int64_t far_tokens = only_shared_tokens(key); far_tokens > 0) {
    return take_in(key, far_tokens, Tier::remote, false, now);
  }
  now_ = now;
  const Slot slot = slots_.find(key);
  const std::optional<std::size_t> at = slot != kNoSlot ? host_level(slot) : std::nullopt;
  if (!at || *at == first_host() || levels_[first_host()].options().kind != Tier::dram) return {};
  StoreLevel& below = levels_[*at];
  StoreLevel& above = levels_[first_host()];
  if (!below.entry(slot).complete()) return {};
  const int64_t tokens = below.tokens(slot);
  if (!make_way(first_host(), slot, tokens, above.capacity_tokens())) return {};
  if (options_.inclusive) {
    below.set_source(slot, true);
    settle(slot);
  } else {
    leave(*at, slot, false);  // before evictions, so that a demotion can take its place
  }
  evict_victims(first_host());
  reserve(first_host(), slot, tokens);
  above.show(slot);
  if (options_.inclusive) below.set_source(slot, false);
  settle(slot);
  used(slot, now);
  return finish();
}

std::vector<Move> Store::prefetch(Key key, Order now) {
  if (const int64_t far_tokens = only_shared_tokens(key); far_tokens > 0) {
    return note_fetches(take_in(key, far_tokens, Tier::remote, true, now));
  }
  now_ = now;
  const Slot slot = slots_.find(key);
  const std::optional<std::size_t> at = slot != kNoSlot ? host_level(slot) : std::nullopt;
  if (!at || *at == first_host()) return {};
  StoreLevel& below = levels_[*at];
  StoreLevel& above = levels_[first_host()];
  if (!below.entry(slot).complete()) return {};
  const int64_t tokens = below.tokens(slot);
  if (!make_way(first_host(), slot, tokens, above.target_tokens(), true)) return {};
  below.set_source(slot, true);
  settle(slot);
  evict_victims(first_host());
  reserve(first_host(), slot, tokens);
  above.await(slot, 0);
  add_move(first_host(), slot, below.options().kind, 0, tokens);
  settle(slot);
  used(slot, now);
  return finish();
}

std::vector<Move> Store::take_in(Key key, int64_t tokens, Tier from, bool ahead, Order now) {
  now_ = now;
  if (levels_.size() == first_host() || levels_[first_host()].options().kind != Tier::dram) return {};
  const Slot slot = slot_of(key);
  StoreLevel& above = levels_[first_host()];
  const std::optional<std::size_t> at = host_level(slot);
  const int64_t kept = kept_tokens(slot);
  const int64_t before = above.tokens(slot);
  const int64_t limit_tokens = ahead ? above.target_tokens() : above.capacity_tokens();
  if (tokens <= kept || (at && !levels_[*at].entry(slot).complete()) ||
      !make_way(first_host(), slot, tokens, limit_tokens, ahead)) {
    tidy(slot);
    return {};
  }
  if (at && *at != first_host() && !options_.inclusive) leave(*at, slot, false);
  ++records_[slot].pins;  // demotions of victims must not evict its own copy
  settle(slot);
  evict_victims(first_host());
  --records_[slot].pins;
  reserve(first_host(), slot, tokens);
  entered_tokens_ += tokens - kept;
  records_[slot].length = std::max(records_[slot].length, static_cast<uint32_t>(tokens));
  if (ahead) {
    above.await(slot, before);
    add_move(first_host(), slot, from, before, tokens);
  } else {
    above.show(slot);
  }
  settle(slot);
  used(slot, now);
  return finish();
}

// Evicts until the tiers have their free shares, and returns the moves: the farthest demotions first, then
// the saves.
std::vector<Move> Store::finish() {
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    const int64_t limit =
        std::min(levels_[i].target_tokens(), levels_[i].used_tokens() - levels_[i].batch_tokens());
    while (levels_[i].used_tokens() > limit) {
      const Slot victim = levels_[i].victim(now_);
      if (victim == kNoSlot) break;
      const int64_t excess = levels_[i].used_tokens() - limit;
      evict(i, victim, std::max<int64_t>(0, levels_[i].tokens(victim) - excess));
    }
  }
  std::sort(moves_.begin(), moves_.end(),
            [](const Move& a, const Move& b) { return a.from != b.from ? a.from > b.from : a.to < b.to; });
  return std::exchange(moves_, {});
}

bool Store::fetching(Key key) const {
  if (fetching_.contains(key)) return true;
  const Slot slot = slots_.find(key);
  if (slot == kNoSlot) return false;
  return std::any_of(levels_.begin(), levels_.end(),
                     [&](const StoreLevel& level) { return level.entry(slot).source; });
}

void Store::done(const Move& move) {
  if (shared_ && (move.from == Tier::remote || move.to == Tier::remote)) done_shared(move);
  if (shared_ && move.to == Tier::remote) return;
  std::size_t to = levels_.size();
  std::size_t from = levels_.size();
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    if (levels_[i].options().kind == move.to) to = i;
    if (levels_[i].options().kind == move.from && i >= first_host()) from = i;
  }
  KVCAP_CHECK(to < levels_.size());
  const bool from_gpu = move.from == Tier::hbm;
  if (!from_gpu && from < to) leaving_tokens_[from] -= move.tokens;
  for (const Moved& moved : move.items) {
    if (!levels_[to].arrive(moved, from_gpu)) continue;
    note_change(moved.slot);
    const bool within = !from_gpu && from > to && from < levels_.size();
    const bool copied = within && levels_[from].entry(moved.slot).source;
    if (copied && options_.inclusive) levels_[from].set_source(moved.slot, false);
    if (copied && !options_.inclusive) leave(from, moved.slot, false);
    settle(moved.slot);
  }
}

bool Store::arriving(Key key) const {
  const Slot slot = slots_.find(key);
  if (slot == kNoSlot) return false;
  return std::any_of(levels_.begin(), levels_.end(), [&](const StoreLevel& level) {
    return level.has(slot) && !level.entry(slot).complete();
  });
}

void Store::abandon(Key key) {
  const Slot slot = slots_.find(key);
  if (slot == kNoSlot) return;
  const int64_t kept = kept_tokens(slot);
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    if (!levels_[i].has(slot) || levels_[i].entry(slot).complete()) continue;
    if (levels_[i].entry(slot).visible() == 0) {
      leave(i, slot, false);
    } else {
      levels_[i].end_at_visible(slot);
    }
  }
  dropped_tokens_ += kept - kept_tokens(slot);
  settle(slot);
  forget_if_gone(slot);
}

}  // namespace kvcap
