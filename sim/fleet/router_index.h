// RouterIndex: a router's assumed contents of each node, for routers that do not read the stores.
//
//   approximate  prompts sent to a node, dropped after index_tokens further tokens (least recently used
//                first) or after index_ttl_s without a use. It misses evictions on the node, and answers.
//   events       reports of a node, a delay late: parts of prompts when they were computed, contexts when
//                turns end, and evictions from its GPU. It misses what tiers below the GPU still hold.
//
// A part (prompt.h) is indexed as a number of its first tokens. A prompt is indexed as far as its parts are
// without a gap.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/prompt.h"
#include "fleet/options.h"

namespace kvcap {

class RouterIndex {
 public:
  RouterIndex(const RouterOptions& options, std::size_t nodes) : options_(options), nodes_(nodes) {}

  // Returns the indexed tokens of the prompt on the node.
  int64_t believed_tokens(std::size_t node, std::span<const Part> prompt, double now_s);
  // Returns the indexed tokens of all texts on the node.
  int64_t indexed_tokens(std::size_t node) const { return nodes_[node].tokens; }

  // approximate: notes that a prompt is sent to the node.
  void routed(std::size_t node, std::span<const Part> prompt, double now_s);
  // events: note what happened on the node at `now_s`. REQUIRES: the dates of a node do not decrease.
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
    std::list<Entry> entries;  // least recently used first
    std::unordered_map<Key, std::list<Entry>::iterator> places;
    int64_t tokens = 0;
    std::deque<Event> events;  // not applied yet, in order
  };

  static void hear(Node& node, double now_s);
  static void keep(Node& node, Key part, int64_t tokens, double now_s);
  static void cut(Node& node, Key part, int64_t tokens);
  static void drop(Node& node, std::list<Entry>::iterator entry);
  void forget(Node& node, double now_s) const;

  RouterOptions options_;
  std::vector<Node> nodes_;
};

}  // namespace kvcap
