#include "fleet/router.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/random.h"
#include "fleet/router_index.h"
#include "fleet/server_view.h"

namespace kvcap::router_test {
namespace {

using Nodes = std::vector<NodeFacts>;
constexpr std::optional<std::size_t> kNew = std::nullopt;

// Loads of nodes that are up and hold nothing.
Nodes loads(const std::vector<int64_t>& turns) {
  Nodes nodes;
  for (int64_t one : turns) nodes.push_back({.turns = one});
  return nodes;
}

TEST(Router, RoundRobinTakesNodesInTurnAndPassesThoseThatAreDown) {
  Router router({.routing = Routing::round_robin, .load_bound = 0});
  Nodes nodes = loads({9, 0, 0, 5});
  for (std::size_t node : {0U, 1U, 2U, 3U, 0U}) EXPECT_EQ(router.choose(nodes, 1), node);
  nodes[1].up = nodes[2].up = false;
  for (std::size_t node : {3U, 0U, 3U}) EXPECT_EQ(router.choose(nodes, 1), node);
}

TEST(Router, LeastLoadedTakesEqualNodesInTurn) {
  Router router({.routing = Routing::least_loaded, .load_bound = 0});
  EXPECT_EQ(router.choose(loads({2, 1, 3}), 0), 1U);
  EXPECT_EQ(router.choose(loads({1, 1, 1}), 0), 2U);  // after node 1
  EXPECT_EQ(router.choose(loads({1, 1, 1}), 0), 0U);
  EXPECT_EQ(router.choose(loads({1, 1, 0}), 0), 2U);
}

TEST(Router, AffinityStaysAsLongAsTheNodeIsUp) {
  Router router({.routing = Routing::session_affinity, .load_bound = 0});
  Nodes nodes = loads({100, 0, 0});
  EXPECT_EQ(router.choose(nodes, 0), 0U);
  EXPECT_EQ(router.choose(nodes, kNew), 1U);
  EXPECT_EQ(router.choose(nodes, kNew), 2U);  // staying somewhere moves nobody's turn
  nodes[0].up = false;
  EXPECT_EQ(router.choose(nodes, 0), 1U);
}

TEST(Router, PrefixAwareFollowsTheLongestPrefixAsLongAsTheLoadIsWithinTheBound) {
  Router router({.routing = Routing::prefix_aware, .load_bound = 3});
  Nodes nodes = loads({4, 1, 1});
  nodes[0].found_tokens[0] = 500;
  nodes[1].found_tokens[0] = 200;
  EXPECT_EQ(router.choose(nodes, kNew), 0U);  // 4 = 1 + 3 turns
  nodes[0].turns = 5;
  EXPECT_EQ(router.choose(nodes, kNew), 1U);
  nodes[1].found_tokens[0] = 0;
  EXPECT_EQ(router.choose(nodes, kNew), 2U);  // nothing within the bound: the least loaded, in turn
  nodes[1].up = nodes[2].up = false;
  EXPECT_EQ(router.choose(nodes, kNew), 0U);  // the least loaded is now itself
}

TEST(Router, PrefixAwareTakesTheLessLoadedOfEqualPrefixes) {
  Router router({.routing = Routing::prefix_aware, .load_bound = 10});
  Nodes nodes = loads({4, 2, 3});
  for (NodeFacts& node : nodes) node.found_tokens[0] = 64;
  EXPECT_EQ(router.choose(nodes, 0), 1U);
}

TEST(Router, ChoosesNobodyWhenAllAreDown) {
  for (Routing routing :
       {Routing::round_robin, Routing::least_loaded, Routing::session_affinity, Routing::prefix_aware}) {
    Nodes nodes = loads({0, 0});
    nodes[0].up = nodes[1].up = false;
    EXPECT_EQ(Router({.routing = routing}).choose(nodes, 1), std::nullopt);
  }
}

// ---- routers of production ----

NodeFacts holds(int64_t gpu_tokens, int64_t dram_tokens = 0) {
  NodeFacts facts;
  facts.found_tokens[index(Tier::hbm)] = gpu_tokens;
  facts.found_tokens[index(Tier::dram)] = dram_tokens;
  return facts;
}

TEST(Router, RandomTakesEveryNodeThatIsUpAboutAsOften) {
  Router router({.routing = Routing::random}, 7);
  Nodes nodes = loads({0, 0, 0, 9});
  nodes[1].up = false;
  std::vector<int> times(4, 0);
  for (int i = 0; i < 3000; ++i) ++times[*router.choose(nodes, 0)];
  EXPECT_EQ(times[1], 0);
  for (std::size_t node : {0U, 2U, 3U}) EXPECT_NEAR(times[node], 1000, 100);  // four standard deviations
}

// 33 turns more and more than 1.0001 times as many: the least loaded. Else 51 of 100 tokens exceed the
// threshold, 50 do not, and the smallest tree gets the prompt.
TEST(Router, CacheAwareGoesWhereAPromptLiesUntilLoadsDiffer) {
  FleetOptions options{.routing = Routing::cache_aware};
  Nodes nodes = {holds(51), holds(0), holds(10)};
  nodes[0].indexed_tokens = 900;
  nodes[1].indexed_tokens = 500;
  nodes[2].indexed_tokens = 300;
  EXPECT_EQ(Router(options).choose(nodes, 1, 100), 0U);
  nodes[0].turns = 32;
  EXPECT_EQ(Router(options).choose(nodes, 1, 100), 0U);
  nodes[0].turns = 33;
  EXPECT_EQ(Router(options).choose(nodes, 1, 100), 1U);
  nodes[0].turns = 0;
  nodes[0].found_tokens[index(Tier::hbm)] = 50;
  EXPECT_EQ(Router(options).choose(nodes, 1, 100), 2U);
}

// A prompt of 100 tokens. Node 0: 300 to prefill, 60 of the prompt on its GPU: 300 + 100 - 60 = 340. Node 1:
// 40 in DRAM count 30: 200 + 100 - 30 + 65 that decode = 335; with 71 that decode 341.
TEST(Router, DynamoAddsWhatIsToPrefillToWhatDecodes) {
  FleetOptions options{.routing = Routing::dynamo};
  Nodes nodes = {holds(60), holds(0, 40)};
  nodes[0].prefill_tokens = 300;
  nodes[1].prefill_tokens = 200;
  nodes[1].decode_tokens = 65;
  EXPECT_EQ(Router(options).choose(nodes, 0, 100), 1U);
  nodes[1].decode_tokens = 71;
  EXPECT_EQ(Router(options).choose(nodes, 0, 100), 0U);
}

// A prompt of 100 tokens, of which node 0 holds 80. At a credit of 1.5: 0 + 100 - 120 = -20, and 25 that
// decode make 5; node 1: 100 - 94 in DRAM x 1 = 6. The credit of DRAM is not multiplied; from 27 on node 1 is
// cheaper.
TEST(Router, DynamoLetsACreditAboveOneOffsetDecodes) {
  FleetOptions options{.routing = Routing::dynamo};
  options.router.overlap_credit = 1.5;
  options.router.dram_credit = 1;
  Nodes nodes = {holds(80), holds(0, 94)};
  nodes[0].decode_tokens = 25;
  EXPECT_EQ(Router(options).choose(nodes, 1, 100), 0U);
  nodes[0].decode_tokens = 27;
  EXPECT_EQ(Router(options).choose(nodes, 0, 100), 1U);
  // Without a credit there is no index: 27 + 100 and 100.
  options.router.overlap_credit = 0;
  nodes[0].decode_tokens = 1;
  nodes[0].found_tokens[index(Tier::dram)] = 20;
  EXPECT_EQ(Router(options).choose(nodes, 0, 100), 1U);
}

// Node 0 has 50 tokens to prefill more than node 1, half a prompt: at a decay of 2 the credit of its 90
// tokens is halved: 150 - 45 = 105. Node 1: 100 - 0 + 4 that decode = 104; with 6, 106. Without decay node 0
// costs 60.
TEST(Router, DynamoDecaysTheCreditOfNodesWithMoreToPrefill) {
  FleetOptions options{.routing = Routing::dynamo};
  options.router.overlap_decay = 2;
  Nodes nodes = {holds(90), holds(0), {.up = false}};
  nodes[0].prefill_tokens = 70;
  nodes[1].prefill_tokens = 20;
  nodes[1].decode_tokens = 4;
  EXPECT_EQ(Router(options).choose(nodes, 0, 100), 1U);
  nodes[1].decode_tokens = 6;
  EXPECT_EQ(Router(options).choose(nodes, 1, 100), 0U);
  nodes[1].decode_tokens = 4;
  options.router.overlap_decay = 0;
  EXPECT_EQ(Router(options).choose(nodes, 1, 100), 0U);
}

// Costs 0 and 1 at temperature 0.5: exp(0) : exp(-2), 0.881 of the draws.
TEST(Router, DynamoDrawsByCostAtATemperature) {
  FleetOptions options{.routing = Routing::dynamo};
  options.router.temperature = 0.5;
  Router router(options, 3);
  Nodes nodes = {holds(100), holds(0)};
  int first = 0;
  for (int i = 0; i < 4000; ++i) first += *router.choose(nodes, 1, 100) == 0;
  EXPECT_NEAR(first / 4000.0, 1 / (1 + std::exp(-2.0)), 0.02);
}

// llm-d's router with the load-aware scorer and one weight each.
FleetOptions weighted(double prefix, double kv, double queue, double no_hit) {
  FleetOptions options{.routing = Routing::weighted};
  options.router.prefix_weight = prefix;
  options.router.kv_weight = kv;
  options.router.queue_weight = queue;
  options.router.no_hit_weight = no_hit;
  return options;
}

// Node 0: 2 x 0.8 x 50 / 100 + (1 - 0.5) + 0.5 = 1.8. Node 1: 2 x 30 / 100 + 1 + 0.5 x (1 - 64 / 128) = 1.85;
// with 96 waiting 1.725.
TEST(Router, WeightedAddsPrefixRoomAndQueue) {
  FleetOptions options = weighted(2, 1, 1, 0);
  options.router.queue_score = QueueScore::load_aware;
  Nodes nodes = {holds(0, 50), holds(30)};
  nodes[0].held_share = 0.5;
  nodes[1].waiting = 64;
  EXPECT_EQ(Router(options).choose(nodes, 0, 100), 1U);
  nodes[1].waiting = 96;
  EXPECT_EQ(Router(options).choose(nodes, 0, 100), 0U);
}

TEST(Router, WeightedSendsWhatNobodyHasWhereNoneWasSentForLongest) {
  Router router(weighted(2, 1, 1, 1));
  const Nodes nodes = {holds(0), holds(0), holds(0)};
  EXPECT_EQ(router.choose(nodes, 0, 100), 0U);
  EXPECT_EQ(router.choose({{holds(0), holds(9), holds(0)}}, 0, 10), 1U);  // a node has it
  EXPECT_EQ(router.choose(nodes, 0, 100), 1U);  // of two that never got one, the first
  EXPECT_EQ(router.choose(nodes, 0, 100), 2U);
  EXPECT_EQ(router.choose(nodes, 0, 100), 0U);
}

// Without hits three nodes score 1, 0.5 and 0. Node 1 makes up for its half point if its free KV exceeds that
// of node 0 by 0.51.
TEST(Router, WeightedSpacesTheScoresOfPromptsWithoutHitsEvenly) {
  Nodes nodes = {holds(0), holds(0), holds(0)};
  nodes[0].held_share = 0.49;
  nodes[2].held_share = 1;
  EXPECT_EQ(Router(weighted(0, 1, 0, 1)).choose(nodes, 0, 100), 0U);
  nodes[0].held_share = 0.51;
  EXPECT_EQ(Router(weighted(0, 1, 0, 1)).choose(nodes, 0, 100), 1U);
}

// Queues of 7, 3 and 5: scores 0, 1 and 0.5. Node 1 leads node 2 by 2 x 0.5, which 3 x 0.33 of a prompt do
// not offset.
TEST(Router, WeightedScoresQueuesBetweenTheShortestAndTheLongest) {
  Nodes nodes = {holds(0), holds(10), holds(0)};
  nodes[0].waiting = 7;
  nodes[1].waiting = 3;
  nodes[2].waiting = 5;
  nodes[2].found_tokens[index(Tier::hbm)] = 43;  // 3 x 0.33 < 2 x 0.5
  EXPECT_EQ(Router(weighted(3, 0, 2, 0)).choose(nodes, 0, 100), 1U);
  nodes[2].found_tokens[index(Tier::hbm)] = 44;
  EXPECT_EQ(Router(weighted(3, 0, 2, 0)).choose(nodes, 0, 100), 2U);
  // Node 1 is down: the shortest queue is now node 2's, 1 + 3 x 0.44 against 0 + 3 x 1.
  nodes[1].up = false;
  nodes[0].found_tokens[index(Tier::hbm)] = 100;
  EXPECT_EQ(Router(weighted(3, 0, 1, 0)).choose(nodes, 0, 100), 0U);
  EXPECT_EQ(Router(weighted(3, 0, 2, 0)).choose(nodes, 0, 100), 2U);
}

// Equal queues score 1 each, so a turn that waits on every node changes nothing.
TEST(Router, WeightedScoresEqualQueuesAlike) {
  Nodes nodes = {holds(0), holds(50)};
  for (NodeFacts& node : nodes) node.waiting = 4;
  EXPECT_EQ(Router(weighted(1, 0, 9, 0)).choose(nodes, 0, 100), 1U);
}

TEST(Router, WeightedHasTodaysWeightsOfLlmD) {
  const RouterOptions router;
  EXPECT_EQ(router.prefix_weight, 3);
  EXPECT_EQ(router.kv_weight, 2);
  EXPECT_EQ(router.queue_weight, 2);
  EXPECT_EQ(router.no_hit_weight, 2);
  EXPECT_EQ(router.token_load_weight, 0);
  EXPECT_EQ(router.metrics_period_s, 0.05);
}

// Scores of 3 x 0.2 + 0.2 and 0.2: node 0 gets 0.8 of the draws.
TEST(Router, WeightedDrawsInProportionToScores) {
  FleetOptions options = weighted(3, 1, 0, 0);
  options.router.picker = Picker::weighted_random;
  Router router(options, 5);
  Nodes nodes = {holds(20), holds(0), holds(90)};
  nodes[0].held_share = nodes[1].held_share = 0.8;  // 0.6 + 0.2 against 0.2
  nodes[2].up = false;
  int first = 0;
  for (int i = 0; i < 4000; ++i) first += *router.choose(nodes, 1, 100) == 0;
  EXPECT_NEAR(first / 4000.0, 0.8, 0.02);
  // Without any score, the nodes in turn.
  nodes[0] = nodes[1] = holds(0);
  nodes[0].held_share = nodes[1].held_share = 1;
  EXPECT_NE(router.choose(nodes, 1, 100), router.choose(nodes, 1, 100));
}

// Tokens in flight and those of the prompt that a node lacks: 1,000 + 40 and 950 + 100.
TEST(Router, WeightedScoresTokensInFlightWithThoseOfThePrompt) {
  FleetOptions options = weighted(0, 0, 0, 0);
  options.router.token_load_weight = 1;
  Nodes nodes = {holds(60), holds(0)};
  nodes[0].tokens_in_flight = 1000;
  nodes[1].tokens_in_flight = 950;
  EXPECT_EQ(Router(options).choose(nodes, 0, 100), 0U);
  nodes[1].tokens_in_flight = 939;
  EXPECT_EQ(Router(options).choose(nodes, 0, 100), 1U);
}

// Node 1 holds 80 of 100 tokens, node 0 79: only node 1 is scored, although its KV memory is full, until it
// has 501 tokens in flight more than node 0.
TEST(Router, WeightedKeepsToNodesWithThePrefixUntilTheyHaveMoreInFlight) {
  FleetOptions options = weighted(0, 1, 0, 0);
  options.router.affinity_threshold = 0.8;
  options.router.affinity_penalty_tokens = 500;
  Nodes nodes = {holds(79), holds(80)};
  nodes[1].held_share = 1;
  nodes[0].tokens_in_flight = 20;
  nodes[1].tokens_in_flight = 520;
  EXPECT_EQ(Router(options).choose(nodes, 0, 100), 1U);
  nodes[1].tokens_in_flight = 521;
  EXPECT_EQ(Router(options).choose(nodes, 0, 100), 0U);
  options.router.affinity_penalty_tokens = 0;  // no limit
  EXPECT_EQ(Router(options).choose(nodes, 0, 100), 1U);
  nodes[1].found_tokens[index(Tier::hbm)] = 79;  // no node has enough
  EXPECT_EQ(Router(options).choose(nodes, 0, 100), 0U);
}

// ---- what is known of a server ----

TEST(ServerView, ShowsTheMetricsThatTheLastScrapeFound) {
  ServerView view;
  EXPECT_EQ(view.scraped(0.07, 0.05).waiting, 0);
  view.report({3, 0.2}, 0.11, 0.05);
  EXPECT_EQ(view.scraped(0.14, 0.05).waiting, 0);  // scraped at 0.10
  view.report({4, 0.3}, 0.14, 0.05);
  view.report({5, 0.4}, 0.16, 0.05);
  EXPECT_EQ(view.scraped(0.19, 0.05).waiting, 4);  // scraped at 0.15, before the last report
  EXPECT_EQ(view.scraped(0.19, 0.05).held_share, 0.3);
  EXPECT_EQ(view.scraped(0.2, 0.05).waiting, 5);
  EXPECT_EQ(view.scraped(9, 0.05).waiting, 5);
}

TEST(ServerView, CountsTheTokensOfTurnsWithoutAFirstToken) {
  ServerView view;
  view.sent(7, 100);
  view.sent(8, 20);
  EXPECT_EQ(view.tokens_in_flight(), 120);
  view.answered(7);
  view.answered(7);
  view.answered(9);
  EXPECT_EQ(view.tokens_in_flight(), 20);
}

// ---- what is believed ----

std::vector<Part> prompt(const std::vector<std::pair<Key, int64_t>>& parts) {
  std::vector<Part> list;
  for (const auto& [key, tokens] : parts) list.push_back({{key, tokens}, tokens, 0});
  return list;
}

int64_t believed_at(RouterIndex& router_index, std::size_t node, const std::vector<Part>& parts,
                    double now_s) {
  router_index.hear(now_s);
  return router_index.believed_tokens(node, parts);
}

TEST(RouterIndex, HearsOfEventsADelayLater) {
  RouterOptions options{.index = IndexKind::events, .event_delay_s = 2};
  RouterIndex router_index(options, 2);
  router_index.stored(0, prompt({{1, 100}, {2, 50}}), 10);
  EXPECT_EQ(believed_at(router_index, 0, prompt({{1, 100}, {2, 80}}), 11.9), 0);
  EXPECT_EQ(believed_at(router_index, 0, prompt({{1, 100}, {2, 80}}), 12), 150);
  EXPECT_EQ(believed_at(router_index, 1, prompt({{1, 100}}), 12), 0);
  router_index.evicted(0, 1, 60, 13);  // its first 60 tokens are left
  EXPECT_EQ(believed_at(router_index, 0, prompt({{1, 100}, {2, 80}}), 14), 150);
  EXPECT_EQ(believed_at(router_index, 0, prompt({{1, 100}, {2, 80}}), 15), 60);
  EXPECT_EQ(router_index.indexed_tokens(0), 110);
  router_index.stored(0, prompt({{1, 100}}), 16);
  router_index.lost(0);
  EXPECT_EQ(believed_at(router_index, 0, prompt({{1, 100}}), 30), 0);
}

// A plain list of what was sent to each node, newest last, beside the index: the newest so many tokens are
// believed, unless they are too old. The nodes that hold some of a prompt are those that hold its first part.
TEST(RouterIndex, RemembersWhatWasSentAsPlainListsDo) {
  const RandomStream random(11, "index");
  RouterOptions options{.index = IndexKind::approximate, .index_tokens = 500, .index_ttl_s = 40};
  constexpr std::size_t kNodes = 3;
  RouterIndex router_index(options, kNodes);
  struct Sent {
    Key key;
    int64_t tokens;
    double at_s;
  };
  std::array<std::vector<Sent>, kNodes> lists;
  for (uint64_t i = 0; i < 4000; ++i) {
    const double now_s = static_cast<double>(i);
    std::vector<Part> parts;
    const auto length = 1 + static_cast<uint64_t>(random.uniform(i, 0) * 3);
    for (uint64_t part = 0; part < length; ++part) {
      const Key key = 1 + static_cast<Key>(random.uniform(i, 1 + part) * 12);
      if (std::any_of(parts.begin(), parts.end(), [&](const Part& one) { return one.key == key; })) continue;
      parts.push_back({{key, static_cast<int64_t>(20 * key)}, 0, 0});
    }
    const auto forget = [&](std::vector<Sent>& list) {
      std::erase_if(list, [&](const Sent& one) { return one.at_s + 40 < now_s; });
      const auto sum = [&] {
        int64_t tokens = 0;
        for (const Sent& one : list) tokens += one.tokens;
        return tokens;
      };
      while (sum() > 500) list.erase(list.begin());
    };
    router_index.hear(now_s);
    std::set<uint32_t> holders;
    for (std::size_t node = 0; node < kNodes; ++node) {
      forget(lists[node]);
      int64_t believed = 0;
      for (const Part& part : parts) {
        const auto found = std::ranges::find(lists[node], part.key, &Sent::key);
        if (found == lists[node].end()) break;
        believed += found->tokens;
      }
      if (believed > 0) holders.insert(static_cast<uint32_t>(node));
      ASSERT_EQ(router_index.believed_tokens(node, parts), believed) << i;
    }
    const std::span<const uint32_t> indexed = router_index.holders(parts);
    ASSERT_EQ(std::set<uint32_t>(indexed.begin(), indexed.end()), holders) << i;
    ASSERT_EQ(indexed.size(), holders.size()) << i;
    const auto node = static_cast<std::size_t>(random.uniform(i, 9) * (kNodes + 2));
    if (node >= kNodes) continue;
    if (random.uniform(i, 8) < 0.01) {
      lists[node].clear();
      router_index.lost(node);
      continue;
    }
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      std::erase_if(lists[node], [&](const Sent& one) { return one.key == part->key; });
      lists[node].push_back({part->key, part->tokens, now_s});
    }
    forget(lists[node]);
    router_index.routed(node, parts, now_s);
  }
}

}  // namespace
}  // namespace kvcap::router_test
