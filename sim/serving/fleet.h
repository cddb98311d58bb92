// Fleet: the nodes that serve a workload, as one passive machine: somebody else owns the clock and calls
// advance(). Turns reach it, its router sends each to a node, nodes fail and come back.
//
// A node that fails loses its turns, its own tiers and whatever is under way on its links. Its turns are
// routed again at once, in order of arrival, and start over from their prompts: TTFT counts from the first
// arrival to the first token of the answer that is completed. While no node is up turns wait. The node comes
// back empty.
//
// One node that never fails sees its turns come: no event is spent on routing them.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "serving/fleet_options.h"
#include "serving/instance.h"
#include "serving/router.h"
#include "serving/sessions.h"
#include "state/node_store.h"
#include "state/orders.h"

namespace kvcap {

// What a fleet works with; all outlive it.
struct FleetParts {
  World* world = nullptr;  // with a node for each store
  FleetOptions options;
  std::span<NodeStore> stores;  // of each node
  Store* shared = nullptr;      // the tier behind all of them, if any
  std::function<std::unique_ptr<Restorer>(std::size_t node)> make_restorer;
  InstanceParts instance;  // but for what differs between nodes
};

// The node on which a context lies before the first arrival, where contexts do.
constexpr std::size_t home_of(Key context, std::size_t nodes) {
  return static_cast<std::size_t>(context % nodes);
}

class Fleet {
 public:
  explicit Fleet(const FleetParts& parts);

  // Does what is due at `now_s`. Returns when to call again (infinity: when woken), negative once every
  // session has ended.
  double advance(double now_s);
  double ended_s() const { return ended_s_; }

 private:
  struct Member {
    std::unique_ptr<Restorer> restorer;
    std::unique_ptr<Instance> instance;  // none while the node is down
  };
  // A node goes down, or comes back.
  struct Change {
    double at_s = 0;
    std::size_t node = 0;
    bool up = false;
  };

  bool alone() const { return members_.size() == 1 && changes_.empty(); }
  double advance_only(double now_s);
  void start(std::size_t node);
  void change_nodes(double now_s);
  void fail(std::size_t node, double now_s);
  void route_arrivals(double now_s);
  void route(Arrival arrival, double now_s);
  void work(double now_s);
  // Abort when an invariant is broken (invariants.cpp); at the end everything has been given back.
  void check(double now_s) const;
  void check_ended() const;
  void check_pins() const;

  FleetParts parts_;
  Sessions sessions_;
  Router router_;
  std::vector<Member> members_;
  std::vector<NodeFacts> facts_;
  std::vector<uint32_t> last_node_;  // of each session; kNowhere before its first turn
  std::vector<Change> changes_;      // in order of their dates
  std::size_t next_change_ = 0;
  std::deque<Arrival> held_;   // while no node is up
  SlotHeap due_;               // nodes by when they want to be called
  std::vector<Slot> at_work_;  // scratch of advance(): nodes between two steps
  int64_t routed_ = 0, ended_ = 0;
  double ended_s_ = 0;
};

}  // namespace kvcap
