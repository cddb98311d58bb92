// A World of one node without SimGrid: a queue of dated callbacks, lanes that serve one transfer at a time at
// full speed. Good for tests of whoever uses a World, and for comparing the real one on machines where no two
// lanes share a link.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <utility>
#include <vector>

#include "base/check.h"
#include "des/world.h"

namespace kvcap {

class FakeWorld : public World, public Node {
 public:
  double now_s() const override { return now_s_; }
  Node& node(std::size_t) override { return *this; }
  Lane& between(std::size_t, std::size_t) override { KVCAP_BUG("a fake world is one machine"); }
  Lane& lane(Tier from, Tier to) override {
    return lanes_.try_emplace({from, to}, FakeLane(*this)).first->second;
  }
  ComputeQueue& restore_compute() override { return compute_; }
  void drop_all(std::size_t) override {
    events_ = {};
    lanes_.clear();
    compute_.drop();
  }
  void wake() override { woken_ = true; }

  void run(std::function<double(double)> loop) override {
    for (;;) {
      woken_ = false;
      const double until_s = loop(now_s_);
      if (until_s < 0) return;
      while (!woken_ && !events_.empty() && events_.top().date_s <= until_s) {
        const Event event = events_.top();
        events_.pop();
        now_s_ = std::max(now_s_, event.date_s);
        event.happen();
      }
      if (woken_) continue;
      KVCAP_CHECK(!std::isinf(until_s));
      now_s_ = std::max(now_s_, until_s);
    }
  }

 private:
  struct Event {
    double date_s;
    uint64_t order;
    std::function<void()> happen;
    bool operator<(const Event& other) const {
      return date_s != other.date_s ? date_s > other.date_s : order > other.order;
    }
  };
  void at(double date_s, std::function<void()> happen) {
    events_.push({date_s, order_++, std::move(happen)});
  }

  class FakeLane : public Lane {
   public:
    explicit FakeLane(FakeWorld& world) : world_(world) {}
    void move(double alone_s, double latency_s, std::function<void(TransferPhase)> on_phase,
              double ready_s) override {
      const double begin_s = std::max({world_.now_s_, free_s_, ready_s});
      free_s_ = begin_s + latency_s + alone_s;
      world_.at(begin_s, [on_phase] { on_phase(TransferPhase::began); });
      world_.at(free_s_, [on_phase] { on_phase(TransferPhase::ended); });
    }
    double pending_s() const override { return std::max(0.0, free_s_ - world_.now_s_); }

   private:
    FakeWorld& world_;
    double free_s_ = 0;
  };

  class FakeCompute : public ComputeQueue {
   public:
    explicit FakeCompute(FakeWorld& world) : world_(world) {}
    void run(double seconds, std::function<void()> done) override {
      free_s_ = std::max(world_.now_s_, free_s_) + seconds;
      asked_s_ += seconds;
      world_.at(free_s_, std::move(done));
    }
    double served_s() const override { return asked_s_ - pending_s(); }
    double pending_s() const override { return std::max(0.0, free_s_ - world_.now_s_); }

    void drop() { free_s_ = asked_s_ = 0; }

   private:
    FakeWorld& world_;
    double free_s_ = 0;
    double asked_s_ = 0;
  };

  double now_s_ = 0;
  uint64_t order_ = 0;
  bool woken_ = false;
  std::priority_queue<Event> events_;
  std::map<std::pair<Tier, Tier>, FakeLane> lanes_;
  FakeCompute compute_{*this};
};

}  // namespace kvcap
