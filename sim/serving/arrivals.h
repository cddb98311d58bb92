// Arrivals: the turns of a workload in the order in which they reach the instance. A turn arrives a think
// time after the answer to its parent, so the order depends on the system under test. So do the arrivals of
// calls that wait for others (workload/calls.h) and of sessions that wait for a place (closed_loop).
//
// Several turns of a session may be in flight at once where turns branch. A refused turn ends its session: no
// turn arrives that has not arrived yet, whatever its parent; turns in flight are still served.
#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <span>
#include <unordered_map>
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
  // The turn has been answered: its children are now known. The answer to a session's last open turn ends the
  // session.
  void answered(const Arrival& turn, double now_s);
  // When the first child of this turn arrives if this turn is answered now; infinity where it has none.
  double time_after(const Arrival& turn, double now_s) const;
  // The turn is refused. Returns how many turns never arrive for that, and appends those of its session to
  // `unborn`.
  uint32_t refused(const Arrival& turn, double now_s, std::vector<uint32_t>* unborn = nullptr);
  // True iff every session has ended.
  bool ended() const { return open_sessions_ == 0; }

 private:
  struct Later {
    bool operator()(const Arrival& a, const Arrival& b) const {
      if (a.time_s != b.time_s) return a.time_s > b.time_s;
      return a.session != b.session ? a.session > b.session : a.turn > b.turn;
    }
  };
  // A session whose turns branch, from its first arrival to its end.
  struct Branching {
    std::vector<bool> arrived;  // of its turns
    uint32_t in_flight = 0;
    uint32_t unanswered = 0;
    bool is_refused = false;
  };

  bool branches(const Session& session) const;
  // Turns of the session that wait for the answer to `turn`.
  std::span<const uint32_t> children_of(const Session& session, uint32_t turn) const;
  // When a turn arrives whose parent is answered at `answered_s`.
  double arrival_s(const Session& session, uint32_t turn, double answered_s) const;
  void push(double time_s, uint32_t session, uint32_t turn);
  // The first turn of a branching session has arrived: its other roots are known.
  void begin_branching(const Arrival& first);
  void drop_refused();
  void end_session(uint32_t session, double now_s);
  // closed_loop: what was asked together has ended; the next session begins, or a round.
  void release(double now_s);
  // The first of a round or of all sessions begin.
  void release_together(double now_s);
  bool begins_round() const {
    return workload_.round_sessions > 0 && released_ % workload_.round_sessions == 0;
  }

  // Sessions that wait for others are not next by themselves.
  void pass_waiting();
  // The session that waits for this one's end; nothing when none does or it will never arrive.
  std::optional<uint32_t> waiter_of(uint32_t session) const;

  const Workload& workload_;
  uint32_t next_session_ = 0;      // sessions are sorted by their first arrival
  uint32_t released_ = 0;          // sessions below may arrive; all where nothing limits them
  std::vector<uint32_t> awaited_;  // ends that a session still waits for; empty where none waits
  std::unordered_map<uint32_t, uint32_t> open_calls_;  // closed_loop, by asked session
  std::size_t open_sessions_;
  int64_t numbered_ = 0;
  std::priority_queue<Arrival, std::vector<Arrival>, Later> returning_;

  // Only where turns branch: the children of turn i are children_[children_begin_[i]] up to the next one's.
  std::vector<uint32_t> children_;
  std::vector<uint32_t> children_begin_;
  std::unordered_map<uint32_t, Branching> branching_;  // by session
};

}  // namespace kvcap
