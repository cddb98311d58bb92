// Fleet: the nodes that serve a workload. Its router sends each arriving turn to a node; nodes fail and
// recover. A fleet is a passive state machine: its owner has the clock and calls advance().
//
// A failing node loses its turns, its own tiers and all transfers on its links. Its turns are immediately
// routed again in order of arrival and start over from their prompts: TTFT counts from the first arrival to
// the first token of the completed answer. While no node is up, turns wait. A node recovers empty. With
// disaggregation, turns whose KV was on the failing prefill node or under way to the failing decode node
// start over, too; a prompt that is being computed for a failed decode node is completed first.
//
// A node with data_parallel_size ranks has one member per rank, each an engine with its own queue, KV blocks
// and tiers. The router chooses a node, and the node's least loaded rank takes the turn: the first one with
// the lowest 4 * waiting + running (vLLM's DPLBAsyncMPClient, whose counts are up to 100 ms old; here they
// are current). Ranks fail together. Ranks that share experts step together (in_lockstep): all plan, then all
// compute for as long as the slowest.
//
// Clients give up at times that do not depend on the engines; an engine drops the abandoned attempt as soon
// as it can (engine/turn_ends.cpp). The run ends when all engines have done so.
//
// With disaggregated prefill and decode a turn is routed twice by the same rule: to a node that computes its
// prompt, and from there to a node that decodes it. It counts as a turn of both nodes.
//
// A single node that never fails reads the arrivals itself, so routing them costs no events.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/instance.h"
#include "engine/sessions.h"
#include "fleet/options.h"
#include "fleet/router.h"
#include "fleet/router_index.h"
#include "fleet/server_view.h"
#include "state/orders.h"
#include "state/store.h"

namespace kvcap {

// Nodes of a fleet that do the same work.
struct PoolParts {
  const EngineModel* engine = nullptr;
  std::size_t nodes = 1;
  std::size_t ranks = 1;     // per node
  bool in_lockstep = false;  // the ranks of a node step together
};

// Collaborators of a fleet; all outlive it.
struct FleetParts {
  World* world = nullptr;  // has one node per store
  FleetOptions options;
  uint64_t seed = 1;  // seeds the random choices of a router
  // One pool, or with fleet.disaggregation the prefill pool and then the decode pool.
  std::vector<PoolParts> pools;
  std::span<Store> stores;  // one per rank and node, in the order of the pools
  Store* shared = nullptr;  // the tier that all nodes share, or nullptr
  std::function<std::unique_ptr<Restorer>(std::size_t node)> make_restorer;
  InstanceParts instance;  // fields that differ between nodes are unset
};

// Returns the node on which a preloaded context is stored.
constexpr std::size_t home_of(Key context, std::size_t nodes) {
  return static_cast<std::size_t>(context % nodes);
}

class Fleet {
 public:
  explicit Fleet(const FleetParts& parts);

  // Processes the events that are due at `now_s`. Returns the time of the next call, infinity if only a
  // wake-up leads to one, or a negative number once every session has ended.
  double advance(double now_s);
  double ended_s() const { return ended_s_; }

 private:
  struct Member {
    std::unique_ptr<Restorer> restorer;
    std::unique_ptr<Instance> instance;  // null while the node is down
    ServerView view;
    int64_t left_waiting = 0;         // turns that the last plan left in the queue
    double begun_s = 0;               // beginning of the last step or run of steps
    double quiet_until_s = 0;         // Steps::quiet_until_s() at the last catch_up()
    double same_metrics_until_s = 0;  // its metrics are those of the last report until then
  };
  // A failure or recovery of a node.
  struct Change {
    double at_s = 0;
    std::size_t node = 0;
    bool up = false;
  };

  // Nodes among which the router chooses; `first` and `members` count members.
  struct Pool {
    const EngineModel* engine = nullptr;
    std::size_t first = 0, members = 0;
    std::size_t ranks = 1, step_ranks = 1;  // members per node; members that step together
    Router router;
    // by session: the member that served its last turn; kNowhere before its first turn
    std::vector<uint32_t> last_node;
  };

  bool disaggregated() const { return pools_.size() > 1; }
  bool decodes_only(std::size_t member) const { return disaggregated() && member >= pools_.back().first; }
  const Pool& pool_of(std::size_t member) const {
    return decodes_only(member) ? pools_.back() : pools_.front();
  }
  // True iff every session has ended and no engine still works on abandoned requests.
  bool has_ended() const { return sessions_.arrivals.ended() && routed_ == ended_; }
  bool alone() const { return members_.size() == 1 && changes_.empty(); }
  double advance_only(double now_s);
  // Returns the unit of a member. A unit is a group of members that step together, identified by its first
  // member. due_ and at_work_ contain units.
  Slot unit_of(std::size_t member) const {
    const Pool& pool = pool_of(member);
    return static_cast<Slot>(member - (member - pool.first) % pool.step_ranks);
  }
  std::span<Member> members_of(Slot unit) {
    return std::span(members_).subspan(unit, pool_of(unit).step_ranks);
  }
  void start(std::size_t member);
  void call_again_or_work(Slot unit, double now_s);
  std::optional<double> finish(Slot unit, double now_s);
  double proceed(Slot unit, double now_s);
  static std::optional<double> step_end_s(std::span<Member> members, double now_s);
  static void wait_for_slowest(std::span<Member> members);
  // Returns the member of a pool that gets the turn. Sets `moved` if another member served the session's
  // previous turn.
  std::optional<std::size_t> assign(const Arrival& arrival, Pool& pool, bool& moved, double now_s);
  std::optional<std::size_t> choose_node(const Arrival& arrival, Pool& pool,
                                         std::optional<std::size_t> before, double now_s);
  void report_metrics(Slot unit, double now_s);
  void scrape(std::size_t member, NodeFacts& facts, double now_s);
  static void catch_up(Member& member, double now_s);
  static void read_engine(const Instance& instance, NodeFacts& facts);
  void learn(const Pool& pool, const TurnText& text, std::span<const Part> prompt, double now_s);
  std::vector<Part> prompt_parts(const TurnText& text) const;
  std::optional<std::size_t> choose_by_facts(Pool& pool, std::optional<std::size_t> before,
                                             int64_t prompt_tokens);
  void tell(std::size_t member, double now_s);
  void route_handed_over(double now_s);
  void hand_over(const HandedOver& turn, double now_s);
  void start_over(std::vector<Arrival> lost, double now_s);
  std::optional<std::size_t> choose_rank(Pool& pool, std::optional<std::size_t> before,
                                         int64_t prompt_tokens);
  std::size_t least_loaded(std::size_t first, std::size_t ranks) const;
  void give_up(double now_s);
  void give_up_one(double now_s);
  void drop_held(const Arrival& given_up, double now_s);
  void level_held(double now_s) const;
  void change_nodes(double now_s);
  struct NodeMembers {
    std::size_t first = 0, ranks = 1;
  };
  NodeMembers ranks_of(std::size_t node) const;
  void fail(std::size_t node, double now_s);
  void fail_rank(std::size_t member, double now_s, std::vector<Arrival>& lost);
  void lose_prompts_of(std::size_t member, double now_s, std::vector<Arrival>& lost);
  void route_arrivals(double now_s);
  void route(Arrival arrival, double now_s);
  void work(double now_s);
  // Check invariants and abort if one is broken (invariants.cpp). check_ended(): everything was released.
  void check(double now_s) const;
  void check_ended() const;
  void check_pins() const;

  FleetParts parts_;
  Sessions sessions_;
  std::vector<Pool> pools_;  // one pool of all nodes; or the prefill pool, then the decode pool
  RouterIndex index_;  // contents of nodes as routers assume them; unused by routers that read the stores
  std::vector<Member> members_;
  std::vector<NodeFacts> facts_;       // by member
  std::vector<NodeFacts> node_facts_;  // scratch of choose_node()
  std::vector<Change> changes_;        // ordered by time
  std::size_t next_change_ = 0;
  std::deque<Arrival> held_;                // turns that wait while no node is up
  std::vector<HandedOver> handed_over_;     // turns that need a decode node
  std::deque<HandedOver> held_for_decode_;  // turns that wait while no decode node is up
  std::vector<Arrival> lost_;               // turns that start over because their decode nodes have failed
  int64_t most_decoded_tokens_ = 0;         // longest sequence that a decode node can ever hold
  SlotHeap due_;                            // units by the time of their next call
  std::vector<Slot> at_work_;               // scratch of advance(): units between two steps
  int64_t routed_ = 0, ended_ = 0;
  double ended_s_ = 0;
};

}  // namespace kvcap
