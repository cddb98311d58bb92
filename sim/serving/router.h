// Router: which node of a fleet serves a turn, decided from plain facts.
//
//   round_robin       the nodes in turn
//   random            any of them
//   least_loaded      the one with the fewest turns sent to it and not yet answered
//   session_affinity  where the session was before, as long as that node is up; else the least loaded
//   prefix_aware      of the nodes that have at most `load_bound` turns more than the least loaded one, that
//                     which is believed to hold most tokens of the prompt; the least loaded of equals
//   cache_aware       SGLang's: the least loaded where loads differ by more than balance_abs turns and by a
//                     factor of more than balance_rel; else the node believed to hold most of the prompt, if
//                     that is more than cache_threshold of it; else the one to which least was sent, as far
//                     as it is remembered (without an approximate index: on which least KV is in use)
//   dynamo            the lowest of prefill_scale x max(tokens it has still to prefill + the prompt's -
//                     overlap_credit x (GPU + dram_credit x DRAM + far_credit x farther tokens), 0) + tokens
//                     of sequences that decode; with a temperature one is drawn, by exp(-cost / temperature)
//                     of costs between 0 and 1
//   weighted          llm-d's: the highest sum of weights x scores. Prefix: share of the prompt by where it
//                     lies, times that tier's weight; KV: share of the blocks that nobody holds; queue: half
//                     of 1 - waiting turns / 128; no hit: of a prompt that nobody has, the node that got
//                     such a one longest ago
//
// Load is counted in turns, since nobody knows the length of an answer before it ends. What nodes hold is
// what the router believes (router_index.h), which may be stale or wrong.
//
// Nodes that are equal in everything are taken in turn, after the one that was chosen last.
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

// What the router knows of a node.
struct NodeFacts {
  bool up = true;
  int64_t turns = 0;    // sent to it and not yet answered
  int64_t waiting = 0;  // of them: not admitted yet
  // Of the prompt, believed to lie on it: each token once, in the nearest tier. Needed where needs_beliefs().
  std::array<int64_t, kTiers.size()> found_tokens{};
  int64_t indexed_tokens = 0;  // of any text, believed to lie on it
  double held_share = 0;       // of its KV blocks, those that requests hold
  int64_t prefill_tokens = 0;  // of prompts sent to it, not computed yet
  int64_t decode_tokens = 0;   // of sequences that decode there
  int64_t all_found() const { return found_tokens[0] + found_tokens[1] + found_tokens[2] + found_tokens[3]; }
};

class Router {
 public:
  explicit Router(const FleetOptions& options, uint64_t seed = 1);

  bool needs_beliefs() const;
  // `before`: the node that served the session's last turn. Nothing when no node is up.
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
  std::size_t next_ = 0;        // after the node chosen last
  std::vector<uint64_t> cold_;  // of each node: number of the last prompt sent to it that nobody had
  uint64_t cold_prompts_ = 0;
};

}  // namespace kvcap
