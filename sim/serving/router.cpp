#include "serving/router.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kvcap {
namespace {

constexpr double kQueueLength = 128;  // queue length at which llm-d's queue score is 0

// Returns the first best node that is up, counted from `from` on.
template <class Better>
std::optional<std::size_t> best(std::span<const NodeFacts> nodes, std::size_t from, Better better) {
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::size_t node = (from + i) % nodes.size();
    if (nodes[node].up && (!chosen || better(nodes[node], nodes[*chosen]))) chosen = node;
  }
  return chosen;
}

// Returns the first node with the least cost that is up, counted from `from` on.
template <class Cost>
std::optional<std::size_t> cheapest(std::span<const NodeFacts> nodes, std::size_t from, Cost cost) {
  return best(nodes, from, [&](const NodeFacts& a, const NodeFacts& b) { return cost(a) < cost(b); });
}

bool less_loaded(const NodeFacts& a, const NodeFacts& b) { return a.turns < b.turns; }

}  // namespace

Router::Router(const FleetOptions& options, uint64_t seed) : options_(options), random_(seed, "router") {}

bool Router::needs_beliefs() const {
  const Routing routing = options_.routing;
  return routing == Routing::prefix_aware || routing == Routing::cache_aware || routing == Routing::dynamo ||
         routing == Routing::weighted;
}

std::optional<std::size_t> Router::choose(std::span<const NodeFacts> nodes, std::optional<std::size_t> before,
                                          int64_t prompt_tokens) {
  std::optional<std::size_t> chosen;
  switch (options_.routing) {
    case Routing::round_robin:
      chosen = best(nodes, next_, [](const NodeFacts&, const NodeFacts&) { return false; });
      break;
    case Routing::random:
      chosen = choose_any(nodes);
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
      const int64_t most_turns = least ? nodes[*least].turns + options_.load_bound : 0;
      chosen = best(nodes, next_, [&](const NodeFacts& a, const NodeFacts& b) {
        const bool a_may = a.turns <= most_turns, b_may = b.turns <= most_turns;
        if (a_may != b_may) return a_may;
        return a.all_found() != b.all_found() ? a.all_found() > b.all_found() : less_loaded(a, b);
      });
      break;
    }
    case Routing::cache_aware:
      chosen = choose_cache_aware(nodes, prompt_tokens);
      break;
    case Routing::dynamo:
      chosen = choose_dynamo(nodes, prompt_tokens);
      break;
    case Routing::weighted:
      chosen = choose_weighted(nodes, prompt_tokens);
      break;
  }
  if (chosen) next_ = (*chosen + 1) % nodes.size();
  return chosen;
}

std::optional<std::size_t> Router::choose_any(std::span<const NodeFacts> nodes) {
  std::vector<std::size_t> up;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    if (nodes[node].up) up.push_back(node);
  }
  if (up.empty()) return std::nullopt;
  return up[static_cast<std::size_t>(draw() * static_cast<double>(up.size()))];
}

std::optional<std::size_t> Router::choose_cache_aware(std::span<const NodeFacts> nodes,
                                                      int64_t prompt_tokens) {
  const std::optional<std::size_t> least = best(nodes, next_, less_loaded);
  if (!least) return std::nullopt;
  const std::optional<std::size_t> most =
      best(nodes, next_, [](const NodeFacts& a, const NodeFacts& b) { return less_loaded(b, a); });
  const int64_t few = nodes[*least].turns, many = nodes[*most].turns;
  const bool is_unbalanced =
      many - few > options_.router.balance_abs &&
      static_cast<double>(many) > options_.router.balance_rel * static_cast<double>(few);
  if (is_unbalanced) return least;
  const std::optional<std::size_t> holds_most =
      cheapest(nodes, next_, [](const NodeFacts& node) { return -node.all_found(); });
  const double share =
      static_cast<double>(nodes[*holds_most].all_found()) / static_cast<double>(prompt_tokens);
  if (share > options_.router.cache_threshold) return holds_most;
  return cheapest(nodes, next_, [](const NodeFacts& node) { return node.indexed_tokens; });
}

std::optional<std::size_t> Router::choose_dynamo(std::span<const NodeFacts> nodes, int64_t prompt_tokens) {
  const RouterOptions& router = options_.router;
  const auto cost = [&](const NodeFacts& node) {
    const std::array<int64_t, kTiers.size()>& found = node.found_tokens;
    const double overlap =
        static_cast<double>(found[index(Tier::hbm)]) +
        router.dram_credit * static_cast<double>(found[index(Tier::dram)]) +
        router.far_credit * static_cast<double>(found[index(Tier::ssd)] + found[index(Tier::remote)]);
    const double prefill =
        static_cast<double>(node.prefill_tokens + prompt_tokens) - router.overlap_credit * overlap;
    return router.prefill_scale * std::max(prefill, 0.0) + static_cast<double>(node.decode_tokens);
  };
  const std::optional<std::size_t> least = cheapest(nodes, next_, cost);
  if (!least || router.temperature <= 0) return least;
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const NodeFacts& node : nodes) {
    if (!node.up) continue;
    low = std::min(low, cost(node));
    high = std::max(high, cost(node));
  }
  if (high <= low) return choose_any(nodes);
  const auto weight = [&](const NodeFacts& node) {
    return node.up ? std::exp(-(cost(node) - low) / (high - low) / router.temperature) : 0;
  };
  double left = 0;
  for (const NodeFacts& node : nodes) left += weight(node);
  left *= draw();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    left -= weight(nodes[i]);
    if (nodes[i].up && left < 0) return i;
  }
  return least;
}

std::optional<std::size_t> Router::choose_weighted(std::span<const NodeFacts> nodes, int64_t prompt_tokens) {
  const RouterOptions& router = options_.router;
  cold_.resize(nodes.size());
  const bool nobody_has_it =
      std::all_of(nodes.begin(), nodes.end(), [](const NodeFacts& node) { return node.all_found() == 0; });
  const auto score = [&](const NodeFacts& node) {
    const std::array<int64_t, kTiers.size()>& found = node.found_tokens;
    const double prefix =
        (router.gpu_tier_weight * static_cast<double>(found[index(Tier::hbm)]) +
         router.dram_tier_weight * static_cast<double>(found[index(Tier::dram)]) +
         router.far_tier_weight * static_cast<double>(found[index(Tier::ssd)] + found[index(Tier::remote)])) /
        static_cast<double>(prompt_tokens);
    const double queue = 0.5 * std::max(0.0, 1 - static_cast<double>(node.waiting) / kQueueLength);
    double sum = router.prefix_weight * prefix + router.kv_weight * (1 - node.held_share) +
                 router.queue_weight * queue;
    if (!nobody_has_it || router.no_hit_weight <= 0) return sum;
    const auto place = static_cast<std::size_t>(&node - nodes.data());
    const auto later =
        std::count_if(cold_.begin(), cold_.end(), [&](uint64_t other) { return other > cold_[place]; });
    return sum + router.no_hit_weight * static_cast<double>(later) / static_cast<double>(nodes.size());
  };
  const std::optional<std::size_t> chosen =
      cheapest(nodes, next_, [&](const NodeFacts& node) { return -score(node); });
  if (chosen && nobody_has_it) cold_[*chosen] = ++cold_prompts_;
  return chosen;
}

}  // namespace kvcap
