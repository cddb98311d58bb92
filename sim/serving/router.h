// Router: which node of a fleet serves a turn, decided from plain facts.
//
//   round_robin       the nodes in turn
//   least_loaded      the one with the fewest turns sent to it and not yet answered
//   session_affinity  where the session was before, as long as that node is up; else the least loaded
//   prefix_aware      of the nodes that have at most `load_bound` turns more than the least loaded one, that
//                     which holds most tokens of the prompt in its own tiers; the least loaded of equals
//
// Load is counted in turns, since nobody knows the length of an answer before it ends. Routers of production
// weigh what is cached against load in the same way: SGLang's sends a prompt where its longest prefix lies
// until loads differ by more than a bound, Dynamo's adds blocks to prefill to blocks that decode. Ours sees
// the stores themselves, where those remember what they have sent.
//
// Nodes that are equal in everything are taken in turn, after the one that was chosen last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "serving/fleet_options.h"

namespace kvcap {

// What the router knows of a node.
struct NodeFacts {
  bool up = true;
  int64_t turns = 0;         // sent to it and not yet answered
  int64_t found_tokens = 0;  // of the prompt, in its own tiers; needed where looks_into_stores()
};

class Router {
 public:
  Router(Routing routing, int64_t load_bound) : routing_(routing), load_bound_(load_bound) {}

  bool looks_into_stores() const { return routing_ == Routing::prefix_aware; }
  // `before`: the node that served the session's last turn. Nothing when no node is up.
  std::optional<std::size_t> choose(std::span<const NodeFacts> nodes, std::optional<std::size_t> before);

 private:
  Routing routing_;
  int64_t load_bound_;
  std::size_t next_ = 0;  // after the node chosen last
};

}  // namespace kvcap
