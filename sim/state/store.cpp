#include "state/store.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace kvcap {

Store::Store(const std::vector<StoreTier>& tiers) {
  for (const StoreTier& tier : tiers) {
    KVCAP_CHECK(levels_.empty() || levels_.back().options.kind < tier.kind);
    Level& level = levels_.emplace_back();
    level.options = tier;
    level.eviction = make_eviction(tier.eviction);
  }
  has_hbm_ = !levels_.empty() && levels_.front().options.kind == Tier::hbm;
}

std::optional<std::size_t> Store::host_level(Key key) const {
  for (std::size_t i = first_host(); i < levels_.size(); ++i) {
    if (levels_[i].entries.contains(key)) return i;
  }
  return std::nullopt;
}

std::optional<Hit> Store::find(Key key) const {
  for (const Level& level : levels_) {
    auto entry = level.entries.find(key);
    if (entry == level.entries.end() || entry->second.visible == 0) continue;
    return Hit{key, level.options.kind, entry->second.visible};
  }
  return std::nullopt;
}

void Store::leave(std::size_t level, Key key) {
  Level& from = levels_[level];
  auto entry = from.entries.find(key);
  KVCAP_CHECK(entry != from.entries.end());
  from.used_bytes -= from.bytes(entry->second.tokens);
  from.entries.erase(entry);
  from.eviction->erase(key);
}

bool Store::make_room(std::size_t level, double bytes, Key keep, Order now, std::vector<Move>& moves) {
  Level& here = levels_[level];
  if (bytes + (here.entries.contains(keep) ? here.bytes(here.entries.at(keep).tokens) : 0) >
      here.options.capacity_bytes) {
    return false;
  }
  while (here.used_bytes + bytes > here.options.capacity_bytes) {
    const auto may_leave = [&](Key key) {
      const Entry& entry = here.entries.at(key);
      return key != keep && !pins_.contains(key) && entry.visible == entry.tokens;
    };
    const std::optional<Key> victim = here.eviction->victim(may_leave);
    if (!victim) return false;
    const Entry evicted = here.entries.at(*victim);
    leave(level, *victim);
    const bool front = has_hbm_ && level == 0;  // the copy behind it stays
    if (front) continue;
    const std::size_t next = level + 1;
    Entry demoted = evicted;
    demoted.visible = 0;
    demoted.generation = ++generation_;
    if (next < levels_.size() && enter(next, *victim, demoted, now, moves)) {
      moves.push_back({.key = *victim,
                       .from = here.options.kind,
                       .to = levels_[next].options.kind,
                       .tokens = evicted.tokens,
                       .tokens_after = evicted.tokens,
                       .generation = demoted.generation});
    } else {
      dropped_bytes_ += here.bytes(evicted.tokens);
    }
  }
  return true;
}

bool Store::enter(std::size_t level, Key key, const Entry& entry, Order now, std::vector<Move>& moves) {
  Level& to = levels_[level];
  if (!make_room(level, to.bytes(entry.tokens), key, now, moves)) return false;
  to.entries[key] = entry;
  to.used_bytes += to.bytes(entry.tokens);
  to.eviction->touch(key, now);
  return true;
}

std::vector<Move> Store::put(Key key, int64_t tokens, Order now) {
  std::vector<Move> moves;
  if (has_hbm_) {
    Level& front = levels_[0];
    if (front.entries.contains(key)) leave(0, key);
    enter(0, key, {.tokens = tokens, .visible = tokens, .generation = ++generation_}, now, moves);
  }
  if (first_host() == levels_.size()) return moves;

  // From the tier where the context lies, or the first, to the first one that takes it.
  const std::optional<std::size_t> at = host_level(key);
  for (std::size_t level = at.value_or(first_host()); level < levels_.size(); ++level) {
    Level& host = levels_[level];
    const int64_t before = host.entries.contains(key) ? host.entries.at(key).tokens : 0;
    const int64_t grown = tokens - before;
    if (grown <= 0) {
      host.eviction->touch(key, now);
      return moves;
    }
    if (!make_room(level, host.bytes(grown), key, now, moves)) {
      // A context that has outgrown its tier stays as it is: its first part is still good.
      if (at) return moves;
      continue;
    }
    Entry& entry = host.entries[key];
    if (before == 0) entry.generation = ++generation_;
    entry.tokens = tokens;
    host.used_bytes += host.bytes(grown);
    host.eviction->touch(key, now);
    entered_bytes_ += host.bytes(grown);
    moves.push_back({.key = key,
                     .from = Tier::hbm,
                     .to = host.options.kind,
                     .tokens = grown,
                     .tokens_after = tokens,
                     .generation = entry.generation});
    return moves;
  }
  return moves;
}

void Store::preload(Key key, int64_t tokens) {
  for (std::size_t level = first_host(); level < levels_.size(); ++level) {
    Level& to = levels_[level];
    const double bytes = to.bytes(tokens);
    if (to.used_bytes + bytes > to.options.capacity_bytes) continue;
    to.entries[key] = {.tokens = tokens, .visible = tokens, .generation = ++generation_};
    to.used_bytes += bytes;
    to.eviction->touch(key, 0);
    entered_bytes_ += bytes;
    return;
  }
}

std::vector<Move> Store::promote(Key key, Order now) {
  std::vector<Move> moves;
  const std::optional<std::size_t> at = host_level(key);
  if (!at || *at == first_host() || levels_[first_host()].options.kind != Tier::dram) return moves;
  const Entry entry = levels_[*at].entries.at(key);
  // Room above is made first: while it lasts the context still lies below.
  if (enter(first_host(), key, entry, now, moves)) leave(*at, key);
  return moves;
}

void Store::done(const Move& move) {
  // The context may have moved on or left since; its generation tells a later one under the same key.
  for (Level& level : levels_) {
    auto entry = level.entries.find(move.key);
    if (entry == level.entries.end() || entry->second.generation != move.generation) continue;
    entry->second.visible =
        std::max(entry->second.visible, std::min(move.tokens_after, entry->second.tokens));
  }
}

void Store::pin(Key key) { ++pins_[key]; }

void Store::unpin(Key key) {
  auto pins = pins_.find(key);
  KVCAP_CHECK(pins != pins_.end());
  if (--pins->second == 0) pins_.erase(pins);
}

void Store::touch(Key key, Order now) {
  for (Level& level : levels_) {
    if (level.entries.contains(key)) level.eviction->touch(key, now);
  }
}

void Store::erase(Key key) {
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    auto entry = levels_[i].entries.find(key);
    if (entry == levels_[i].entries.end()) continue;
    if (i >= first_host()) dropped_bytes_ += levels_[i].bytes(entry->second.tokens);
    leave(i, key);
  }
}

bool Store::has(Tier tier) const {
  return std::any_of(levels_.begin(), levels_.end(),
                     [&](const Level& level) { return level.options.kind == tier; });
}

double Store::occupied_bytes(Tier tier) const {
  for (const Level& level : levels_) {
    if (level.options.kind == tier) return level.used_bytes;
  }
  return 0;
}

double Store::capacity_bytes(Tier tier) const {
  for (const Level& level : levels_) {
    if (level.options.kind == tier) return level.options.capacity_bytes;
  }
  return 0;
}

void Store::check() const {
  double stored_bytes = 0;
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    const Level& level = levels_[i];
    double used_bytes = 0;
    for (const auto& [key, entry] : level.entries) {
      KVCAP_CHECK(entry.visible >= 0 && entry.visible <= entry.tokens && entry.tokens > 0);
      used_bytes += level.bytes(entry.tokens);
    }
    const double slack = 1e-9 * (1 + level.options.capacity_bytes);
    KVCAP_CHECK(std::abs(used_bytes - level.used_bytes) <= slack);
    KVCAP_CHECK(level.used_bytes <= level.options.capacity_bytes + slack);
    if (i >= first_host()) stored_bytes += used_bytes;
  }
  KVCAP_CHECK(std::abs(entered_bytes_ - dropped_bytes_ - stored_bytes) <= 1e-9 * (1 + entered_bytes_));
}

}  // namespace kvcap
