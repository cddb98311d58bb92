// Fleet: the nodes that serve a workload, as one passive machine: somebody else owns the clock and calls
// advance(). Turns reach it, its router sends each to a node, nodes fail and come back.
//
// A node that fails loses its turns, its own tiers and whatever is under way on its links. Its turns are
// routed again at once, in order of arrival, and start over from their prompts: TTFT counts from the first
// arrival to the first token of the answer that is completed. While no node is up turns wait. The node comes
// back empty.
//
// A node of data_parallel_size ranks is as many members, each an engine with a queue, KV blocks and tiers of
// its own. The router chooses among nodes, and of a node's ranks the least loaded takes the turn: that with
// the least 4 * waiting + running, the first of equals (vLLM's DPLBAsyncMPClient; its counts are up to 100 ms
// old, ours are not). Ranks fail together. Where they share experts they step together (in_lockstep): all
// plan, then all compute for as long as the slowest.
//
// Clients that give up do so at their own time, whatever the engines are about; each engine drops what it has
// of the attempt as soon as it can (abandonment.cpp). The run ends when all have.
//
// Where prefill and decode are disaggregated, a turn is routed twice: to one of the nodes that compute
// prompts, and from there to one of those that decode, by the same rule among these. It counts as a turn of
// each.
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
#include "serving/router_index.h"
#include "serving/sessions.h"
#include "state/node_store.h"
#include "state/orders.h"

namespace kvcap {

// What a fleet works with; all outlive it.
struct FleetParts {
  World* world = nullptr;  // with a node for each store
  FleetOptions options;
  uint64_t seed = 1;            // of what a router draws
  std::size_t ranks = 1;        // of each node
  bool in_lockstep = false;     // ranks of one node
  std::span<NodeStore> stores;  // of each rank of each node
  Store* shared = nullptr;      // the tier behind all of them, if any
  std::function<std::unique_ptr<Restorer>(std::size_t node)> make_restorer;
  InstanceParts instance;  // but for what differs between nodes
  // Of nodes that only decode. Present where fleet.disaggregation is; the others then have a handover plan.
  std::optional<InstanceParts> decode;
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

  // Nodes of which one serves a turn; members are numbered alike.
  struct Pool {
    std::size_t first = 0, members = 0;
    Router router;
    std::vector<uint32_t> last_node;  // member of each session; kNowhere before its first turn
  };

  bool decodes_only(std::size_t member) const { return parts_.decode && member >= pools_.front().members; }
  // Every session has ended, and no engine works for clients that have given up.
  bool has_ended() const { return sessions_.arrivals.ended() && routed_ == ended_; }
  bool alone() const { return members_.size() == 1 && changes_.empty(); }
  double advance_only(double now_s);
  std::size_t step_ranks() const { return parts_.in_lockstep ? parts_.ranks : 1; }
  // Of those that step together; what due_ and at_work_ hold.
  Slot unit_of(std::size_t member) const { return static_cast<Slot>(member / step_ranks()); }
  void start(std::size_t member);
  void call_again_or_work(Slot unit, double now_s);
  std::optional<double> finish(Slot unit, double now_s);
  double proceed(Slot unit, double now_s);
  // The member of a pool that gets the turn. `moved`: its session was elsewhere before.
  std::optional<std::size_t> assign(const Arrival& arrival, Pool& pool, bool& moved, double now_s);
  std::optional<std::size_t> choose_node(const Arrival& arrival, Pool& pool,
                                         std::optional<std::size_t> before, double now_s);
  void learn(const Pool& pool, const TurnText& text, std::span<const Part> prompt, double now_s);
  std::vector<Part> prompt_parts(const TurnText& text) const;
  std::optional<std::size_t> choose_by_facts(Pool& pool, std::optional<std::size_t> before,
                                             int64_t prompt_tokens);
  void tell(std::size_t member, double now_s);
  void route_handed_over(double now_s);
  std::size_t least_loaded_rank(std::size_t node) const;
  void give_up(double now_s);
  void give_up_one(double now_s);
  void drop_held(const Arrival& given_up, double now_s);
  void change_nodes(double now_s);
  void fail(std::size_t node, double now_s);
  void fail_rank(std::size_t member, double now_s, std::vector<Arrival>& lost);
  void route_arrivals(double now_s);
  void route(Arrival arrival, double now_s);
  void work(double now_s);
  // Abort when an invariant is broken (invariants.cpp); at the end everything has been given back.
  void check(double now_s) const;
  void check_ended() const;
  void check_pins() const;

  FleetParts parts_;
  Sessions sessions_;
  std::vector<Pool> pools_;  // of all nodes; or of those that compute prompts, and of those that decode
  RouterIndex index_;        // what routers believe, unless they look into the stores
  std::vector<Member> members_;
  std::vector<NodeFacts> facts_;       // of each member
  std::vector<NodeFacts> node_facts_;  // scratch of choose_node()
  std::vector<Change> changes_;        // in order of their dates
  std::size_t next_change_ = 0;
  std::deque<Arrival> held_;             // while no node is up
  std::vector<HandedOver> handed_over_;  // turns that look for a node that decodes
  SlotHeap due_;                         // units by when they want to be called
  std::vector<Slot> at_work_;            // scratch of advance(): units between two steps
  int64_t routed_ = 0, ended_ = 0;
  double ended_s_ = 0;
};

}  // namespace kvcap
