#include "serving/arrivals.h"

#include <algorithm>
#include <limits>

namespace kvcap {

Arrivals::Arrivals(const Workload& workload) : workload_(workload), open_sessions_(workload.sessions.size()) {
  awaited_.reserve(workload.calls.size());
  for (const Call& call : workload.calls) awaited_.push_back(call.after);
  pass_waiting();
}

void Arrivals::pass_waiting() {
  while (next_session_ < workload_.calls.size() && workload_.calls[next_session_].after > 0) ++next_session_;
}

std::optional<uint32_t> Arrivals::waiter_of(uint32_t session) const {
  if (awaited_.empty()) return std::nullopt;
  const uint32_t asked = workload_.calls[session].asked_session;
  for (uint32_t other = session + 1; other < awaited_.size(); ++other) {
    if (workload_.calls[other].asked_session != asked) break;
    if (awaited_[other] > 0) return other;
  }
  return std::nullopt;
}

double Arrivals::next_s() const {
  double next = std::numeric_limits<double>::infinity();
  if (next_session_ < workload_.sessions.size()) {
    next = workload_.turns[workload_.sessions[next_session_].first_turn].time_s;
  }
  return returning_.empty() ? next : std::min(next, returning_.top().time_s);
}

Arrival Arrivals::pop() {
  const double next = next_s();
  if (!returning_.empty() && returning_.top().time_s == next) {
    Arrival arrival = returning_.top();
    returning_.pop();
    arrival.number = numbered_++;
    return arrival;
  }
  const Arrival arrival{.time_s = next, .session = next_session_++, .turn = 0, .number = numbered_++};
  pass_waiting();
  return arrival;
}

void Arrivals::answered(const Arrival& turn, double now_s) {
  const Session& session = workload_.sessions[turn.session];
  if (turn.turn + 1 == session.turn_count) {
    --open_sessions_;
    const std::optional<uint32_t> waiter = waiter_of(turn.session);
    if (waiter && --awaited_[*waiter] == 0) returning_.push({.time_s = now_s, .session = *waiter, .turn = 0});
    return;
  }
  returning_.push({.time_s = time_after(turn, now_s), .session = turn.session, .turn = turn.turn + 1});
}

double Arrivals::time_after(const Arrival& turn, double now_s) const {
  const double time_s = workload_.turns[workload_.sessions[turn.session].first_turn + turn.turn + 1].time_s;
  return workload_.absolute_times ? std::max(time_s, now_s) : now_s + time_s;
}

uint32_t Arrivals::refused(const Arrival& turn) {
  --open_sessions_;
  uint32_t unborn = workload_.sessions[turn.session].turn_count - turn.turn - 1;
  if (const std::optional<uint32_t> waiter = waiter_of(turn.session)) {
    awaited_[*waiter] = 0;
    --open_sessions_;
    ++unborn;
  }
  numbered_ += unborn;
  return unborn;
}

}  // namespace kvcap
