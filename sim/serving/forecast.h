// Forecast: what an instance knows of the future, told to the store.
//
//   look-ahead   The queue (CachedAttention 3.3). Turns are served in order of arrival, so a turn's number is
//                the time at which it uses what its prompt reuses. With S_kv the mean size of what a turn
//                leaves behind, the first (host capacity) / S_kv waiting turns are known uses, which
//                evictions respect. DRAM has (its capacity) / S_kv places; those that running turns leave are
//                for the first waiting ones: what these reuse is fetched, and fetched again when it had to
//                leave.
//   clairvoyant  Every use as soon as it can be known, as a date: a session's next turn, and when others ask
//                for what it shares. Nobody knows as much: a bound (Belady).
//
// With neither it knows nothing, and all calls are free.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "serving/arrivals.h"
#include "serving/keeping.h"
#include "serving/next_uses.h"
#include "serving/prompt.h"
#include "serving/sessions.h"
#include "state/move.h"
#include "state/node_store.h"
#include "workload/workload.h"

namespace kvcap {

class Forecast {
 public:
  // All outlive it. `bytes_per_token`: of what is stored in host tiers.
  Forecast(const Workload& workload, const Arrivals& arrivals, NodeStore& store,
           const KeepingOptions& keeping, double bytes_per_token);

  // The queue: a turn joins its end, a turn of it is served, a turn comes back to its head. `prompt` lives
  // until the turn is served.
  void joins(const std::vector<Part>& prompt, Order number);
  void served(Order number);
  void comes_back(const std::vector<Part>& prompt, Order number);
  std::size_t waiting() const { return waiting_.size(); }
  // Aborts when what the store was told of is not what the first waiting turns reuse (invariants.cpp).
  void check() const;

  // The uses of parts that come after those of a turn that is ending now, before what it leaves is put.
  void record_next_uses(const Arrival& turn, const std::vector<Part>& parts, double now_s);
  // A turn has ended that leaves so many tokens behind, old ones counted.
  void left(int64_t tokens);

  // Tells the store what the queue needs, while `running` turns are served. Returns the moves that fetch the
  // first of it.
  std::vector<Move> look_ahead(std::size_t running, double now_s);
  // Some of it is on its way into DRAM: to read it a second time would take longer than to wait.
  bool fetches(const std::vector<Part>& prompt) const;

 private:
  struct Waiting {
    const std::vector<Part>* prompt = nullptr;
    Order number = 0;
  };

  void expect(const Waiting& turn);
  void look_again();
  bool fetch(const Waiting& turn, double now_s, std::vector<Move>& moves);
  bool fetch_pinned(const Waiting& turn, double now_s, std::vector<Move>& moves);

  const Workload& workload_;
  const Arrivals& arrivals_;
  NodeStore& store_;
  Match match_;
  bool looks_ahead_;
  bool clairvoyant_;
  double bytes_per_token_;
  std::unique_ptr<NextUses> next_uses_;  // of what sessions share; clairvoyant only
  std::deque<Waiting> waiting_;
  std::size_t expected_ = 0;                          // of waiting_, the first: known to the store
  std::size_t fetched_ = 0;                           // and fetched, as far as has been looked
  bool look_again_ = false;                           // what they need may have had to leave
  std::unordered_map<Key, std::set<Order>> numbers_;  // of those known, by what they use
  int64_t ended_ = 0, left_tokens_ = 0;
};

}  // namespace kvcap
