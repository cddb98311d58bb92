#include "fleet/router.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kvcap {
namespace {

bool less_loaded(const NodeFacts& a, const NodeFacts& b) { return a.turns < b.turns; }

}  // namespace

Router::Router(const FleetOptions& options, uint64_t seed)
    : options_(options), memory_{.random = RandomStream(seed, "router")} {}

std::optional<std::size_t> Router::choose(std::span<const NodeFacts> nodes, std::optional<std::size_t> before,
                                          int64_t prompt_tokens) {
  RouterCall call{nodes, before, prompt_tokens, options_, memory_};
  const std::optional<std::size_t> chosen = routing_row(options_.routing).choose(call);
  if (chosen && !call.stays) memory_.next = (*chosen + 1) % nodes.size();
  return chosen;
}

std::optional<std::size_t> choose_round_robin(RouterCall& call) {
  return best_node(call, [](const NodeFacts&, const NodeFacts&) { return false; });
}

std::optional<std::size_t> choose_least_loaded(RouterCall& call) { return best_node(call, less_loaded); }

std::optional<std::size_t> choose_session_affinity(RouterCall& call) {
  call.stays = call.before && call.nodes[*call.before].up;
  return call.stays ? call.before : best_node(call, less_loaded);
}

std::optional<std::size_t> choose_prefix_aware(RouterCall& call) {
  const std::optional<std::size_t> least = best_node(call, less_loaded);
  const int64_t most_turns = least ? call.nodes[*least].turns + call.options.load_bound : 0;
  return best_node(call, [&](const NodeFacts& a, const NodeFacts& b) {
    const bool a_may = a.turns <= most_turns, b_may = b.turns <= most_turns;
    if (a_may != b_may) return a_may;
    return a.all_found() != b.all_found() ? a.all_found() > b.all_found() : less_loaded(a, b);
  });
}

std::optional<std::size_t> choose_random(RouterCall& call) {
  const std::span<const NodeFacts> nodes = call.nodes;
  std::vector<std::size_t> up;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    if (nodes[node].up) up.push_back(node);
  }
  if (up.empty()) return std::nullopt;
  return up[static_cast<std::size_t>(call.memory.draw() * static_cast<double>(up.size()))];
}

std::optional<std::size_t> choose_cache_aware(RouterCall& call) {
  const std::span<const NodeFacts> nodes = call.nodes;
  const std::optional<std::size_t> least = best_node(call, less_loaded);
  if (!least) return std::nullopt;
  const std::optional<std::size_t> most =
      best_node(call, [](const NodeFacts& a, const NodeFacts& b) { return less_loaded(b, a); });
  const int64_t few = nodes[*least].turns, many = nodes[*most].turns;
  const bool is_unbalanced =
      many - few > call.options.router.balance_abs &&
      static_cast<double>(many) > call.options.router.balance_rel * static_cast<double>(few);
  if (is_unbalanced) return least;
  const std::optional<std::size_t> holds_most =
      cheapest_node(call, [](const NodeFacts& node) { return -node.all_found(); });
  const double share =
      static_cast<double>(nodes[*holds_most].all_found()) / static_cast<double>(call.prompt_tokens);
  if (share > call.options.router.cache_threshold) return holds_most;
  return cheapest_node(call, [](const NodeFacts& node) { return node.indexed_tokens; });
}

std::optional<std::size_t> choose_dynamo(RouterCall& call) {
  const std::span<const NodeFacts> nodes = call.nodes;
  const RouterOptions& router = call.options.router;
  int64_t least_prefill = std::numeric_limits<int64_t>::max();
  for (const NodeFacts& node : nodes) {
    if (node.up) least_prefill = std::min(least_prefill, node.prefill_tokens);
  }
  const auto prompt_tokens = static_cast<double>(call.prompt_tokens);
  const auto credit = [&](const NodeFacts& node) {
    if (router.overlap_credit <= 0) return 0.0;  // without an index
    const auto excess = static_cast<double>(node.prefill_tokens - least_prefill);
    const double decay = 1 + router.overlap_decay * excess / prompt_tokens;
    return router.overlap_credit / decay * static_cast<double>(node.found_tokens[index(Tier::hbm)]) +
           router.dram_credit * static_cast<double>(node.found_tokens[index(Tier::dram)]) +
           router.far_credit * static_cast<double>(node.found_beyond_dram());
  };
  const auto cost = [&](const NodeFacts& node) {
    const double prefill = static_cast<double>(node.prefill_tokens) + prompt_tokens - credit(node);
    return router.prefill_scale * prefill + static_cast<double>(node.decode_tokens);
  };
  const std::optional<std::size_t> least = cheapest_node(call, cost);
  if (!least || router.temperature <= 0) return least;
  const double low = cost(nodes[*least]);
  const double high = cost(nodes[*cheapest_node(call, [&](const NodeFacts& node) { return -cost(node); })]);
  if (high <= low) return choose_random(call);
  return drawn_node(call, [&](const NodeFacts& node) {
    return std::exp(-(cost(node) - low) / (high - low) / router.temperature);
  });
}

}  // namespace kvcap
