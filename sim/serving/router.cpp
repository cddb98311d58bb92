#include "serving/router.h"

namespace kvcap {
namespace {

// The first of the nodes that are up and than which none is better, counted from `from` on.
template <class Better>
std::optional<std::size_t> best(std::span<const NodeFacts> nodes, std::size_t from, Better better) {
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::size_t node = (from + i) % nodes.size();
    if (nodes[node].up && (!chosen || better(nodes[node], nodes[*chosen]))) chosen = node;
  }
  return chosen;
}

bool less_loaded(const NodeFacts& a, const NodeFacts& b) { return a.turns < b.turns; }

}  // namespace

std::optional<std::size_t> Router::choose(std::span<const NodeFacts> nodes,
                                          std::optional<std::size_t> before) {
  std::optional<std::size_t> chosen;
  switch (routing_) {
    case Routing::round_robin:
      chosen = best(nodes, next_, [](const NodeFacts&, const NodeFacts&) { return false; });
      break;
    case Routing::least_loaded:
      chosen = best(nodes, next_, less_loaded);
      break;
    case Routing::session_affinity:
      if (before && nodes[*before].up) return before;
      chosen = best(nodes, next_, less_loaded);
      break;
    case Routing::prefix_aware: {
      const std::optional<std::size_t> least = best(nodes, next_, less_loaded);
      const int64_t most_turns = least ? nodes[*least].turns + load_bound_ : 0;
      chosen = best(nodes, next_, [&](const NodeFacts& a, const NodeFacts& b) {
        const bool a_may = a.turns <= most_turns, b_may = b.turns <= most_turns;
        if (a_may != b_may) return a_may;
        return a.found_tokens != b.found_tokens ? a.found_tokens > b.found_tokens : less_loaded(a, b);
      });
      break;
    }
  }
  if (chosen) next_ = (*chosen + 1) % nodes.size();
  return chosen;
}

}  // namespace kvcap
