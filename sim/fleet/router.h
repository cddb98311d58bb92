// Router: decides which node of a fleet serves a turn, based on facts about the nodes.
//
//   round_robin       the nodes in turn
//   random            any node
//   least_loaded      the node with the fewest unanswered turns
//   session_affinity  the session's previous node while it is up; else the least loaded
//   prefix_aware      among the nodes with at most `load_bound` turns more than the least loaded one: the one
//                     with the most indexed tokens of the prompt; of equals, the least loaded
//   cache_aware       SGLang's: the least loaded if loads differ by more than balance_abs turns and by a
//                     factor of more than balance_rel; else the node with the largest indexed part of the
//                     prompt, if its share exceeds cache_threshold; else the node with the fewest indexed
//                     tokens (without an approximate index: with the least KV in use)
//   dynamo            the lowest cost: prefill_scale x (the node's prompt tokens not computed yet + those of
//                     this prompt - overlap_credit x GPU tokens - dram_credit x DRAM - far_credit x farther
//                     tokens) + tokens of decoding sequences; with a temperature a random node, weighted by
//                     exp(-cost / temperature) of costs scaled to 0..1. overlap_decay divides overlap_credit
//                     by 1 + decay x (tokens not computed yet beyond those of the node with the fewest /
//                     prompt)
//   weighted          llm-d's (weighted.cpp): a filter, a weighted sum of scores, and a picker
//
// Load is counted in turns because the length of an answer is unknown before its end. The contents of nodes
// come from the router's index (router_index.h), which may be stale or wrong.
//
// Equal nodes are chosen in turn, starting after the node chosen last.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/tier.h"
#include "fleet/options.h"

namespace kvcap {

// State of a node that the router uses.
struct NodeFacts {
  bool up = true;
  int64_t turns = 0;    // turns sent to the node and not yet answered
  int64_t waiting = 0;  // part of `turns` that is not admitted yet; weighted: at the last scrape
  // Prompt tokens that the index lists for the node, each in its nearest tier. Set if needs_beliefs().
  std::array<int64_t, kTiers.size()> found_tokens{};
  int64_t indexed_tokens = 0;  // tokens of all texts that the index lists for the node
  double held_share = 0;       // share of the KV blocks that requests hold; weighted: at the last scrape
  int64_t prefill_tokens = 0;  // prompt tokens sent to the node and not computed yet
  int64_t decode_tokens = 0;   // tokens of sequences that decode there
  // Prompt tokens of turns that have no first token yet, not counting tokens that the router found on the
  // node when it sent the turns.
  int64_t tokens_in_flight = 0;
  int64_t all_found() const { return std::accumulate(found_tokens.begin(), found_tokens.end(), int64_t{0}); }
  int64_t found_beyond_dram() const {
    return std::accumulate(found_tokens.begin() + index(Tier::dram) + 1, found_tokens.end(), int64_t{0});
  }
};

// State that a router keeps from one turn to the next.
struct RouterMemory {
  RandomStream random;
  uint64_t draws = 0;
  std::size_t next = 0;        // the node after the one chosen last
  std::vector<uint64_t> cold;  // per node: number of the last prompt sent to it that missed on every node
  uint64_t cold_prompts = 0;
  double draw() { return random.uniform(draws++); }
};

struct RouterCall {
  std::span<const NodeFacts> nodes;
  std::optional<std::size_t> before;  // the node that served the session's last turn
  int64_t prompt_tokens = 1;
  const FleetOptions& options;
  RouterMemory& memory;
  bool stays = false;  // the session stays on its node; round robin does not advance
};

// Returns the best of the nodes that are up; among equally good nodes, the first from memory.next on. Returns
// nullopt if no node is up.
template <class Better>
std::optional<std::size_t> best_node(const RouterCall& call, Better better) {
  const std::span<const NodeFacts> nodes = call.nodes;
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::size_t node = (call.memory.next + i) % nodes.size();
    if (nodes[node].up && (!chosen || better(nodes[node], nodes[*chosen]))) chosen = node;
  }
  return chosen;
}

// Like best_node(), but returns the node with the lowest cost.
template <class Cost>
std::optional<std::size_t> cheapest_node(const RouterCall& call, Cost cost) {
  return best_node(call, [&](const NodeFacts& a, const NodeFacts& b) { return cost(a) < cost(b); });
}

// Returns a random node with a probability proportional to `weight` >= 0; nullopt if all weights are 0.
template <class Weight>
std::optional<std::size_t> drawn_node(const RouterCall& call, Weight weight) {
  double left = 0;
  for (const NodeFacts& node : call.nodes) left += node.up ? weight(node) : 0;
  if (left <= 0) return std::nullopt;
  left *= call.memory.draw();
  std::optional<std::size_t> last;
  for (std::size_t i = 0; i < call.nodes.size() && left >= 0; ++i) {
    const double share = call.nodes[i].up ? weight(call.nodes[i]) : 0;
    if (share > 0) last = i;
    left -= share;
  }
  return last;
}

class Router {
 public:
  explicit Router(const FleetOptions& options, uint64_t seed = 1);

  bool needs_beliefs() const { return routing_row(options_.routing).needs_beliefs; }
  bool scrapes() const {
    return options_.routing == Routing::weighted && options_.router.metrics_period_s > 0;
  }
  // True iff the router reads what the engines know of their own work. The others read the index alone.
  bool reads_engines() const {
    const bool has_sent_tokens = options_.router.index == IndexKind::approximate;
    return options_.routing == Routing::dynamo || (options_.routing == Routing::weighted && !scrapes()) ||
           (options_.routing == Routing::cache_aware && !has_sent_tokens);
  }
  bool counts_tokens_in_flight() const {
    return options_.routing == Routing::weighted &&
           (options_.router.token_load_weight > 0 || options_.router.affinity_threshold > 0);
  }
  // `before`: the node that served the session's last turn. Returns nullopt if no node is up.
  std::optional<std::size_t> choose(std::span<const NodeFacts> nodes, std::optional<std::size_t> before,
                                    int64_t prompt_tokens = 1);

 private:
  FleetOptions options_;
  RouterMemory memory_;
};

}  // namespace kvcap
