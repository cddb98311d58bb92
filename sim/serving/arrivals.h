// Arrivals: the turns of a workload in the order in which they reach the instance. A turn arrives a think
// time after the answer to its parent, so the order depends on the system under test. So do the arrivals of
// calls that wait for others (workload/calls.h) and of sessions that wait for a place (closed_loop).
//
// Where clients give up (Workload::clients), a request is abandoned `timeout_s` after it was sent unless its
// last token has come; an answer at that very time comes too late. The client sends the same prompt again
// after a backoff, as a request of its own, until its retries are used up. Then the turn has failed, and the
// client ends the session as after a refused turn: the next prompt needs the answer that never came.
//
// Several turns of a session may be in flight at once where turns branch. A refused turn ends its session: no
// turn arrives that has not arrived yet, whatever its parent; turns in flight are still served.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/random.h"
#include "workload/workload.h"

namespace kvcap {

struct Arrival {
  double time_s = 0;
  uint32_t session = 0;
  uint32_t turn = 0;
  int64_t number = 0;    // in order of arrival; turns that never arrive count where their session was refused
  bool warmup = false;   // its turn is one of the first Workload::warmup_turns
  uint32_t retries = 0;  // how often a node has failed that was serving it
  bool moved = false;    // its session's turn before was served by another node
  uint32_t attempt = 0;  // so often has its client given the turn up before
  double earlier_s = 0;  // from the first of those attempts to this one
  // When its client gives this one up.
  double deadline_s = std::numeric_limits<double>::infinity();

  // By then, as far as the clock resolves dates.
  bool is_given_up(double now_s) const { return deadline_s <= now_s + 2e-9; }
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
  // When a client gives up next; infinity: none will as far as is known.
  double next_give_up_s() const;
  // That client does. Returns its attempt; another arrives after its backoff, unless it was the last.
  // REQUIRES: next_give_up_s() is finite.
  Arrival give_up();
  bool is_last(const Arrival& attempt) const { return attempt.attempt >= workload_.clients.retries.count; }
  // When the next arrival would be given up.
  double next_deadline_s() const { return next_s() + workload_.clients.timeout_s; }
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
  void wait_for_answer(Arrival& arrival);
  void stop_waiting(const Arrival& arrival) { awaited_answers_.erase({arrival.deadline_s, arrival.number}); }
  double backoff_s(const Arrival& given_up) const;
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
  int64_t numbered_turns_ = 0;  // the same without retries
  // Attempts whose clients wait and will give up, by when and number.
  std::map<std::pair<double, int64_t>, Arrival> awaited_answers_;
  RandomStream backoffs_;
  std::priority_queue<Arrival, std::vector<Arrival>, Later> returning_;

  // Only where turns branch: the children of turn i are children_[children_begin_[i]] up to the next one's.
  std::vector<uint32_t> children_;
  std::vector<uint32_t> children_begin_;
  std::unordered_map<uint32_t, Branching> branching_;  // by session
};

}  // namespace kvcap
