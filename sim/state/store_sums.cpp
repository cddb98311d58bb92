// Sums of a Store in bytes, and its consistency check.
#include "base/invariants.h"
#include "state/store.h"

namespace kvcap {

const StoreLevel* Store::level_of(Tier tier) const {
  for (const StoreLevel& level : levels_) {
    if (level.options().kind == tier) return &level;
  }
  return nullptr;
}

double Store::host_bytes(int64_t tokens) const { return levels_.empty() ? 0 : levels_.back().bytes(tokens); }

double Store::occupied_bytes(Tier tier) const {
  const StoreLevel* level = level_of(tier);
  return level ? level->bytes(level->used_tokens()) : 0;
}

double Store::capacity_bytes(Tier tier) const {
  const StoreLevel* level = level_of(tier);
  if (!level) return shared_ ? shared_->capacity_bytes(tier) : 0;
  return level->options().capacity_bytes;
}

double Store::leaving_bytes(Tier tier) const {
  const StoreLevel* level = level_of(tier);
  return level ? level->bytes(leaving_tokens_[static_cast<std::size_t>(level - levels_.data())]) : 0;
}

double Store::came_bytes(Tier tier) const {
  const StoreLevel* level = level_of(tier);
  return level ? level->bytes(level->came_tokens()) : 0;
}

void Store::check_in_turn() {
  constexpr std::size_t kSlotsPerCall = 256;
  for (const StoreLevel& level : levels_) level.check_room();
  unchecked_slots_ += kSlotsPerCall;
  if (unchecked_slots_ < records_.size()) return;
  unchecked_slots_ = 0;
  check();
}

void Store::check() const {
  int64_t stored_tokens = 0;
  int64_t pins = 0;
  std::size_t slots_in_use = 0;
  std::vector<int64_t> entries(levels_.size());
  for (Slot slot = 0; slot < records_.size(); ++slot) {
    const Record& record = records_[slot];
    slots_in_use += record.in_use;
    pins += record.pins;
    KVCAP_INVARIANT("INV-INDEX", record.in_use ? slots_.find(record.key) == slot : record.levels == 0);
    KVCAP_INVARIANT("INV-INDEX", record.aging == (age_ && record.levels != 0));
    int64_t nearer_tokens = record.length;
    int places = 0;  // number of entries in host tiers, except sources of running copies
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      const StoreLevel::Entry& entry = levels_[i].entry(slot);
      KVCAP_INVARIANT("INV-INDEX", levels_[i].has(slot) == ((record.levels & (1U << i)) != 0));
      if (entry.tokens == 0) continue;
      ++entries[i];
      KVCAP_INVARIANT("INV-HELD", entry.held == (record.pins > 0 || entry.source || !entry.complete()));
      KVCAP_INVARIANT("INV-TIERS", !entry.source || host_level(slot) < i);
      KVCAP_INVARIANT("INV-TIERS", entry.tokens <= nearer_tokens);
      if (i >= first_host()) nearer_tokens = entry.tokens;
      if (i >= first_host()) places += !entry.source;
    }
    KVCAP_INVARIANT("INV-TIERS",
                    options_.inclusive || places <= 1 || (has_hbm_ && levels_[0].options().exclusive));
    stored_tokens += kept_tokens(slot);
  }
  KVCAP_INVARIANT("INV-INDEX", slots_.size() == slots_in_use);
  KVCAP_INVARIANT("INV-PINS", pins == pins_);
  KVCAP_INVARIANT("INV-STORED", entered_tokens_ - dropped_tokens_ == stored_tokens);
  KVCAP_INVARIANT("INV-MOVES", moves_.empty());
  for (const std::map<Key, int>* under_way : {&writing_, &fetching_}) {
    for (const auto& [key, moves] : *under_way) KVCAP_INVARIANT("INV-MOVES", moves > 0 && shared_);
  }
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    levels_[i].check(entries[i]);
    KVCAP_INVARIANT("INV-MOVES", leaving_tokens_[i] >= 0);
  }
}

}  // namespace kvcap
