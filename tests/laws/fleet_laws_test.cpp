// Laws of fleets: effects that several nodes, their routing and their failures may and may not have.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "laws/machines.h"
#include "metrics/serialize.h"

namespace kvcap::laws::fleet_laws_test {
namespace {

Scenario fleet(int64_t replicas, Routing routing, const std::string& policy = "kv_offload") {
  Scenario result = scenario(policy);
  result.fleet.replicas = replicas;
  result.fleet.routing = routing;
  return result;
}

// Replaces the node's SSDs by a network tier of 100 GB/s.
Scenario with_remote(Scenario scenario, bool shared, double bandwidth_bytes_per_s = 100e9) {
  scenario.hardware.remote = Remote{
      .capacity_bytes = 50e12, .bandwidth_bytes_per_s = bandwidth_bytes_per_s, .price_usd_per_gb_hour = 1e-4};
  scenario.policy.tiers = {{.kind = Tier::remote}};
  scenario.fleet.shared_remote = shared;
  return scenario;
}

const std::vector<double>& series(const RunResult& result, std::string_view name) {
  const auto found = std::find_if(result.series.begin(), result.series.end(),
                                  [&](const auto& one) { return one.first == name; });
  return found->second;
}

double hit_rate(const RunResult& result, double from_s, double to_s) {
  double hits = 0, tokens = 0;
  for (const TurnRecord& turn : result.turns) {
    if (turn.rejected || turn.arrival_s < from_s || turn.arrival_s >= to_s) continue;
    hits += turn.hit_tokens;
    tokens += static_cast<double>(turn.history_tokens) + turn.input_tokens;
  }
  return hits / tokens;
}

// Checks that every turn of the workload has one record, answered or refused.
void expect_each_turn_once(const RunResult& result, const Workload& workload) {
  EXPECT_EQ(result.turns.size(), workload.turns.size());
  std::set<std::pair<uint32_t, uint32_t>> seen;
  for (const TurnRecord& turn : result.turns) EXPECT_TRUE(seen.insert({turn.session, turn.turn}).second);
  EXPECT_EQ(result.number("completed") + result.number("rejected"),
            static_cast<double>(workload.turns.size()));
}

// Returns the workload with `copies` of every session at the same dates.
Workload multiplied(const Workload& workload, int copies) {
  Workload result = workload;
  result.sessions.clear();
  for (const Session& session : workload.sessions) {
    for (int i = 0; i < copies; ++i) result.sessions.push_back(session);
  }
  // Gives each copy its own turns.
  result.turns.clear();
  for (Session& session : result.sessions) {
    const std::span<const Turn> turns = workload.turns_of(session);
    session.first_turn = static_cast<uint32_t>(result.turns.size());
    result.turns.insert(result.turns.end(), turns.begin(), turns.end());
  }
  return result;
}

// Returns prompts as hash blocks from `families` families: 8 blocks shared in the family and one unique
// block.
Workload families(int prompts, int families, double gap_s, uint64_t seed = 1) {
  Workload workload;
  const RandomStream random(seed, "families");
  workload.piece_begin.push_back(0);
  for (int i = 0; i < prompts; ++i) {
    const auto family = static_cast<uint64_t>(families * random.uniform(static_cast<uint64_t>(i)));
    workload.sessions.push_back({.first_turn = static_cast<uint32_t>(i), .turn_count = 1});
    for (uint64_t block = 0; block < 8; ++block) workload.pieces.push_back({1000 * family + block, 512});
    workload.pieces.push_back({uint64_t{1} << 40 | static_cast<uint64_t>(i), 64});
    workload.piece_begin.push_back(workload.pieces.size());
    workload.turns.push_back({.input_tokens = 8 * 512 + 64, .output_tokens = 20, .time_s = gap_s * i});
  }
  return workload;
}

// ---- one node ----

TEST(Fleet, OneNodeIsNoFleetWhateverItsRouting) {
  const Workload workload = chats(80, 0.3);
  std::vector<Case> cases = {{scenario("hcache"), workload}};
  for (const RoutingRow& row : kRoutings) cases.push_back({fleet(1, row.routing, "hcache"), workload});
  const std::vector<RunResult> runs = run_all(cases);
  for (std::size_t i = 1; i < runs.size(); ++i) EXPECT_EQ(serialize(runs[i]), serialize(runs[0])) << i;
}

// A failure long after the end makes turns pass the router, which must have no other effect.
TEST(Fleet, TheRouterCostsNoTime) {
  for (const char* policy : {"recompute", "hcache", "cached_attention"}) {
    Scenario direct = scenario(policy);
    direct.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = 20e9}, {.kind = Tier::ssd}};
    Scenario routed = direct;
    routed.fleet.failures = {{.replica = 0, .at_s = 1e7, .down_s = 1}};
    const Workload workload = chats(80, 0.3);
    const std::vector<RunResult> runs = run_all({{direct, workload}, {routed, workload}});
    ASSERT_EQ(runs[0].turns.size(), runs[1].turns.size());
    for (std::size_t i = 0; i < runs[0].turns.size(); ++i) {
      const TurnRecord &a = runs[0].turns[i], &b = runs[1].turns[i];
      ASSERT_NEAR(a.arrival_s, b.arrival_s, 1e-6) << policy << " turn " << i;
      ASSERT_NEAR(a.ttft_s, b.ttft_s, 1e-6) << policy << " turn " << i;
      ASSERT_NEAR(a.e2el_s, b.e2el_s, 1e-6) << policy << " turn " << i;
      ASSERT_EQ(a.hit_tokens, b.hit_tokens) << policy << " turn " << i;
    }
  }
}

// ---- many nodes ----

// N nodes that each get a copy of every session behave like N single nodes.
TEST(Fleet, NodesWithTheSameSessionsAreOneNodeNTimes) {
  constexpr int kNodes = 4;
  const Workload workload = chats(60, 0.2);
  const Scenario one = scenario("hcache");
  const std::vector<RunResult> runs = run_all(
      {{one, workload}, {fleet(kNodes, Routing::session_affinity, "hcache"), multiplied(workload, kNodes)}});
  ASSERT_EQ(runs[1].turns.size(), kNodes * runs[0].turns.size());
  std::vector<const TurnRecord*> alone;
  std::vector<std::vector<std::size_t>> turn_of(workload.sessions.size());
  for (const TurnRecord& turn : runs[0].turns) {
    turn_of[turn.session].resize(std::max<std::size_t>(turn_of[turn.session].size(), turn.turn + 1));
    turn_of[turn.session][turn.turn] = alone.size();
    alone.push_back(&turn);
  }
  for (const TurnRecord& turn : runs[1].turns) {
    const TurnRecord& same = *alone[turn_of[turn.session / kNodes][turn.turn]];
    ASSERT_NEAR(turn.ttft_s, same.ttft_s, 1e-6);
    ASSERT_NEAR(turn.e2el_s, same.e2el_s, 1e-6);
    ASSERT_EQ(turn.hit_tokens, same.hit_tokens);
  }
  EXPECT_NEAR(runs[1].number("routing.imbalance"), 1, 1e-9);
  EXPECT_NEAR(runs[1].number("utilization.gpu"), runs[0].number("utilization.gpu"), 1e-9);
  EXPECT_NEAR(runs[1].number("cost.total_usd"), kNodes * runs[0].number("cost.total_usd"), 1e-6);
  EXPECT_EQ(runs[1].number("kv_capacity_tokens"), kNodes * runs[0].number("kv_capacity_tokens"));
}

TEST(Fleet, AffinityFindsMoreThanAnyRoutingThatForgets) {
  const Workload workload = chats(120, 0.6);
  const std::vector<RunResult> runs = run_all({{fleet(4, Routing::session_affinity), workload},
                                               {fleet(4, Routing::round_robin), workload},
                                               {fleet(4, Routing::prefix_aware), workload},
                                               {scenario("ideal"), workload}});
  // Round robin returns to a node by chance and finds the oldest part of a history there.
  EXPECT_GT(runs[0].number("token_hit_rate"), runs[1].number("token_hit_rate") + 0.1);
  EXPECT_GT(runs[1].number("token_hit_rate"), 0.05);
  // With room for all contexts, affinity finds everything; so does routing by contexts.
  EXPECT_NEAR(runs[0].number("token_hit_rate"), runs[3].number("token_hit_rate"), 1e-3);
  EXPECT_NEAR(runs[2].number("token_hit_rate"), runs[3].number("token_hit_rate"), 1e-3);
}

TEST(Fleet, PrefixesAreFoundWhereTheyAreFollowed) {
  const Workload workload = families(400, 12, 0.4);
  std::vector<Case> cases;
  for (Routing routing : {Routing::prefix_aware, Routing::least_loaded, Routing::round_robin}) {
    Scenario one = fleet(4, routing);
    // Each node has room for a third of the families.
    one.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = 4.2 * 8 * 512 * 524288}};
    cases.push_back({one, workload});
  }
  const std::vector<RunResult> runs = run_all(cases);
  EXPECT_GT(runs[0].number("token_hit_rate"), runs[1].number("token_hit_rate") + 0.1);
  EXPECT_GT(runs[0].number("token_hit_rate"), runs[2].number("token_hit_rate") + 0.1);
  for (const RunResult& one : runs) expect_each_turn_once(one, workload);
}

// A context in a fast shared tier is found by every node.
TEST(Fleet, RoutingDoesNotMatterToHitsInAFastSharedTier) {
  const Workload workload = chats(80, 0.4);
  std::vector<Case> cases;
  for (const RoutingRow& row : kRoutings) {
    cases.push_back({with_remote(fleet(4, row.routing), true, 1e15), workload});
  }
  cases.push_back({with_remote(fleet(4, Routing::round_robin), false, 1e15), workload});
  const std::vector<RunResult> runs = run_all(cases);
  for (std::size_t i = 1; i < std::size(kRoutings); ++i) {
    EXPECT_EQ(runs[i].number("token_hit_rate"), runs[0].number("token_hit_rate")) << i;
  }
  EXPECT_LT(runs[std::size(kRoutings)].number("token_hit_rate"), runs[0].number("token_hit_rate") - 0.1);
}

// One shared link is slower than a link per node, and not faster than its bandwidth.
TEST(Fleet, NodesShareTheLinkOfASharedTier) {
  // Four concurrent contexts of 4,000 tokens, one per node: 2.1 GB each over 4 GB/s.
  Workload workload;
  for (uint32_t i = 0; i < 4; ++i) {
    workload.sessions.push_back(
        {.first_turn = i, .turn_count = 1, .context_tokens = 4000, .history_grows = false});
    workload.turns.push_back({.input_tokens = 10, .output_tokens = 1});
  }
  workload.warm_start = true;
  const double alone_s = 4000 * 524288.0 / 4e9;
  const std::vector<RunResult> runs =
      run_all({{with_remote(fleet(4, Routing::round_robin), true, 4e9), workload},
               {with_remote(fleet(4, Routing::round_robin), false, 4e9), workload}});
  for (const TurnRecord& turn : runs[0].turns) EXPECT_NEAR(turn.load_s, 4 * alone_s, 1e-4);
  EXPECT_NEAR(runs[0].number("utilization.remote"), 4 * alone_s / runs[0].number("duration"), 1e-3);
  for (const TurnRecord& turn : runs[1].turns) {
    if (turn.hit_tokens > 0) {
      EXPECT_NEAR(turn.load_s, alone_s, 1e-4);
    }
  }
  // A shared tier is paid for once, a private one on every node.
  const double hours = runs[0].number("duration") / runs[1].number("duration");
  EXPECT_NEAR(runs[0].number("cost.remote_usd") * 4, hours * runs[1].number("cost.remote_usd"), 1e-9);
}

// The mean wait of M/M/c at `offered` = lambda E[S] < c by Erlang B and C (1917).
double mmc_wait_s(int servers, double offered, double service_s) {
  double blocked = 1;
  for (int n = 1; n <= servers; ++n) blocked = offered * blocked / (n + offered * blocked);
  const double waits = blocked / (1 - offered / servers * (1 - blocked));
  return waits * service_s / (servers - offered);
}

// Several queues are not an M/M/c: joining the shortest one waits longer than one queue for all servers, and
// less than random queues.
TEST(Fleet, LeastLoadedWaitsBetweenOneQueueAndBlindOnes) {
  constexpr int kServers = 4;
  const RandomStream random(1, "lengths");
  const auto tokens = [&random](uint64_t i) {
    return 1 + static_cast<uint32_t>(1000 * random.exponential(i));
  };
  Scenario one = server_scenario(1);
  const double arrival_s = 0;
  const Workload two[] = {turns_alone({&arrival_s, 1}, [](uint64_t) { return 1000; }),
                          turns_alone({&arrival_s, 1}, [](uint64_t) { return 2000; })};
  const std::vector<RunResult> idle = run_all({{one, two[0]}, {one, two[1]}});
  const double token_s = (idle[1].turns[0].e2el_s - idle[0].turns[0].e2el_s) / 1000;
  const double service_s = -1 / std::expm1(-1e-3) * token_s;
  const double load = 0.8;
  const std::vector<double> arrivals_s = poisson_arrivals_s(12000, load * kServers / service_s, 1);
  Workload workload = turns_alone(arrivals_s, tokens);
  workload.warmup_turns = 1000;
  one.fleet.replicas = kServers;
  std::vector<Case> cases;
  for (Routing routing : {Routing::least_loaded, Routing::round_robin}) {
    one.fleet.routing = routing;
    cases.push_back({one, workload});
  }
  const std::vector<RunResult> runs = run_cases(cases);
  const double common = 1e3 * mmc_wait_s(kServers, load * kServers, service_s);
  const double random_split = 1e3 * mmc_wait_s(1, load, service_s);
  const double least = runs[0].number("mean_queue_ms"), in_turn = runs[1].number("mean_queue_ms");
  EXPECT_GT(least, 0.95 * common);  // a single run has its own sample of arrivals
  EXPECT_LT(least, 0.7 * in_turn);
  EXPECT_LT(in_turn, random_split);
}

// ---- failures ----

TEST(Fleet, AFailedNodeLosesItsTiersAndRecovers) {
  const Workload workload = chats(300, 0.5);
  Scenario plain = fleet(2, Routing::session_affinity);
  Scenario fails = plain;
  fails.fleet.failures = {{.replica = 1, .at_s = 300, .down_s = 30}};
  const std::vector<RunResult> runs = run_all({{plain, workload}, {fails, workload}});
  for (const RunResult& one : runs) expect_each_turn_once(one, workload);
  EXPECT_EQ(runs[0].number("retried"), 0);
  EXPECT_GT(runs[1].number("retried"), 0);
  int64_t retries = 0;
  for (const TurnRecord& turn : runs[1].turns) retries += turn.retries;
  EXPECT_EQ(retries, runs[1].number("retried"));
  // A node that is down serves no turn.
  for (const TurnRecord& turn : runs[1].turns) {
    if (turn.node != 1) continue;
    const double admitted_s = turn.arrival_s + turn.ttft_s - turn.service_ttft_s;
    const double ended_s = turn.arrival_s + turn.e2el_s;
    EXPECT_TRUE(ended_s <= 300 + 1e-6 || admitted_s >= 330 - 1e-6) << admitted_s << " .. " << ended_s;
  }
  const double before = hit_rate(runs[1], 200, 300), during = hit_rate(runs[1], 300, 340),
               after = hit_rate(runs[1], 450, 600);
  EXPECT_LT(during, before - 0.1);
  EXPECT_GT(after, during + 0.1);
  EXPECT_NEAR(after, hit_rate(runs[0], 450, 600), 0.03);
  // The failure removes one node's share of the bytes on SSDs immediately; the series show it.
  const double width_s = runs[1].number("duration") / 200;
  const std::vector<double>& stored = series(runs[1], "stored_bytes_ssd");
  const auto bin = [&](double at_s) { return static_cast<std::size_t>(at_s / width_s); };
  EXPECT_LT(stored[bin(300) + 1], 0.7 * stored[bin(300) - 1]);
  EXPECT_GT(stored[bin(600)], stored[bin(300) + 1]);
}

// A session returns to its node, which was down between its turns.
TEST(Fleet, ANodeThatWasDownFindsNothingOfBefore) {
  Workload workload;
  workload.sessions.push_back({.first_turn = 0, .turn_count = 2});
  workload.turns = {{.input_tokens = 1000, .output_tokens = 10},
                    {.input_tokens = 100, .output_tokens = 10, .time_s = 30}};
  const Scenario plain = fleet(2, Routing::session_affinity);
  Scenario fails = plain;
  fails.fleet.failures = {{.replica = 0, .at_s = 20, .down_s = 1}};
  const std::vector<RunResult> runs = run_all({{plain, workload}, {fails, workload}});
  for (const RunResult& one : runs) EXPECT_EQ(one.turns[1].node, 0);
  EXPECT_GT(runs[0].turns[1].hit_tokens, 1000U);
  EXPECT_EQ(runs[1].turns[1].hit_tokens, 0U);
}

TEST(Fleet, AFailureDoesNotTouchTheSharedTier) {
  const Workload workload = chats(200, 0.5);
  Scenario shared = with_remote(fleet(3, Routing::session_affinity), true);
  shared.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = 100e9}, {.kind = Tier::remote}};
  Scenario fails = shared;
  fails.fleet.failures = {{.replica = 1, .at_s = 200, .down_s = 60}};
  Scenario local = fails;
  local.fleet.shared_remote = false;
  const std::vector<RunResult> runs = run_all({{shared, workload}, {fails, workload}, {local, workload}});
  for (const RunResult& one : runs) expect_each_turn_once(one, workload);
  // Only data in transit to the node is lost.
  EXPECT_NEAR(hit_rate(runs[1], 200, 300), hit_rate(runs[0], 200, 300), 0.02);
  EXPECT_LT(hit_rate(runs[2], 200, 300), hit_rate(runs[0], 200, 300) - 0.05);
  const double width_s = runs[1].number("duration") / 200;
  const std::vector<double>& stored = series(runs[1], "stored_bytes_remote");
  for (std::size_t i = 1; i < stored.size(); ++i) {
    EXPECT_GE(stored[i], stored[i - 1] * (1 - 1e-3)) << "at " << width_s * static_cast<double>(i) << " s";
  }
}

TEST(Fleet, TurnsWaitWhileAllNodesAreDown) {
  Scenario down = fleet(2, Routing::round_robin, "recompute");
  down.fleet.failures = {{.replica = 0, .at_s = 0.5, .down_s = 10},
                         {.replica = 1, .at_s = 0.5, .down_s = 20}};
  Workload workload;
  for (uint32_t i = 0; i < 4; ++i) {
    workload.sessions.push_back({.first_turn = i, .turn_count = 1});
    workload.turns.push_back({.input_tokens = 100, .output_tokens = 5, .time_s = 1.0 + i});
  }
  const RunResult result = run(down, workload);
  expect_each_turn_once(result, workload);
  for (const TurnRecord& turn : result.turns) {
    EXPECT_EQ(turn.node, 0);
    EXPECT_EQ(turn.retries, 0);
    EXPECT_NEAR(turn.arrival_s + turn.ttft_s, 10.5, 0.5);
  }
  const std::vector<double>& waiting = series(result, "waiting");
  EXPECT_NEAR(*std::max_element(waiting.begin(), waiting.end()), 4, 1e-6);
}

// A projection of 4,000 tokens takes minutes on this GPU; the prompt is recomputed when the node is back.
TEST(Fleet, ALostRestorationComputesNoLongerThanItsNodeIsUp) {
  Scenario slow = fleet(1, Routing::round_robin, "hcache");
  slow.hardware.gpu.peak_flops = 1e10;
  slow.fleet.failures = {{.replica = 0, .at_s = 20, .down_s = 1}};
  const RunResult result = run(slow, one_turn(4000, 100, 10));
  const double busy_s = result.number("utilization.gpu") * result.number("duration");
  EXPECT_EQ(result.number("retried"), 1);
  EXPECT_GT(busy_s, result.number("duration") - 21);
  EXPECT_LT(busy_s, result.number("duration") - 1 + 1e-3);
}

// A turn whose answer has begun starts over; its time to first token is that of the answer that it completes.
TEST(Fleet, ALostAnswerStartsOverFromItsPrompt) {
  Scenario fails = fleet(2, Routing::session_affinity, "recompute");
  Workload workload;
  workload.sessions.push_back({.first_turn = 0, .turn_count = 1});
  workload.turns.push_back({.input_tokens = 1000, .output_tokens = 500});
  const RunResult whole = run(fails, workload);
  const double half_s = whole.turns[0].e2el_s / 2;
  fails.fleet.failures = {{.replica = 0, .at_s = half_s, .down_s = 1}};
  const RunResult result = run(fails, workload);
  EXPECT_EQ(result.turns[0].node, 1);
  EXPECT_EQ(result.turns[0].retries, 1);
  EXPECT_NEAR(result.turns[0].ttft_s, half_s + whole.turns[0].ttft_s, 1e-6);
  EXPECT_NEAR(result.turns[0].e2el_s, half_s + whole.turns[0].e2el_s, 1e-6);
  // The lost node's work still counts as utilisation.
  EXPECT_NEAR(result.number("utilization.gpu") * 2 * result.number("duration"), 1.5 * whole.turns[0].e2el_s,
              1e-3);
}

class FleetSoak : public testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Table, FleetSoak, testing::ValuesIn(policy_names().begin(), policy_names().end()),
                         [](const auto& name) { return std::string(name.param); });

// Random failures, tight memory, every routing, private and shared tiers: every turn is served once, and all
// invariants hold after every event.
TEST_P(FleetSoak, LosesNoTurnAndServesNoneTwice) {
  const Workload workloads[] = {chats(30, 1.0, 5, 2), families(60, 10, 1.5)};
  const std::string policy(GetParam());
  std::vector<Case> cases;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Scenario one = fleet(3, kRoutings[seed % 4].routing, policy);
    one.fidelity = (seed + seed / 4) % 2 == 0 ? Fidelity::request : Fidelity::layer;
    one.serving.kv_capacity_tokens = 12000;
    one.serving.max_model_len = 6000;
    one.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = 3e9},
                        {.kind = Tier::ssd, .capacity_bytes = 6e9}};
    if (seed >= 4) {
      one.hardware.remote = Remote{.capacity_bytes = 1e12, .bandwidth_bytes_per_s = 3e9, .latency_s = 1e-3};
      one.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = 3e9},
                          {.kind = Tier::remote, .capacity_bytes = 20e9}};
      one.fleet.shared_remote = true;
    }
    const RandomStream random(seed, "failures");
    for (int64_t node = 0; node < 3; ++node) {
      double at_s = 0;
      for (uint64_t i = 0; i < 6; ++i) {
        at_s += 1 + 25 * random.exponential(static_cast<uint64_t>(node), 2 * i);
        const double down_s = 0.1 + 15 * random.exponential(static_cast<uint64_t>(node), 2 * i + 1);
        one.fleet.failures.push_back({.replica = node, .at_s = at_s, .down_s = down_s});
        at_s += down_s;
      }
    }
    cases.push_back({one, workloads[seed % 3 == 2]});
  }
  double retried = 0;
  const std::vector<RunResult> runs = run_all(cases);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunResult& result = runs[i];
    expect_each_turn_once(result, cases[i].workload);
    EXPECT_EQ(result.number("rejected"), 0);
    retried += result.number("retried");
  }
  EXPECT_GT(retried, 10);
}

// The first of three turns of a session is on a node that fails and then finds no room on the other node. The
// other two never arrive and must not count as retried.
TEST(Fleet, ATurnThatNeverArrivesWasNeverRetried) {
  Workload workload;
  for (uint32_t s = 0; s < 2; ++s) {
    workload.sessions.push_back({.first_turn = 3 * s, .turn_count = 3});
    workload.turns.insert(workload.turns.end(), {{64, 2000, 0.001 * s}, {64, 20, 1}, {64, 20, 1}});
  }
  Scenario full = fleet(2, Routing::round_robin);
  full.serving.max_num_seqs = 1;
  full.serving.max_queued_turns = 0;
  full.fleet.failures = {{.replica = 1, .at_s = 2, .down_s = 1e4}};
  const RunResult result = run(full, workload);
  expect_each_turn_once(result, workload);
  EXPECT_EQ(result.number("retried"), 1);
  for (const TurnRecord& turn : result.turns) {
    EXPECT_EQ(turn.retries, turn.session == 1 && turn.turn == 0 ? 1 : 0) << turn.session << "." << turn.turn;
    EXPECT_EQ(turn.rejected, turn.session == 1);
  }
}

// Returns engines without tiers, which soon evict blocks, behind a router with this index.
Scenario believing(const RouterOptions& router) {
  Scenario result = fleet(3, Routing::prefix_aware, "recompute");
  result.serving.prefix_caching = true;
  result.serving.kv_capacity_tokens = 20000;
  result.serving.max_model_len = 16384;
  result.fleet.router = router;
  return result;
}

// An index without evictions overestimates the stored blocks; one with events that never arrive contains
// none; one with immediate events is about right.
TEST(Fleet, RoutersBelieveWhatTheirIndexHasHeard) {
  const Workload workload = chats(150, 1);
  const std::vector<RunResult> runs =
      run_all({{believing({.index = IndexKind::approximate, .index_tokens = {}}), workload},
               {believing({.index = IndexKind::events, .event_delay_s = 1e9}), workload},
               {believing({.index = IndexKind::events}), workload}});
  const auto believed = [&](int run) { return runs[run].number("routing.believed_tokens"); };
  const auto found = [&](int run) { return runs[run].number("routing.found_tokens"); };
  EXPECT_GT(believed(0), 1.2 * found(0));
  EXPECT_EQ(believed(1), 0);
  EXPECT_GT(found(2), 0);
  EXPECT_NEAR(believed(2), found(2), 0.1 * found(2));
  for (const RunResult& run : runs) expect_each_turn_once(run, workload);
}

// Returns prompts of 12 families with long answers, on three nodes without room for all of them.
Case believing_case(Routing routing, IndexKind index, uint64_t seed, Fidelity fidelity) {
  RouterOptions router{.index = index};
  if (index == IndexKind::events) router.event_delay_s = seed % 4 < 2 ? 0 : 0.2;
  Scenario scenario = believing(router);
  scenario.fleet.routing = routing;
  scenario.serving.kv_capacity_tokens = 16000;
  scenario.serving.async_scheduling = seed % 2 == 0;
  if (seed % 3 == 0) {
    scenario.serving.kv_capacity_tokens = scenario.serving.max_model_len = 8000;
    scenario.model.layer_groups = {{.layers = 8},
                                   {.layers = 24, .attention = AttentionKind::sliding, .window_tokens = 512}};
  }
  if (seed % 3 == 1) {
    scenario.policy = with_preset({.name = "vllm_offload"});
    scenario.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = 4e9}};
  }
  scenario.fidelity = fidelity;
  Workload workload = families(150, 12, 0.7, seed);
  const RandomStream random(seed, "answers");
  for (uint64_t i = 0; i < workload.turns.size(); ++i) {
    workload.turns[i].output_tokens = 1 + static_cast<uint32_t>(400 * random.exponential(i));
  }
  return {scenario, workload};
}

struct ServedTurn {
  uint32_t session = 0;
  int node = 0;
  double ttft_s = 0;
  auto operator<=>(const ServedTurn&) const = default;
};

std::vector<ServedTurn> served_turns(const RunResult& result) {
  std::vector<ServedTurn> turns;
  for (const TurnRecord& turn : result.turns) turns.push_back({turn.session, turn.node, turn.ttft_s});
  std::sort(turns.begin(), turns.end());
  return turns;
}

// Blocks that a node allocates, evicts and reports during a run of decode steps count at the times of these
// steps.
TEST(Fleet, RoutersDecideTheSameAtBothFidelities) {
  std::vector<Case> cases;
  for (Routing routing : {Routing::prefix_aware, Routing::cache_aware, Routing::dynamo, Routing::weighted}) {
    for (IndexKind index : {IndexKind::exact, IndexKind::events, IndexKind::approximate}) {
      for (uint64_t seed = 1; seed <= 4; ++seed) {
        cases.push_back(believing_case(routing, index, seed, Fidelity::request));
        cases.push_back(believing_case(routing, index, seed, Fidelity::layer));
      }
    }
  }
  const std::vector<RunResult> runs = run_all(cases);
  for (std::size_t i = 0; i < runs.size(); i += 2) {
    const FleetOptions& options = cases[i].scenario.fleet;
    SCOPED_TRACE(testing::Message() << "routing " << static_cast<int>(options.routing) << " index "
                                    << static_cast<int>(options.router.index) << " seed " << i / 2 % 4 + 1);
    const std::vector<ServedTurn> request = served_turns(runs[i]), layer = served_turns(runs[i + 1]);
    ASSERT_EQ(request.size(), layer.size());
    std::size_t other = 0;
    for (std::size_t t = 0; t < request.size(); ++t) {
      other += request[t].node != layer[t].node || std::abs(request[t].ttft_s - layer[t].ttft_s) > 1e-6;
    }
    EXPECT_EQ(other, 0) << "turns elsewhere, or with another TTFT";
    if (options.router.index == IndexKind::exact) continue;
    for (const char* name : {"routing.believed_tokens", "routing.found_tokens"}) {
      EXPECT_EQ(runs[i].number(name), runs[i + 1].number(name)) << name;
    }
  }
}

// SGLang's router spreads prompts that no node has over the nodes, whatever its index.
TEST(Fleet, RoutersOfEveryIndexSpreadColdPrompts) {
  const Workload workload = chats(300, 1);
  for (const IndexKind index : {IndexKind::exact, IndexKind::events, IndexKind::approximate}) {
    Scenario scenario = believing({.index = index});
    scenario.fleet.routing = Routing::cache_aware;
    const RunResult result = run_all({{scenario, workload}}).front();
    std::array<int64_t, 3> cold{};
    for (const TurnRecord& turn : result.turns) cold.at(turn.node) += turn.turn == 0;
    for (const int64_t of_node : cold) EXPECT_NEAR(static_cast<double>(of_node), 100, 35);
  }
}

// Questions about 60 documents of 1,500 tokens, stored whole and in chunks, of which three nodes hold a part.
// Evictions are reported under the names of the document's chunks.
TEST(Fleet, RoutersHearOfEveryChunkThatIsEvicted) {
  Workload workload;
  workload.absolute_times = true;
  workload.piece_begin = {0};
  const RandomStream random(8, "documents");
  for (uint32_t i = 0; i < 600; ++i) {
    workload.sessions.push_back({.first_turn = i, .turn_count = 1});
    workload.turns.push_back({1550, 5, 2.0 * i});
    workload.pieces.push_back({static_cast<Key>(60 * random.uniform(i, 0)), 1500});
    workload.pieces.push_back({Key{1000} + i, 50});
    workload.piece_begin.push_back(workload.pieces.size());
  }
  Scenario whole = believing({.index = IndexKind::events});
  Scenario chunked = whole;
  chunked.policy.chunk_tokens = 256;
  for (const RunResult& run : run_all({{whole, workload}, {chunked, workload}})) {
    const double found = run.number("routing.found_tokens");
    EXPECT_GT(found, 1e5);
    EXPECT_NEAR(run.number("routing.believed_tokens"), found, 0.02 * found);
  }
}

}  // namespace
}  // namespace kvcap::laws::fleet_laws_test
