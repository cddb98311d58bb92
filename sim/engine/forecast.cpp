#include "engine/forecast.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace kvcap {

Forecast::Forecast(const Workload& workload, const Arrivals& arrivals, Store& store,
                   const KeepingOptions& keeping, double bytes_per_token, SchedulingPolicy order)
    : workload_(workload),
      arrivals_(arrivals),
      store_(store),
      match_(keeping.match),
      looks_ahead_(keeping.look_ahead),
      clairvoyant_(keeping.clairvoyant),
      is_ordered_(order == SchedulingPolicy::priority),
      bytes_per_token_(bytes_per_token) {
  if (looks_ahead_ && store.has(Tier::dram)) store.watch();
  if (clairvoyant_) next_uses_ = std::make_unique<NextUses>(workload, keeping.match, keeping.chunk_tokens);
}

// ---- the queue ----

void Forecast::joins(const std::vector<Part>& prompt, Order number) {
  if (looks_ahead_) insert(is_ordered_ ? place_of(number) : waiting_.size(), {&prompt, number});
}

// Returns the place of a turn with this number in an ordered queue.
std::size_t Forecast::place_of(Order number) const {
  const auto behind = std::upper_bound(waiting_.begin(), waiting_.end(), number,
                                       [](Order mine, const Waiting& one) { return mine < one.number; });
  return static_cast<std::size_t>(behind - waiting_.begin());
}

// Adds the turn. If the store knows a later turn, it must know this one, too.
void Forecast::insert(std::size_t place, const Waiting& turn) {
  waiting_.insert(waiting_.begin() + static_cast<std::ptrdiff_t>(place), turn);
  fetched_ = std::min(fetched_, place);
  if (place >= expected_) return;
  expect(turn);
  ++expected_;
}

void Forecast::served(Order number) {
  if (!looks_ahead_) return;
  // Usually the served turn is the first in the queue.
  const auto at = std::find_if(waiting_.begin(), waiting_.end(),
                               [&](const Waiting& one) { return one.number == number; });
  if (at == waiting_.end()) return;
  const auto place = static_cast<std::size_t>(at - waiting_.begin());
  const Waiting turn = *at;
  waiting_.erase(at);
  if (place < fetched_) --fetched_;
  look_again_ = true;  // loads for this turn may evict prefetched parts
  if (place >= expected_) return;
  --expected_;
  for (const Item& item : *turn.prompt) {
    const auto of_item = numbers_.find(item.key);
    if (of_item == numbers_.end()) continue;  // the part occurs twice in the prompt
    of_item->second.erase(turn.number);
    store_.expect(item.key, of_item->second.empty() ? kNever : *of_item->second.begin());
    if (of_item->second.empty()) numbers_.erase(of_item);
  }
}

void Forecast::comes_back(const std::vector<Part>& prompt, Order number) {
  if (!looks_ahead_) return;
  if (is_ordered_) return insert(place_of(number), {&prompt, number});
  waiting_.push_front({&prompt, number});
  expect(waiting_.front());
  ++expected_;
  fetched_ = 0;
}

void Forecast::expect(const Waiting& turn) {
  for (const Item& item : *turn.prompt) {
    std::set<Order>& numbers = numbers_[item.key];
    numbers.insert(turn.number);
    store_.expect(item.key, *numbers.begin());
  }
}

std::vector<Move> Forecast::look_ahead(std::size_t running, double now_s) {
  std::vector<Move> moves;
  const double left_bytes = static_cast<double>(left_tokens_) * bytes_per_token_;
  if (!looks_ahead_ || left_bytes == 0) return moves;
  const double mean_bytes = left_bytes / static_cast<double>(ended_);
  double host_bytes = 0;
  for (Tier tier : kHostTiers) {
    if (store_.has(tier)) host_bytes += store_.capacity_bytes(tier);
  }
  const auto known = static_cast<std::size_t>(host_bytes / mean_bytes);
  while (expected_ < waiting_.size() && expected_ < known) expect(waiting_[expected_++]);
  if (!store_.has(Tier::dram)) return moves;
  const auto places = static_cast<std::size_t>(store_.capacity_bytes(Tier::dram) / mean_bytes);
  if (std::exchange(look_again_, false)) look_again();
  const std::size_t near = places > running ? places - running : 1;
  while (fetched_ < expected_ && fetched_ < near && fetch(waiting_[fetched_], now_s, moves)) ++fetched_;
  return moves;
}

// Resumes the prefetches at the first turn whose parts have changed.
void Forecast::look_again() {
  const std::optional<std::vector<Key>> changed = store_.take_changed();
  if (!changed) {
    fetched_ = 0;
    return;
  }
  for (Key key : *changed) {
    const auto of_key = numbers_.find(key);
    if (of_key == numbers_.end()) continue;
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(fetched_);
    const auto uses = [&](const Waiting& turn) { return of_key->second.contains(turn.number); };
    fetched_ = static_cast<std::size_t>(std::find_if(waiting_.begin(), end, uses) - waiting_.begin());
  }
}

// Prefetches the turn's parts; returns false if there is no room for them all. Pins the parts meanwhile: if
// they did not all fit, they would otherwise evict each other endlessly.
bool Forecast::fetch(const Waiting& turn, double now_s, std::vector<Move>& moves) {
  for (const Item& item : *turn.prompt) store_.pin(item.key);
  const bool fits = fetch_pinned(turn, now_s, moves);
  for (const Item& item : *turn.prompt) store_.unpin(item.key);
  return fits;
}

bool Forecast::fetch_pinned(const Waiting& turn, double now_s, std::vector<Move>& moves) {
  for (const Item& item : *turn.prompt) {
    const std::optional<Hit> hit = store_.find(item.key);
    if (!hit && match_ != Match::chunk) break;  // parts after a gap cannot be reused
    if (!hit || hit->tier <= Tier::dram || store_.fetching(item.key)) continue;
    std::vector<Move> fetching = store_.prefetch(item.key, now_s);
    if (fetching.empty()) return false;
    std::move(fetching.begin(), fetching.end(), std::back_inserter(moves));
  }
  return true;
}

bool Forecast::fetches(const std::vector<Part>& prompt) const {
  return looks_ahead_ && std::any_of(prompt.begin(), prompt.end(),
                                     [&](const Item& item) { return store_.fetching(item.key); });
}

// ---- turns that end ----

// A session's own text and a growing history are used again by the session's next turn; shared texts by the
// next turn whose prompt contains them.
void Forecast::record_next_uses(const Arrival& turn, const std::vector<Part>& parts, double now_s) {
  if (!clairvoyant_) return;
  const Session& session = workload_.sessions[turn.session];
  const Order next_turn = turn.turn + 1 < session.turn_count ? arrivals_.time_after(turn, now_s) : kNever;
  for (const Part& part : parts) {
    const Order own = session.history_grows || !part.shared ? next_turn : kNever;
    store_.expect(part.key, std::min(own, next_uses_->after(part.key, turn, now_s)));
  }
}

void Forecast::left(int64_t tokens) {
  ++ended_;
  look_again_ = true;  // the turn's saved state may evict prefetched parts
  left_tokens_ += tokens;
}

}  // namespace kvcap
