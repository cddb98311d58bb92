#include "serving/router.h"

#include <gtest/gtest.h>

#include <vector>

namespace kvcap {
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
  Router router(Routing::round_robin, 0);
  Nodes nodes = loads({9, 0, 0, 5});
  for (std::size_t node : {0U, 1U, 2U, 3U, 0U}) EXPECT_EQ(router.choose(nodes, 1), node);
  nodes[1].up = nodes[2].up = false;
  for (std::size_t node : {3U, 0U, 3U}) EXPECT_EQ(router.choose(nodes, 1), node);
}

TEST(Router, LeastLoadedTakesEqualNodesInTurn) {
  Router router(Routing::least_loaded, 0);
  EXPECT_EQ(router.choose(loads({2, 1, 3}), 0), 1U);
  EXPECT_EQ(router.choose(loads({1, 1, 1}), 0), 2U);  // after node 1
  EXPECT_EQ(router.choose(loads({1, 1, 1}), 0), 0U);
  EXPECT_EQ(router.choose(loads({1, 1, 0}), 0), 2U);
}

TEST(Router, AffinityStaysAsLongAsTheNodeIsUp) {
  Router router(Routing::session_affinity, 0);
  Nodes nodes = loads({100, 0, 0});
  EXPECT_EQ(router.choose(nodes, 0), 0U);
  EXPECT_EQ(router.choose(nodes, kNew), 1U);
  EXPECT_EQ(router.choose(nodes, kNew), 2U);  // staying somewhere moves nobody's turn
  nodes[0].up = false;
  EXPECT_EQ(router.choose(nodes, 0), 1U);
}

TEST(Router, PrefixAwareFollowsTheLongestPrefixAsLongAsTheLoadIsWithinTheBound) {
  Router router(Routing::prefix_aware, 3);
  Nodes nodes = loads({4, 1, 1});
  nodes[0].found_tokens = 500;
  nodes[1].found_tokens = 200;
  EXPECT_EQ(router.choose(nodes, kNew), 0U);  // 4 = 1 + 3 turns
  nodes[0].turns = 5;
  EXPECT_EQ(router.choose(nodes, kNew), 1U);
  nodes[1].found_tokens = 0;
  EXPECT_EQ(router.choose(nodes, kNew), 2U);  // nothing within the bound: the least loaded, in turn
  nodes[1].up = nodes[2].up = false;
  EXPECT_EQ(router.choose(nodes, kNew), 0U);  // the least loaded is now itself
}

TEST(Router, PrefixAwareTakesTheLessLoadedOfEqualPrefixes) {
  Router router(Routing::prefix_aware, 10);
  Nodes nodes = loads({4, 2, 3});
  for (NodeFacts& node : nodes) node.found_tokens = 64;
  EXPECT_EQ(router.choose(nodes, 0), 1U);
}

TEST(Router, ChoosesNobodyWhenAllAreDown) {
  for (Routing routing :
       {Routing::round_robin, Routing::least_loaded, Routing::session_affinity, Routing::prefix_aware}) {
    Nodes nodes = loads({0, 0});
    nodes[0].up = nodes[1].up = false;
    EXPECT_EQ(Router(routing, 8).choose(nodes, 1), std::nullopt);
  }
}

}  // namespace
}  // namespace kvcap
