// The router `weighted`, which models llm-d's.
//
// The prefix-affinity filter keeps the nodes that hold at least affinity_threshold of the prompt, unless each
// of them has affinity_penalty_tokens more tokens in flight than some other node. The score of a remaining
// node is a weighted sum:
//   prefix      share of the prompt by tier, times the tier's weight
//   KV          share of blocks that no request holds
//   queue       (longest - waiting) / (longest - shortest) queue, 1 if all are equal; or load_aware
//   no hit      for a prompt that no node has cached: 1 for the node that got such a prompt least recently or
//               never, down to 0 for the node that got one most recently; for other prompts 0.5
//   token load  1 - (tokens in flight + those of the prompt that the node lacks) / 4,194,304
#include <algorithm>
#include <vector>

#include "fleet/router.h"

namespace kvcap {
namespace {

constexpr double kLongQueue = 128;       // waiting turns at which the load-aware score is 0
constexpr double kFullLoad = 4'194'304;  // tokens at which the token-load score is 0

double share_of(double tokens, const RouterCall& call) {
  return tokens / static_cast<double>(call.prompt_tokens);
}

// The nodes that the filter keeps, and their scores.
class Candidates {
 public:
  explicit Candidates(const RouterCall& call) : call_(call), kept_(call.nodes.size()) {
    for (std::size_t node = 0; node < kept_.size(); ++node) kept_[node] = call.nodes[node].up;
    keep_sticky();
    for (std::size_t node = 0; node < kept_.size(); ++node) {
      if (!kept_[node]) continue;
      const NodeFacts& facts = call.nodes[node];
      shortest_ = count_ == 0 ? facts.waiting : std::min(shortest_, facts.waiting);
      longest_ = std::max(longest_, facts.waiting);
      is_miss_ = is_miss_ && facts.all_found() == 0;
      ++count_;
    }
    score_all();
  }

  bool has(const NodeFacts& node) const { return kept_[place_of(node)]; }
  bool is_miss() const { return is_miss_; }
  // REQUIRES: has(node).
  double score(const NodeFacts& node) const { return scores_[place_of(node)]; }

 private:
  void score_all() {
    const RouterOptions& router = call_.options.router;
    const std::vector<double> no_hit = no_hit_scores();
    scores_.resize(kept_.size());
    for (std::size_t place = 0; place < kept_.size(); ++place) {
      if (!kept_[place]) continue;
      const NodeFacts& node = call_.nodes[place];
      scores_[place] = router.prefix_weight * prefix_score(node) + router.kv_weight * (1 - node.held_share) +
                       router.queue_weight * queue_score(node) + router.no_hit_weight * no_hit[place] +
                       router.token_load_weight * token_load_score(node);
    }
  }

  std::size_t place_of(const NodeFacts& node) const {
    return static_cast<std::size_t>(&node - call_.nodes.data());
  }

  void keep_sticky() {
    const RouterOptions& router = call_.options.router;
    if (router.affinity_threshold <= 0) return;
    std::vector<bool> sticky(kept_.size());
    std::optional<int64_t> least, least_of_others;  // tokens in flight
    for (std::size_t node = 0; node < kept_.size(); ++node) {
      if (!kept_[node]) continue;
      const NodeFacts& facts = call_.nodes[node];
      sticky[node] = share_of(static_cast<double>(facts.all_found()), call_) >= router.affinity_threshold;
      std::optional<int64_t>& fewest = sticky[node] ? least : least_of_others;
      fewest = std::min(facts.tokens_in_flight, fewest.value_or(facts.tokens_in_flight));
    }
    const bool is_too_long = least && least_of_others && router.affinity_penalty_tokens > 0 &&
                             *least - *least_of_others > router.affinity_penalty_tokens;
    if (least && !is_too_long) kept_ = sticky;
  }

  double prefix_score(const NodeFacts& node) const {
    const RouterOptions& router = call_.options.router;
    const std::array<int64_t, kTiers.size()>& found = node.found_tokens;
    return share_of(router.gpu_tier_weight * static_cast<double>(found[index(Tier::hbm)]) +
                        router.dram_tier_weight * static_cast<double>(found[index(Tier::dram)]) +
                        router.far_tier_weight * static_cast<double>(node.found_beyond_dram()),
                    call_);
  }

  double queue_score(const NodeFacts& node) const {
    if (call_.options.router.queue_score == QueueScore::load_aware) {
      return 0.5 * std::max(0.0, 1 - static_cast<double>(node.waiting) / kLongQueue);
    }
    if (longest_ == shortest_) return 1;
    return static_cast<double>(longest_ - node.waiting) / static_cast<double>(longest_ - shortest_);
  }

  std::vector<double> no_hit_scores() const {
    std::vector<double> scores(kept_.size(), is_miss_ ? 1 : 0.5);
    if (!is_miss_ || count_ <= 1) return scores;
    std::vector<std::size_t> oldest_first;
    for (std::size_t place = 0; place < kept_.size(); ++place) {
      if (kept_[place]) oldest_first.push_back(place);
    }
    const std::vector<uint64_t>& cold = call_.memory.cold;
    std::ranges::stable_sort(oldest_first, {}, [&](std::size_t place) { return cold[place]; });
    for (std::size_t earlier = 0; earlier < oldest_first.size(); ++earlier) {
      scores[oldest_first[earlier]] = 1 - static_cast<double>(earlier) / static_cast<double>(count_ - 1);
    }
    return scores;
  }

  double token_load_score(const NodeFacts& node) const {
    const int64_t tokens = node.tokens_in_flight + call_.prompt_tokens - node.all_found();
    return 1 - std::clamp(static_cast<double>(tokens) / kFullLoad, 0.0, 1.0);
  }

  const RouterCall& call_;
  std::vector<bool> kept_;
  std::vector<double> scores_;
  int64_t count_ = 0;
  int64_t shortest_ = 0, longest_ = 0;  // waiting turns
  bool is_miss_ = true;
};

}  // namespace

std::optional<std::size_t> choose_weighted(RouterCall& call) {
  call.memory.cold.resize(call.nodes.size());
  const Candidates candidates(call);
  const auto weight = [&](const NodeFacts& node) {
    return candidates.has(node) ? std::max(0.0, candidates.score(node)) : 0;
  };
  std::optional<std::size_t> chosen;
  if (call.options.router.picker == Picker::weighted_random) chosen = drawn_node(call, weight);
  if (!chosen) {
    chosen = best_node(call, [&](const NodeFacts& a, const NodeFacts& b) {
      if (candidates.has(a) != candidates.has(b)) return candidates.has(a);
      return candidates.has(a) && candidates.score(a) > candidates.score(b);
    });
  }
  if (chosen && candidates.is_miss()) call.memory.cold[*chosen] = ++call.memory.cold_prompts;
  return chosen;
}

}  // namespace kvcap
