#include "engine/arrivals.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kvcap {

Arrivals::Arrivals(const Workload& workload)
    : workload_(workload),
      released_(static_cast<uint32_t>(workload.sessions.size())),
      open_sessions_(workload.sessions.size()),
      backoffs_(workload.clients.seed, "client backoff") {
  awaited_.reserve(workload.calls.size());
  for (const Call& call : workload.calls) awaited_.push_back(call.after);
  if (!workload.parents.empty()) {
    children_begin_.assign(workload.turns.size() + 1, 0);
    for (const Session& session : workload.sessions) {
      for (uint32_t turn = 0; turn < session.turn_count; ++turn) {
        const std::optional<uint32_t> parent = workload.parent_of(session, turn);
        if (parent) ++children_begin_[session.first_turn + *parent + 1];
      }
    }
    for (std::size_t i = 1; i < children_begin_.size(); ++i) children_begin_[i] += children_begin_[i - 1];
    children_.resize(children_begin_.back());
    std::vector<uint32_t> filled(children_begin_.begin(), children_begin_.end() - 1);
    for (const Session& session : workload.sessions) {
      for (uint32_t turn = 0; turn < session.turn_count; ++turn) {
        const std::optional<uint32_t> parent = workload.parent_of(session, turn);
        if (parent) children_[filled[session.first_turn + *parent]++] = turn;
      }
    }
  }
  if (workload.concurrency > 0) {
    released_ = 0;
    release_together(0);
  }
  pass_waiting();
}

bool Arrivals::branches(const Session& session) const {
  if (workload_.parents.empty()) return false;
  for (uint32_t turn = 1; turn < session.turn_count; ++turn) {
    if (workload_.parents[session.first_turn + turn] != static_cast<int32_t>(turn) - 1) return true;
  }
  return false;
}

std::span<const uint32_t> Arrivals::children_of(const Session& session, uint32_t turn) const {
  const std::size_t i = session.first_turn + turn;
  return {children_.data() + children_begin_[i], children_.data() + children_begin_[i + 1]};
}

double Arrivals::arrival_s(const Session& session, uint32_t turn, double answered_s) const {
  const double time_s = workload_.turns[session.first_turn + turn].time_s;
  return workload_.absolute_times ? std::max(time_s, answered_s) : answered_s + time_s;
}

void Arrivals::push(double time_s, uint32_t session, uint32_t turn) {
  returning_.push({.time_s = time_s, .session = session, .turn = turn});
}

// ---- sessions that wait ----

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

void Arrivals::release(double now_s) {
  const std::size_t count = workload_.sessions.size();
  if (released_ == count) return;
  const auto asked_of = [this](uint32_t session) {
    return workload_.calls.empty() ? session : workload_.calls[session].asked_session;
  };
  const uint32_t asked = asked_of(released_);
  for (; released_ < count && asked_of(released_) == asked; ++released_) {
    if (!workload_.calls.empty()) ++open_calls_[asked];
    if (!awaited_.empty() && awaited_[released_] > 0) continue;
    push(now_s + workload_.turns[workload_.sessions[released_].first_turn].time_s, released_, 0);
  }
}

void Arrivals::release_together(double now_s) {
  release(now_s);
  for (int64_t i = 1; i < workload_.concurrency && !begins_round(); ++i) release(now_s);
}

void Arrivals::end_session(uint32_t session, double now_s) {
  --open_sessions_;
  if (workload_.concurrency == 0) return;
  if (!workload_.calls.empty()) {
    const auto open = open_calls_.find(workload_.calls[session].asked_session);
    if (--open->second > 0) return;
    open_calls_.erase(open);
  }
  if (!begins_round()) return release(now_s);
  if (open_sessions_ + released_ == workload_.sessions.size()) release_together(now_s);
}

// ---- sessions that branch ----

void Arrivals::begin_branching(const Arrival& first) {
  const Session& session = workload_.sessions[first.session];
  Branching& state = branching_[first.session];
  state.arrived.assign(session.turn_count, false);
  state.unanswered = session.turn_count;
  for (uint32_t turn = 1; turn < session.turn_count; ++turn) {
    if (!workload_.parent_of(session, turn)) {
      push(arrival_s(session, turn, first.time_s), first.session, turn);
    }
  }
}

// Removes turns of refused sessions from the front of returning_, but not retries of turns in flight.
void Arrivals::drop_refused() {
  if (branching_.empty()) return;
  while (!returning_.empty() && returning_.top().turn > 0 && returning_.top().attempt == 0) {
    const auto state = branching_.find(returning_.top().session);
    if (state == branching_.end() || !state->second.is_refused) break;
    returning_.pop();
  }
}

// ---- arrivals and ends ----

double Arrivals::next_s() const {
  double next = std::numeric_limits<double>::infinity();
  if (workload_.concurrency == 0 && next_session_ < workload_.sessions.size()) {
    next = workload_.turns[workload_.sessions[next_session_].first_turn].time_s;
  }
  return returning_.empty() ? next : std::min(next, returning_.top().time_s);
}

Arrival Arrivals::pop() {
  const double next = next_s();
  Arrival arrival{.time_s = next};
  if (!returning_.empty() && returning_.top().time_s == next) {
    arrival = returning_.top();
    returning_.pop();
  } else {
    arrival.session = next_session_++;
    pass_waiting();
  }
  arrival.number = numbered_++;
  if (arrival.attempt == 0) arrival.warmup = numbered_turns_++ < workload_.warmup_turns;
  wait_for_answer(arrival);
  if (workload_.parents.empty()) return arrival;
  if (arrival.attempt > 0) {
    drop_refused();
    return arrival;
  }
  if (arrival.turn == 0 && branches(workload_.sessions[arrival.session])) begin_branching(arrival);
  const auto branching = branching_.find(arrival.session);
  if (branching != branching_.end()) {
    branching->second.arrived[arrival.turn] = true;
    ++branching->second.in_flight;
  }
  drop_refused();
  return arrival;
}

void Arrivals::answered(const Arrival& turn, double now_s) {
  stop_waiting(turn);
  const Session& session = workload_.sessions[turn.session];
  const auto branching = branching_.find(turn.session);
  if (branching == branching_.end()) {
    if (turn.turn + 1 < session.turn_count) {
      return push(arrival_s(session, turn.turn + 1, now_s), turn.session, turn.turn + 1);
    }
    const std::optional<uint32_t> waiter = waiter_of(turn.session);
    if (waiter && --awaited_[*waiter] == 0) push(now_s, *waiter, 0);
    return end_session(turn.session, now_s);
  }
  Branching& state = branching->second;
  --state.in_flight;
  --state.unanswered;
  if (!state.is_refused) {
    for (uint32_t child : children_of(session, turn.turn)) {
      push(arrival_s(session, child, now_s), turn.session, child);
    }
  }
  if (state.unanswered > 0 && !(state.is_refused && state.in_flight == 0)) return;
  // Keeps the state of a refused session: its turns in returning_ are dropped when they reach the front.
  if (!state.is_refused) branching_.erase(branching);
  end_session(turn.session, now_s);
}

// ---- clients that give up ----

void Arrivals::wait_for_answer(Arrival& arrival) {
  arrival.deadline_s = arrival.time_s + workload_.clients.timeout_s;
  if (std::isinf(arrival.deadline_s)) return;
  awaited_answers_.emplace(std::pair(arrival.deadline_s, arrival.number), arrival);
}

double Arrivals::next_give_up_s() const {
  if (awaited_answers_.empty()) return std::numeric_limits<double>::infinity();
  return awaited_answers_.begin()->first.first;
}

Arrival Arrivals::give_up() {
  const Arrival given_up = awaited_answers_.begin()->second;
  awaited_answers_.erase(awaited_answers_.begin());
  if (is_last(given_up)) return given_up;
  Arrival again = given_up;
  again.time_s = given_up.deadline_s + backoff_s(given_up);
  again.earlier_s += again.time_s - given_up.time_s;
  ++again.attempt;
  returning_.push(again);
  return given_up;
}

double Arrivals::backoff_s(const Arrival& given_up) const {
  const RetryOptions& retries = workload_.clients.retries;
  const double all_s =
      std::min(retries.max_backoff_s, retries.backoff_s * std::pow(retries.multiplier, given_up.attempt));
  const uint64_t turn = workload_.sessions[given_up.session].first_turn + given_up.turn;
  return all_s * (1 - retries.jitter * backoffs_.uniform(turn, given_up.attempt));
}

double Arrivals::time_after(const Arrival& turn, double now_s) const {
  const Session& session = workload_.sessions[turn.session];
  double first_s = std::numeric_limits<double>::infinity();
  if (workload_.parents.empty()) {
    return turn.turn + 1 < session.turn_count ? arrival_s(session, turn.turn + 1, now_s) : first_s;
  }
  for (uint32_t child : children_of(session, turn.turn)) {
    first_s = std::min(first_s, arrival_s(session, child, now_s));
  }
  return first_s;
}

uint32_t Arrivals::refused(const Arrival& turn, double now_s, std::vector<uint32_t>* unborn) {
  stop_waiting(turn);
  const Session& session = workload_.sessions[turn.session];
  uint32_t count = 0;
  const auto never = [&](uint32_t other) {
    ++count;
    if (unborn) unborn->push_back(other);
  };
  const auto branching = branching_.find(turn.session);
  if (branching == branching_.end()) {
    for (uint32_t later = turn.turn + 1; later < session.turn_count; ++later) never(later);
    const std::optional<uint32_t> waiter = waiter_of(turn.session);
    if (waiter) {
      awaited_[*waiter] = 0;
      ++count;
      end_session(*waiter, now_s);
    }
    end_session(turn.session, now_s);
  } else {
    Branching& state = branching->second;
    --state.in_flight;
    if (!state.is_refused) {
      for (uint32_t other = 0; other < session.turn_count; ++other) {
        if (!state.arrived[other]) never(other);
      }
    }
    state.is_refused = true;
    drop_refused();
    if (state.in_flight == 0) end_session(turn.session, now_s);
  }
  numbered_ += count;
  numbered_turns_ += count;
  return count;
}

}  // namespace kvcap
