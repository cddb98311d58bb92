// Forecast: tells an engine's store when stored parts will be used next, and prefetches parts for waiting
// turns.
//
//   look-ahead   Hints from the queue (CachedAttention 3.3). Turns are served in order of their numbers, so a
//                turn's number serves as the time at which it uses the parts of its prompt. Let S_kv be the
//                mean size of the state that a turn leaves. The eviction order knows the uses of the first
//                (host capacity) / S_kv waiting turns. DRAM has room for the state of (DRAM capacity) / S_kv
//                turns: the running turns, and then the first waiting turns, whose parts are prefetched
//                (again, if they are evicted).
//   clairvoyant  The times of all uses as soon as they are determined: a session's next turn, and uses of
//                shared parts by other sessions. No real system has this information; the results are a bound
//                (Belady).
//
// Without either option there are no hints, and all calls return immediately.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "engine/arrivals.h"
#include "engine/keeping.h"
#include "engine/next_uses.h"
#include "engine/options.h"
#include "engine/prompt.h"
#include "engine/sessions.h"
#include "state/move.h"
#include "state/store.h"
#include "workload/workload.h"

namespace kvcap {

class Forecast {
 public:
  // All arguments outlive it. `bytes_per_token`: size of a token's stored state in host tiers.
  Forecast(const Workload& workload, const Arrivals& arrivals, Store& store, const KeepingOptions& keeping,
           double bytes_per_token, SchedulingPolicy order = SchedulingPolicy::fcfs);

  // Update the queue: a turn joins its end, is served, or returns to its head; with priorities, turns join
  // and return in order of `number`. `prompt` must live until the turn is served.
  void joins(const std::vector<Part>& prompt, Order number);
  void served(Order number);
  void comes_back(const std::vector<Part>& prompt, Order number);
  std::size_t waiting() const { return waiting_.size(); }
  // Aborts if the store's hints differ from the parts that the first waiting turns reuse (invariants.cpp).
  void check() const;

  // Tells the store the next uses of `parts` after a turn that ends now. Called before the turn's state is
  // saved.
  void record_next_uses(const Arrival& turn, const std::vector<Part>& parts, double now_s);
  // Notes that a turn has ended and leaves `tokens` tokens of state, including the state that it reused.
  void left(int64_t tokens);

  // Tells the store which parts the waiting turns need while `running` turns are served. Returns the
  // prefetches for the first waiting turns.
  std::vector<Move> look_ahead(std::size_t running, double now_s);
  // True iff part of the prompt is being fetched into DRAM; waiting is then faster than reading it again.
  bool fetches(const std::vector<Part>& prompt) const;

 private:
  struct Waiting {
    const std::vector<Part>* prompt = nullptr;
    Order number = 0;
  };

  void insert(std::size_t place, const Waiting& turn);
  std::size_t place_of(Order number) const;
  void expect(const Waiting& turn);
  void look_again();
  bool fetch(const Waiting& turn, double now_s, std::vector<Move>& moves);
  bool fetch_pinned(const Waiting& turn, double now_s, std::vector<Move>& moves);

  const Workload& workload_;
  const Arrivals& arrivals_;
  Store& store_;
  Match match_;
  bool looks_ahead_;
  bool clairvoyant_;
  bool is_ordered_;  // waiting_ is in order of the turns' numbers
  double bytes_per_token_;
  std::unique_ptr<NextUses> next_uses_;  // uses of shared parts; clairvoyant only
  std::deque<Waiting> waiting_;
  std::size_t expected_ = 0;  // number of turns at the front of waiting_ that the store knows
  std::size_t fetched_ = 0;   // number of these whose prefetches have been issued
  bool look_again_ = false;   // prefetched parts may have been evicted
  std::unordered_map<Key, std::set<Order>> numbers_;  // by part: numbers of the turns that the store knows
  int64_t ended_ = 0, left_tokens_ = 0;
};

}  // namespace kvcap
