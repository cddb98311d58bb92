// RouterIndex: the tokens that a router believes each node stores, for routers that do not read the stores.
//
//   approximate  prompts sent to a node, dropped least recently used first beyond index_tokens tokens, or
//                after index_ttl_s without a use. It misses evictions on the node, and answers.
//   events       what a node reports, with a delay: parts of prompts when they have been computed, contexts
//                when turns end, and evictions from its GPU. It misses what tiers below the GPU still hold.
//
// For each part (prompt.h) the index holds how many of its first tokens are stored. A prompt is found as far
// as its parts are indexed without a gap, and so only on the nodes that hold its first part.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "engine/prompt.h"
#include "fleet/options.h"
#include "state/orders.h"

namespace kvcap {

class RouterIndex {
 public:
  RouterIndex(const RouterOptions& options, std::size_t nodes);

  // Brings the index up to date; called before the functions below are.
  void hear(double now_s);
  // Returns the nodes that hold some of the prompt.
  std::span<const uint32_t> holders(std::span<const Part> prompt) const;
  // Returns how many of the prompt's tokens are indexed on the node.
  int64_t believed_tokens(std::size_t node, std::span<const Part> prompt) const;
  // Returns how many tokens of all texts are indexed on the node.
  int64_t indexed_tokens(std::size_t node) const { return nodes_[node].tokens; }

  // For `approximate`: notes that the prompt is sent to the node.
  void routed(std::size_t node, std::span<const Part> prompt, double now_s);
  // For `events`: note that the node has stored or evicted parts at `now_s`. REQUIRES: the times of a node's
  // events do not decrease.
  void stored(std::size_t node, std::span<const Part> parts, double now_s);
  void evicted(std::size_t node, Key part, int64_t first_token, double now_s);
  // Clears a failed node's entries; all routers notice a failure immediately.
  void lost(std::size_t node);

 private:
  struct Entry {
    Key part = 0;
    int64_t tokens = 0;
    double used_s = 0;
  };
  struct Event {
    double at_s = 0;
    Key part = 0;
    int64_t tokens = 0;
    bool is_stored = false;
  };
  struct Node {
    uint32_t number = 0;
    KeySlots slots;
    PerSlot<Entry> entries;
    SlotQueue order;  // least recently used first
    uint64_t uses = 0;
    int64_t tokens = 0;
    std::deque<Event> events;  // reports that have not arrived yet, in order
  };
  using Holders = boost::container::small_vector<uint32_t, 2>;

  void hear(Node& node, double now_s);
  void keep(Node& node, Key part, int64_t tokens, double now_s);
  void cut(Node& node, Slot slot, int64_t tokens);
  void forget(Node& node, double now_s);

  RouterOptions options_;
  std::vector<Node> nodes_;
  KeySlots parts_;  // that some node holds
  PerSlot<Holders> holders_;
};

}  // namespace kvcap
