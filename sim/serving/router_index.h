// RouterIndex: what a router believes to lie on each node, where it does not look into their stores.
//
//   approximate  what was sent to a node, until so many tokens have been sent there since (the least recently
//                used leaves first) or it was not sent again for so long. It never learns what a node has
//                evicted, nor what it holds of answers.
//   events       what a node has reported, a delay ago: parts of prompts when they were computed, contexts
//                when turns end, and what its GPU evicts. It is late, and does not know what tiers below the
//                GPU still hold.
//
// A part (prompt.h) is believed from its beginning: so many of its first tokens. A prompt is believed as far
// as its parts reach without a gap.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <span>
#include <unordered_map>
#include <vector>

#include "serving/fleet_options.h"
#include "serving/prompt.h"

namespace kvcap {

class RouterIndex {
 public:
  RouterIndex(const RouterOptions& options, std::size_t nodes) : options_(options), nodes_(nodes) {}

  // Tokens of the prompt that are believed to lie there.
  int64_t believed_tokens(std::size_t node, std::span<const Part> prompt, double now_s);
  // Of any text.
  int64_t indexed_tokens(std::size_t node) const { return nodes_[node].tokens; }

  // approximate: a prompt goes to the node.
  void routed(std::size_t node, std::span<const Part> prompt, double now_s);
  // events: what happened on the node at this time. REQUIRES: the dates of one node do not decrease.
  void stored(std::size_t node, std::span<const Part> parts, double now_s);
  void evicted(std::size_t node, Key part, int64_t first_token, double now_s);
  // The node is lost, which everybody notices.
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
    std::list<Entry> entries;  // the least recently used first
    std::unordered_map<Key, std::list<Entry>::iterator> places;
    int64_t tokens = 0;
    std::deque<Event> events;  // not heard yet, in order
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
