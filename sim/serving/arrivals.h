// Arrivals: the turns of a workload in the order in which they reach the instance. A session's next turn
// arrives a think time after its last answer, so the order depends on the system under test; so does a call
// of the model that waits for others (workload/calls.h).
#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

#include "workload/workload.h"

namespace kvcap {

struct Arrival {
  double time_s = 0;
  uint32_t session = 0;
  uint32_t turn = 0;
  int64_t number = 0;    // in order of arrival; turns that never arrive count where their session was refused
  uint32_t retries = 0;  // how often a node has failed that was serving it
  bool moved = false;    // its session's turn before was served by another node
};

class Arrivals {
 public:
  explicit Arrivals(const Workload& workload);

  // Time of the next arrival that is known; infinity when none is.
  double next_s() const;
  // REQUIRES: next_s() is finite.
  Arrival pop();
  // The turn has been answered: its session's next turn, if any, is now known.
  void answered(const Arrival& turn, double now_s);
  // When the turn after this one arrives if this one is answered now. REQUIRES: there is one.
  double time_after(const Arrival& turn, double now_s) const;
  // The turn was refused: its session ends. Returns how many turns never arrive for that.
  uint32_t refused(const Arrival& turn);
  // True iff every session has ended.
  bool ended() const { return open_sessions_ == 0; }

 private:
  struct Later {
    bool operator()(const Arrival& a, const Arrival& b) const {
      return a.time_s != b.time_s ? a.time_s > b.time_s : a.session > b.session;
    }
  };
  // Sessions that wait for others are not next by themselves.
  void pass_waiting();
  // The session that waits for this one's end; nothing when none does or it will never arrive.
  std::optional<uint32_t> waiter_of(uint32_t session) const;

  const Workload& workload_;
  uint32_t next_session_ = 0;      // sessions are sorted by their first arrival
  std::vector<uint32_t> awaited_;  // ends that a session still waits for; empty where none waits
  std::size_t open_sessions_;
  int64_t numbered_ = 0;
  std::priority_queue<Arrival, std::vector<Arrival>, Later> returning_;
};

}  // namespace kvcap
