// Router: chooses the node of a fleet that serves a turn from facts about the nodes.
//
//   round_robin       the nodes in turn
//   random            any node
//   least_loaded      the node with the fewest unanswered turns
//   session_affinity  the session's previous node while it is up; else the least loaded
//   prefix_aware      of the nodes with at most `load_bound` turns more than the least loaded one, the node
//                     with most indexed tokens of the prompt; the least loaded of equals
//   cache_aware       SGLang's: the least loaded if loads differ by more than balance_abs turns and by a
//                     factor of more than balance_rel; else the node with most of the prompt, if that is more
//                     than cache_threshold of it; else the node to which the fewest indexed tokens were sent
//                     (without an approximate index: with the least KV in use)
//   dynamo            the lowest of prefill_scale x max(tokens it has still to prefill + the prompt's -
//                     overlap_credit x (GPU + dram_credit x DRAM + far_credit x farther tokens), 0) + tokens
//                     of decoding sequences; with a temperature a random one, by exp(-cost / temperature) of
//                     costs between 0 and 1
//   weighted          llm-d's: the highest sum of weights x scores. Prefix: share of the prompt by tier,
//                     times the tier's weight; KV: share of unreferenced blocks; queue: half of 1 - waiting
//                     turns / 128; no hit: for a prompt without hits, the node that got such a prompt longest
//                     ago
//
// Load is counted in turns because the length of an answer is unknown before its end. The contents of nodes
// come from the router's index (router_index.h), which may be stale or wrong.
//
// Equal nodes are chosen in turn, starting after the last chosen one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/tier.h"
#include "serving/fleet_options.h"

namespace kvcap {

// State of a node that the router uses.
struct NodeFacts {
  bool up = true;
  int64_t turns = 0;    // sent to it and not yet answered
  int64_t waiting = 0;  // turns among them that are not admitted yet
  // Prompt tokens that the index lists for the node, each in its nearest tier. Needed if needs_beliefs().
  std::array<int64_t, kTiers.size()> found_tokens{};
  int64_t indexed_tokens = 0;  // tokens of all texts that the index lists for the node
  double held_share = 0;       // share of its KV blocks held by requests
  int64_t prefill_tokens = 0;  // prompt tokens sent to it and not computed yet
  int64_t decode_tokens = 0;   // tokens of its decoding sequences
  int64_t all_found() const { return found_tokens[0] + found_tokens[1] + found_tokens[2] + found_tokens[3]; }
};

class Router {
 public:
  explicit Router(const FleetOptions& options, uint64_t seed = 1);

  bool needs_beliefs() const;
  // Returns the chosen node; nullopt if no node is up. `before`: the node that served the session's last
  // turn.
  std::optional<std::size_t> choose(std::span<const NodeFacts> nodes, std::optional<std::size_t> before,
                                    int64_t prompt_tokens = 1);

 private:
  std::optional<std::size_t> choose_any(std::span<const NodeFacts> nodes);
  std::optional<std::size_t> choose_cache_aware(std::span<const NodeFacts> nodes, int64_t prompt_tokens);
  std::optional<std::size_t> choose_dynamo(std::span<const NodeFacts> nodes, int64_t prompt_tokens);
  std::optional<std::size_t> choose_weighted(std::span<const NodeFacts> nodes, int64_t prompt_tokens);
  double draw() { return random_.uniform(draws_++); }

  FleetOptions options_;
  RandomStream random_;
  uint64_t draws_ = 0;
  std::size_t next_ = 0;        // after the last chosen node
  std::vector<uint64_t> cold_;  // per node: number of the last prompt without hits sent to it
  uint64_t cold_prompts_ = 0;
};

}  // namespace kvcap
