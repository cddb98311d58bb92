#include "serving/arrivals.h"

#include <algorithm>
#include <limits>

namespace kvcap {

Arrivals::Arrivals(const Workload& workload)
    : workload_(workload), open_sessions_(workload.sessions.size()) {}

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
    const Arrival arrival = returning_.top();
    returning_.pop();
    return arrival;
  }
  return {next, next_session_++, 0};
}

void Arrivals::answered(const Arrival& turn, double now_s) {
  const Session& session = workload_.sessions[turn.session];
  if (turn.turn + 1 == session.turn_count) {
    --open_sessions_;
    return;
  }
  returning_.push({time_after(turn, now_s), turn.session, turn.turn + 1});
}

double Arrivals::time_after(const Arrival& turn, double now_s) const {
  const double time_s = workload_.turns[workload_.sessions[turn.session].first_turn + turn.turn + 1].time_s;
  return workload_.absolute_times ? std::max(time_s, now_s) : now_s + time_s;
}

uint32_t Arrivals::refused(const Arrival& turn) {
  --open_sessions_;
  return workload_.sessions[turn.session].turn_count - turn.turn - 1;
}

}  // namespace kvcap
