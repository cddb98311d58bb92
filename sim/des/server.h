// Building blocks of the SimGrid world. The simulation does not use SimGrid actors, so SimGrid reports the
// completion of an activity immediately, through a callback that may start more activities.
//
//   Clock    the time of the simulation, and how many activities of SimGrid are under way
//   Agenda   jobs to run after the current callback has returned
//   Timers   ends that are known
//   Pending  one timer or activity and its continuation
//   Server   a queue that serves one item at a time
//
// SimGrid computes the ends of transfers that share a link. All other ends are known when a job begins, so
// they are timers, which cost a fraction of an activity.
//
// Private to this folder because it exposes SimGrid types.
#pragma once

#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <simgrid/s4u.hpp>
#include <utility>
#include <vector>

namespace kvcap {

namespace sg4 = simgrid::s4u;

// SimGrid resolves times to a nanosecond; shorter durations end immediately.
inline constexpr double kResolution_s = 1e-9;

// The time of the simulation. While no activity is under way, nothing contends for resources, and the clock
// advances without SimGrid, whose own clock lags behind by the skipped time.
class Clock {
 public:
  double now_s() const {
    const double clock_s = sg4::Engine::get_clock();
    return clock_s == skipped_at_s_ ? now_s_ : clock_s + skipped_s_;  // now_s_ is not rounded
  }
  // REQUIRES: no activity is under way.
  void skip_to(double now_s) {
    now_s_ = now_s;
    skipped_at_s_ = sg4::Engine::get_clock();
    skipped_s_ = now_s - skipped_at_s_;
  }

  int64_t under_way = 0;

 private:
  double now_s_ = 0, skipped_at_s_ = 0, skipped_s_ = 0;
};

// A first-come, first-served list of jobs.
class Agenda {
 public:
  void add(std::function<void()> job) { jobs_.push_back(std::move(job)); }
  void work_off() {
    for (; !jobs_.empty(); jobs_.pop_front()) jobs_.front()();
  }

 private:
  std::deque<std::function<void()>> jobs_;
};

class Pending;

// The timers that have not rung yet, by their times; of equal ones, in the order in which they were set.
class Timers {
 public:
  using Place = std::pair<double, uint64_t>;  // time, number

  double next_s() const {
    return timers_.empty() ? std::numeric_limits<double>::infinity() : timers_.begin()->first.first;
  }
  Place set(double at_s, Pending& pending) {
    const Place place{at_s, ++number_};
    timers_.emplace(place, &pending);
    return place;
  }
  void call_off(const Place& place) { timers_.erase(place); }
  // REQUIRES: a timer is left.
  Pending& first() { return *timers_.begin()->second; }

 private:
  std::map<Place, Pending*> timers_;
  uint64_t number_ = 0;
};

// One timer or running activity, and the function to call when it is over.
class Pending {
 public:
  using Then = std::function<void()>;

  Pending(Clock& clock, Timers& timers) : clock_(clock), timers_(timers) {}

  const sg4::Activity* activity() const { return activity_.get(); }
  // Returns the seconds until the timer rings. REQUIRES: pass() set one.
  double left_s() const { return timer_->first - clock_.now_s(); }

  // Calls `then` after `seconds`.
  void pass(double seconds, Then then) {
    timer_ = timers_.set(clock_.now_s() + seconds, *this);
    then_ = std::move(then);
  }

  // Calls `then` after `seconds` while activities are under way. REQUIRES: `host` has an idle core; its speed
  // is 1.
  void pass_beside_others(sg4::Host* host, double seconds, Then then) {
    const sg4::ExecPtr exec = sg4::Exec::init();
    exec->set_flops_amount(seconds)->set_host(host);
    exec->start();
    begin(exec, std::move(then));
  }

  void carry(sg4::Host* from, sg4::Host* to, double bytes, Then then) {
    begin(sg4::Comm::sendto_async(from, to, static_cast<uint64_t>(std::llround(bytes))), std::move(then));
  }

  // Cancels the timer or the activity; `then` is not called.
  void call_off() {
    if (timer_) timers_.call_off(*std::exchange(timer_, {}));
    if (!activity_) return;
    const sg4::ActivityPtr called_off = activity_;
    put_away();
    called_off->cancel();
  }

  // Returns the Pending that runs `ended`, or nullptr if that activity was cancelled.
  static Pending* of(const sg4::Activity& ended) {
    auto* pending = ended.get_data<Pending>();
    return pending->activity() == &ended ? pending : nullptr;
  }
  void over() {
    if (timer_) {
      timers_.call_off(*std::exchange(timer_, {}));
    } else {
      put_away();
    }
    const Then then = std::move(then_);
    then();
  }

 private:
  void begin(const sg4::ActivityPtr& activity, Then then) {
    ++clock_.under_way;
    activity_ = activity;
    activity_->set_data(this);
    then_ = std::move(then);
  }

  // Keeps an ended activity alive until the clock has advanced, because SimGrid may still read it.
  void put_away() {
    --clock_.under_way;
    if (sg4::Engine::get_clock() > over_s_) {
      over_s_ = sg4::Engine::get_clock();
      long_over_.clear();
      long_over_.swap(over_);
    }
    over_.push_back(std::exchange(activity_, nullptr));
  }

  Clock& clock_;
  Timers& timers_;
  std::optional<Timers::Place> timer_;
  sg4::ActivityPtr activity_;
  Then then_;
  std::vector<sg4::ActivityPtr> over_, long_over_;
  double over_s_ = -1;
};

// Serves a queue, one item at a time.
template <class Piece>
class Server {
 public:
  Server(Clock& clock, Timers& timers, Agenda& agenda)
      : pending_(clock, timers), clock_(clock), agenda_(agenda) {}
  virtual ~Server() = default;

 protected:
  void ask(Piece piece) {
    queue_.push_back(std::move(piece));
    if (busy_ || std::exchange(asked_, true)) return;
    agenda_.add([this] {
      asked_ = false;
      go_on();
    });
  }
  // Serves current_, then calls finished(), either immediately or later through pending_.
  virtual void serve() = 0;
  void finished() { busy_ = false; }
  void go_on() {
    while (!busy_ && !queue_.empty()) {
      busy_ = true;
      current_ = std::move(queue_.front());
      queue_.pop_front();
      serve();
    }
  }
  // Calls `then` after `seconds`, or immediately if that is below the resolution.
  template <class Then>
  void after(double seconds, Then then) {
    if (seconds <= kResolution_s) return then();
    pending_.pass(seconds, [this, then] {
      then();
      go_on();
    });
  }
  double now_s() const { return clock_.now_s(); }
  // Cancels the current item and drops all queued items.
  void give_up() {
    pending_.call_off();
    queue_.clear();
    busy_ = false;
  }

  std::deque<Piece> queue_;
  Piece current_;
  Pending pending_;

 private:
  const Clock& clock_;
  Agenda& agenda_;
  bool busy_ = false;
  bool asked_ = false;
};

}  // namespace kvcap
