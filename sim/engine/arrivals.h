// Arrivals: the turns of a workload in the order in which they reach the engines. A turn arrives a think time
// after the answer to its parent, so the order depends on the simulated system. The same holds for calls that
// wait for other calls (workload/calls.h) and for sessions that wait to be started (closed_loop).
//
// If clients give up (Workload::clients), a request is abandoned `timeout_s` after it was sent unless its
// last token has arrived; an answer at exactly that time is too late. After a backoff the client sends the
// same prompt again as a new request, until its retries are used up. Then the turn has failed and its session
// ends, as after a refused turn, because the next prompt needs the missing answer.
//
// If turns branch, several turns of a session may be in flight concurrently. A refused turn ends its session:
// its turns in flight are still served, and no others arrive.
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
  int64_t number = 0;    // arrival order; turns that a refusal keeps from arriving are numbered, too
  bool warmup = false;   // the turn is among the first Workload::warmup_turns
  uint32_t retries = 0;  // how often a node failed while serving the turn
  bool moved = false;    // another node served the session's previous turn
  uint32_t attempt = 0;  // number of earlier attempts that the client gave up
  double earlier_s = 0;  // time between the first attempt and this one
  // Time at which the client gives up this attempt.
  double deadline_s = std::numeric_limits<double>::infinity();

  // True iff the client has given up by `now_s`, up to the resolution of the clock.
  bool is_given_up(double now_s) const { return deadline_s <= now_s + 2e-9; }
};

class Arrivals {
 public:
  explicit Arrivals(const Workload& workload);

  // Returns the time of the next known arrival; infinity if none is known.
  double next_s() const;
  // REQUIRES: next_s() is finite.
  Arrival pop();
  // Notes that the turn was answered; its children now have arrival times. The answer to a session's last
  // open turn ends the session.
  void answered(const Arrival& turn, double now_s);
  // Returns the arrival time of the turn's first child if the turn is answered now; infinity if it has none.
  double time_after(const Arrival& turn, double now_s) const;
  // Notes that the turn is refused. Returns the number of turns that never arrive because of this, and
  // appends those of its session to `unborn`.
  uint32_t refused(const Arrival& turn, double now_s, std::vector<uint32_t>* unborn = nullptr);
  // Returns the time at which the next client gives up; infinity if none is known.
  double next_give_up_s() const;
  // Gives up the attempt with the earliest deadline and returns it. Unless it was the last, the next attempt
  // arrives after a backoff. REQUIRES: next_give_up_s() is finite.
  Arrival give_up();
  bool is_last(const Arrival& attempt) const { return attempt.attempt >= workload_.clients.retries.count; }
  // Returns the time at which the client of the next arrival would give up.
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
  // State of a session whose turns branch, from its first arrival to its end.
  struct Branching {
    std::vector<bool> arrived;  // by turn
    uint32_t in_flight = 0;
    uint32_t unanswered = 0;
    bool is_refused = false;
  };

  bool branches(const Session& session) const;
  // Returns the turns of the session that wait for the answer to `turn`.
  std::span<const uint32_t> children_of(const Session& session, uint32_t turn) const;
  // Returns the arrival time of a turn whose parent is answered at `answered_s`.
  double arrival_s(const Session& session, uint32_t turn, double answered_s) const;
  void push(double time_s, uint32_t session, uint32_t turn);
  // Called when the first turn of a branching session arrives: schedules the session's other turns that have
  // no parent.
  void begin_branching(const Arrival& first);
  void drop_refused();
  void wait_for_answer(Arrival& arrival);
  void stop_waiting(const Arrival& arrival) { awaited_answers_.erase({arrival.deadline_s, arrival.number}); }
  double backoff_s(const Arrival& given_up) const;
  void end_session(uint32_t session, double now_s);
  // closed_loop: starts the next session, or the calls of the next turn that was divided into calls.
  void release(double now_s);
  // closed_loop: starts the first sessions of a round or of the workload.
  void release_together(double now_s);
  bool begins_round() const {
    return workload_.round_sessions > 0 && released_ % workload_.round_sessions == 0;
  }

  // Skips sessions that wait for the end of other sessions.
  void pass_waiting();
  // Returns the session that starts when this one ends; nullopt if there is none or it will never arrive.
  std::optional<uint32_t> waiter_of(uint32_t session) const;

  const Workload& workload_;
  uint32_t next_session_ = 0;  // sessions are sorted by their first arrival
  uint32_t released_ = 0;      // sessions below this index may arrive; all if concurrency is unlimited
  // by session: how many other sessions must still end before it starts; empty if no session waits
  std::vector<uint32_t> awaited_;
  // closed_loop: number of open calls, by Call::asked_session
  std::unordered_map<uint32_t, uint32_t> open_calls_;
  std::size_t open_sessions_;
  int64_t numbered_ = 0;
  int64_t numbered_turns_ = 0;  // number of arrivals, not counting retries
  // Attempts whose clients wait for an answer, by deadline and number.
  std::map<std::pair<double, int64_t>, Arrival> awaited_answers_;
  RandomStream backoffs_;
  std::priority_queue<Arrival, std::vector<Arrival>, Later> returning_;

  // Set only if turns branch: the children of turn i are children_[children_begin_[i]] up to
  // children_[children_begin_[i + 1]].
  std::vector<uint32_t> children_;
  std::vector<uint32_t> children_begin_;
  std::unordered_map<uint32_t, Branching> branching_;  // by session
};

}  // namespace kvcap
