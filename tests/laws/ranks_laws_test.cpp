// Laws of ranks: effects that data-parallel engines of one node may and may not have.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "laws/machines.h"
#include "metrics/serialize.h"
#include "run/ranks.h"

namespace kvcap::laws::ranks_laws_test {
namespace {

// Returns a model with 32 experts of 1,024, evenly loaded, on a node of two GPUs with room for everything.
Scenario sparse(int64_t ranks, const std::string& policy = "recompute") {
  Scenario result = scenario(policy);
  result.model.num_hidden_layers = 8;
  result.model.experts = Experts{.count = 32, .active = 4, .intermediate_size = 1024};
  result.hardware.gpu.count = 2;
  result.hardware.gpu.memory_bytes = 80e9;
  result.hardware.nvlink = Nvlink{300e9, 5e-6};
  result.serving.data_parallel_size = ranks;
  result.serving.expert_parallel = true;
  result.serving.expert_imbalance = 1;
  return result;
}

struct Ask {
  double arrival_s = 0;
  uint32_t input_tokens = 0, output_tokens = 0;
};

Workload asks(const std::vector<Ask>& list) {
  Workload workload;
  for (const Ask& ask : list) {
    workload.sessions.push_back(
        {.first_turn = static_cast<uint32_t>(workload.turns.size()), .turn_count = 1});
    workload.turns.push_back({ask.input_tokens, ask.output_tokens, ask.arrival_s});
  }
  return workload;
}

CostModel cost_of(const Scenario& scenario) {
  return {scenario.model, scenario.hardware, scenario.serving.tensor_parallel_size,
          expert_placement(scenario)};
}

const TurnRecord& turn_of(const RunResult& result, uint32_t session) {
  return *std::find_if(result.turns.begin(), result.turns.end(),
                       [&](const TurnRecord& turn) { return turn.session == session; });
}

TEST(Ranks, OfEqualLoadEachStepLikeOneWithHalfOfTheTokens) {
  // A prompt of 1,000 tokens on each rank: 8 layers of 1,000 own tokens and 1,000 of the other rank's, one
  // output token. Then a decode step of one sequence per rank.
  const Scenario two = sparse(2);
  const RunResult result = run(two, asks({{0, 1000, 2}, {0, 1000, 2}}));
  const CostModel cost = cost_of(two);
  const double prefill_s =
      8 * (cost.linear_layer_s(1000, 1000) + cost.attention_layer_s({1000, 0})) + cost.head_s(1);
  const double decode_s =
      8 * (cost.linear_layer_s(1, 1) + cost.decode_attention_layer_s(1).at_s(1001)) + cost.head_s(1);
  for (uint32_t session : {0U, 1U}) {
    const TurnRecord& turn = turn_of(result, session);
    EXPECT_EQ(turn.node, session);
    EXPECT_NEAR(turn.ttft_s, prefill_s, 1e-8);
    EXPECT_NEAR(turn.e2el_s - turn.ttft_s, decode_s, 1e-8);
  }
}

TEST(Ranks, WaitForTheSlowest) {
  // 3,000 tokens on one rank, 100 on the other: both have their first token when the long prompt is computed;
  // its experts see 3,100 tokens.
  Scenario two = sparse(2);
  two.serving.max_num_batched_tokens = 4096;
  const RunResult result = run(two, asks({{0, 3000, 1}, {0, 100, 1}}));
  const CostModel cost = cost_of(two);
  const double slow_s =
      8 * (cost.linear_layer_s(3000, 100) + cost.attention_layer_s({3000, 0})) + cost.head_s(1);
  EXPECT_NEAR(turn_of(result, 0).ttft_s, slow_s, 1e-8);
  EXPECT_NEAR(turn_of(result, 1).ttft_s, slow_s, 1e-8);
  EXPECT_NEAR(result.number("routing.imbalance"), 1, 1e-9);  // a waiting rank is busy: it is in the exchange
  // A request that arrives during a step of another rank waits for its end.
  const RunResult late = run(two, asks({{0, 3000, 1}, {0.001, 100, 1}}));
  const double first_s =
      8 * (cost.linear_layer_s(3000, 1) + cost.attention_layer_s({3000, 0})) + cost.head_s(1);
  const double second_s =
      8 * (cost.linear_layer_s(100, 1) + cost.attention_layer_s({100, 0})) + cost.head_s(1);
  EXPECT_NEAR(turn_of(late, 1).ttft_s, first_s - 0.001 + second_s, 1e-8);
}

TEST(Ranks, WithoutWorkRunAlong) {
  // One turn on two ranks: the other rank's GPU is equally busy, and its dummy row goes to experts.
  const Scenario two = sparse(2);
  const RunResult result = run(two, asks({{0, 1000, 50}}));
  const CostModel cost = cost_of(two);
  EXPECT_NEAR(turn_of(result, 0).ttft_s,
              8 * (cost.linear_layer_s(1000, 1) + cost.attention_layer_s({1000, 0})) + cost.head_s(1), 1e-8);
  EXPECT_NEAR(result.number("utilization.gpu"), 1, 1e-6);
  EXPECT_NEAR(result.number("routing.imbalance"), 1, 1e-6);
}

// Busy ranks with long answers and, in some cases, too little memory, deferred prompts or patience.
Case busy_ranks(uint64_t seed, Fidelity fidelity) {
  const auto ranks = static_cast<int64_t>(2 + seed % 3);
  Scenario one = sparse(ranks);
  one.hardware.gpu.count = ranks;
  one.serving.async_scheduling = seed % 2 == 0;
  one.serving.prefix_caching = seed % 4 < 2;
  if (seed % 3 == 0) one.serving.prefill_schedule_interval = 4;
  if (seed % 5 == 0) one.serving.kv_capacity_tokens = one.serving.max_model_len = 6000;
  one.fidelity = fidelity;
  Workload workload = chats(40, 2, seed, 2);
  if (seed % 4 == 1) workload.clients.timeout_s = 4;
  return {one, workload};
}

std::vector<TurnRecord> by_session(std::vector<TurnRecord> turns) {
  std::ranges::sort(turns, {},
                    [](const TurnRecord& turn) { return std::pair(turn.session, turn.arrival_s); });
  return turns;
}

// With layer fidelity every step is an event of its own.
TEST(Ranks, EndRunsOfStepsWhenSingleStepsDo) {
  constexpr uint64_t kSeeds = 12;
  std::vector<Case> cases;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    cases.push_back(busy_ranks(seed, Fidelity::request));
    cases.push_back(busy_ranks(seed, Fidelity::layer));
  }
  const std::vector<RunResult> runs = run_all(cases);
  for (std::size_t i = 0; i < runs.size(); i += 2) {
    SCOPED_TRACE(testing::Message() << "seed " << i / 2 + 1);
    const std::vector<TurnRecord> turns = by_session(runs[i].turns), singly = by_session(runs[i + 1].turns);
    ASSERT_EQ(turns.size(), singly.size());
    for (std::size_t t = 0; t < turns.size(); ++t) {
      EXPECT_EQ(turns[t].node, singly[t].node);
      EXPECT_NEAR(turns[t].ttft_s, singly[t].ttft_s, 1e-8);
      EXPECT_NEAR(turns[t].e2el_s, singly[t].e2el_s, 1e-8);
    }
    for (const char* name : {"utilization.gpu", "preemptions", "abandoned"}) {
      const double expected = runs[i + 1].number(name);
      EXPECT_NEAR(runs[i].number(name), expected, 1e-6 * std::abs(expected)) << name;
    }
  }
}

TEST(Ranks, OfAModelWithoutExpertsAreIndependent) {
  // Ranks match two replicas of one GPU each that take turns.
  Scenario ranks = scenario("recompute");
  ranks.hardware.gpu.count = 2;
  ranks.serving.data_parallel_size = 2;
  Scenario alone = scenario("recompute");
  const RunResult two = run(ranks, asks({{0, 3000, 20}, {0, 100, 20}}));
  EXPECT_NEAR(turn_of(two, 0).e2el_s, run(alone, asks({{0, 3000, 20}})).turns[0].e2el_s, 1e-8);
  EXPECT_NEAR(turn_of(two, 1).e2el_s, run(alone, asks({{0, 100, 20}})).turns[0].e2el_s, 1e-8);
}

TEST(Ranks, TakeTheTurnWhereLeastWaitAndRun) {
  // Ten concurrent turns alternate between two ranks.
  const RunResult result = run(sparse(2), asks(std::vector<Ask>(10, Ask{0, 100, 10})));
  int first = 0;
  for (const TurnRecord& turn : result.turns) first += turn.node == 0;
  EXPECT_EQ(first, 5);
}

TEST(Ranks, CountATurnThatWaitsFourTimes) {
  // Three concurrent turns: the first and third run long on rank 0, the second is short, on rank 1, and has
  // ended when two more arrive. The fourth goes to the idle rank 1. The fifth arrives before the next step
  // begins and goes to rank 0 with two running turns, because one waiting turn on rank 1 counts as four.
  const RunResult result =
      run(sparse(2), asks({{0, 100, 3000}, {0, 100, 3}, {0, 100, 3000}, {1, 100, 3}, {1.00001, 100, 3}}));
  const std::vector<int> nodes = {0, 1, 0, 1, 0};
  for (uint32_t session = 0; session < nodes.size(); ++session) {
    EXPECT_EQ(turn_of(result, session).node, nodes[session]) << session;
  }
}

TEST(Ranks, AreAllPaidFor) {
  const Workload workload = asks({{0, 1000, 50}});
  const RunResult one = run(sparse(1), workload), two = run(sparse(2), workload);
  // A GPU costs 5 $ per hour, with its share of the machine's SSDs 5.656 $.
  EXPECT_DOUBLE_EQ(one.number("cost.usd_per_hour"), 2 * 5.656);
  EXPECT_DOUBLE_EQ(two.number("cost.usd_per_hour"), one.number("cost.usd_per_hour"));  // same node
}

TEST(Ranks, HaveTheirShareOfTheNodesTiersEach) {
  Scenario two = sparse(2, "kv_offload");
  two.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = 100e9}, {.kind = Tier::ssd}};
  const Machine machine(two, 1000, 1000);
  EXPECT_DOUBLE_EQ(machine.tiers()[0].capacity_bytes, 50e9);
  EXPECT_DOUBLE_EQ(machine.tiers()[1].capacity_bytes, 4 * 4e12 / 2);
  const HardwareProfile share = share_of_rank(two);
  EXPECT_DOUBLE_EQ(share.dram->bandwidth_bytes_per_s, 200e9 / 2);
  EXPECT_DOUBLE_EQ(share.ssd->read_bandwidth_bytes_per_s, 6.9e9 / 2);
  EXPECT_DOUBLE_EQ(share.ssd->write_bandwidth_bytes_per_s, 4.1e9 / 2);
  EXPECT_DOUBLE_EQ(share.pcie.h2d_bandwidth_bytes_per_s, 26e9);
  // One store with one link for all ranks is not divided.
  two.hardware.remote = Remote{.capacity_bytes = 1e12, .bandwidth_bytes_per_s = 10e9};
  EXPECT_DOUBLE_EQ(share_of_rank(two).remote->bandwidth_bytes_per_s, 5e9);
  two.fleet.shared_remote = true;
  EXPECT_DOUBLE_EQ(share_of_rank(two).remote->bandwidth_bytes_per_s, 10e9);
}

TEST(Ranks, FailTogether) {
  Scenario two = sparse(2);
  two.fleet.failures = {{.replica = 0, .at_s = 0.01, .down_s = 5}};
  const RunResult result = run(two, asks({{0, 1000, 200}, {0, 1000, 200}}));
  for (const TurnRecord& turn : result.turns) {
    EXPECT_EQ(turn.retries, 1);
    EXPECT_GT(turn.ttft_s, 5);
  }
}

// Two turns decode on each rank when a third and a fourth one arrive. With more steps between prompts than
// there are, these wait until those have ended; a rank that decodes nothing computes prompts at once.
TEST(PrefillCadence, OfRanksKeepsPromptsBehindDecodesForSoManySteps) {
  const Workload workload = asks({{0, 500, 200}, {0, 500, 200}, {0.1, 300, 5}, {0.1, 300, 5}});
  const auto third_s = [&](int64_t interval) {
    Scenario ranks = sparse(2);
    ranks.serving.prefill_schedule_interval = interval;
    const RunResult result = run(ranks, workload);
    EXPECT_EQ(result.number("completed"), 4);
    return std::pair(0.1 + turn_of(result, 2).ttft_s, double{turn_of(result, 0).e2el_s});
  };
  const auto [at_once_s, end_s] = third_s(1);
  ASSERT_GT(end_s, 0.15) << "the first ones decode when the others arrive";
  EXPECT_LT(at_once_s, end_s);
  const auto [late_s, undisturbed_s] = third_s(1'000'000);
  EXPECT_GT(late_s, undisturbed_s);
  EXPECT_LT(undisturbed_s, end_s);
  const auto [soon_s, same_s] = third_s(4);
  EXPECT_GE(soon_s, at_once_s);
  EXPECT_LT(soon_s, late_s);
}

TEST(PrefillCadence, IsThatOfRanksInLockstepAlone) {
  Scenario alone = scenario("recompute");
  const Workload workload = chats(12, 2, 3, 1);
  const double every_ms = run(alone, workload).number("mean_ttft_ms");
  alone.serving.prefill_schedule_interval = 5;
  EXPECT_EQ(run(alone, workload).number("mean_ttft_ms"), every_ms);
}

TEST(Ranks, ServeEveryTurnUnderEveryPolicyAndSayTheSameTwice) {
  const Workload workload = chats(12, 2, 3, 1);
  std::vector<Case> cases;
  for (std::string_view policy : policy_names()) {
    for (const bool has_experts : {true, false}) {
      Scenario one = sparse(2, std::string(policy));
      one.hardware.ssd->write_bandwidth_bytes_per_s = 4e9;
      if (!has_experts) {
        one.model.experts.reset();
        one.serving.expert_parallel = false;
        one.serving.expert_imbalance.reset();
      }
      cases.push_back({one, workload});
      cases.push_back({one, workload});
    }
  }
  const std::vector<RunResult> runs = run_all(cases);
  for (std::size_t i = 0; i < runs.size(); i += 2) {
    SCOPED_TRACE(cases[i].scenario.policy.name);
    EXPECT_EQ(runs[i].number("completed"), static_cast<double>(workload.turns.size()));
    EXPECT_EQ(serialize(runs[i]), serialize(runs[i + 1]));
  }
}

}  // namespace
}  // namespace kvcap::laws::ranks_laws_test
