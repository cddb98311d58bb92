// Data parallel ranks: steps of ranks that share experts begin and end together.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "laws/machines.h"
#include "ranks.h"
#include "serving/step_time.h"

namespace kvcap {
namespace {
using namespace laws;

// 8 layers of 16 experts on a server of eight GPUs.
Scenario ranks(int64_t count, const std::string& policy = "recompute") {
  Scenario scenario = laws::scenario(policy);
  scenario.model = llama_3_8b();
  scenario.model.num_hidden_layers = 8;
  scenario.model.experts = Experts{.count = 16, .active = 2, .intermediate_size = 2048};
  scenario.model.max_position_embeddings = 32768;
  scenario.hardware.gpu.count = 8;
  scenario.hardware.nvlink = Nvlink{.bandwidth_bytes_per_s = 300e9, .latency_s = 5e-6};
  scenario.serving.experts = {.data_parallel_size = count, .expert_parallel = count > 1, .imbalance = 1};
  scenario.serving.max_num_batched_tokens = 16384;
  if (count == 1) scenario.serving.experts.imbalance.reset();
  return scenario;
}

struct Asked {
  double at_s = 0;
  uint32_t input_tokens = 0, output_tokens = 1;
};

// Sessions of one turn each.
Workload requests(const std::vector<Asked>& asked) {
  Workload workload;
  for (const Asked& one : asked) {
    workload.sessions.push_back(
        {.first_turn = static_cast<uint32_t>(workload.turns.size()), .turn_count = 1});
    workload.turns.push_back(
        {.input_tokens = one.input_tokens, .output_tokens = one.output_tokens, .time_s = one.at_s});
  }
  return workload;
}

// In the order of the sessions.
std::vector<TurnRecord> turns_of(const Scenario& scenario, const std::vector<Asked>& asked) {
  std::vector<TurnRecord> turns = run(scenario, requests(asked)).turns;
  std::sort(turns.begin(), turns.end(),
            [](const TurnRecord& a, const TurnRecord& b) { return a.session < b.session; });
  return turns;
}

// A step of ranks that compute prompts of so many tokens: the slowest rank's own part, and the experts of
// all.
double step_s(const Scenario& scenario, const std::vector<int64_t>& prompts) {
  const CostModel cost(scenario.model, scenario.hardware, 1, scenario.serving.experts);
  double local_s = 0;
  int64_t all = 0, most = 0;
  for (int64_t tokens : prompts) {
    local_s = std::max(local_s, cost.local_layer_s(tokens) + cost.attention_layer_s({tokens, 0}));
    all += tokens;
    most = std::max(most, tokens);
  }
  return 8 * (local_s + cost.routed_layer_s(all, most)) + cost.head_s(1);
}

constexpr double kNear = 1e-7;

TEST(Ranks, OfOneTurnEachAnswerTogether) {
  const Scenario two = ranks(2);
  const auto turns = turns_of(two, {{0, 3000}, {0, 3000}});
  EXPECT_NE(turns[0].node, turns[1].node);
  for (const TurnRecord& turn : turns) EXPECT_NEAR(turn.ttft_s, step_s(two, {3000, 3000}), kNear);
}

TEST(Ranks, WaitForTheSlowestOfThem) {
  const Scenario two = ranks(2);
  const auto turns = turns_of(two, {{0, 8000}, {0, 100}});
  for (const TurnRecord& turn : turns) EXPECT_NEAR(turn.ttft_s, step_s(two, {8000, 100}), kNear);
}

// The other rank's experts work for it, too.
TEST(Ranks, WithoutTurnsStepAlong) {
  const Scenario two = ranks(2);
  const auto turns = turns_of(two, {{0, 8000}});
  EXPECT_NEAR(turns[0].ttft_s, step_s(two, {8000}), kNear);
  EXPECT_LT(turns[0].ttft_s, turns_of(ranks(1), {{0, 8000}})[0].ttft_s);
}

// Who comes to an idle rank while another one computes begins with the next step of all.
TEST(Ranks, BeginTheNextStepTogether) {
  const Scenario two = ranks(2);
  const double first_s = step_s(two, {8000});
  const auto turns = turns_of(two, {{0, 8000}, {first_s / 2, 500}});
  EXPECT_NE(turns[0].node, turns[1].node);
  EXPECT_NEAR(turns[0].ttft_s, first_s, kNear);
  EXPECT_NEAR(turns[1].ttft_s, first_s / 2 + step_s(two, {500}), kNear);
}

// Of a dense model they have nothing to do with each other.
TEST(Ranks, OfADenseModelDoNotWait) {
  Scenario two = ranks(2);
  two.model.experts.reset();
  two.serving.experts = {.data_parallel_size = 2};
  Scenario one = two;
  one.serving.experts = {};
  const auto turns = turns_of(two, {{0, 8000}, {0, 100}});
  EXPECT_NEAR(turns[0].ttft_s, turns_of(one, {{0, 8000}})[0].ttft_s, kNear);
  EXPECT_NEAR(turns[1].ttft_s, turns_of(one, {{0, 100}})[0].ttft_s, kNear);
}

// 4 x waiting + running: the first of two idle ones, then the other, then whoever has fewer.
TEST(Ranks, AreChosenByTheirLoad) {
  const auto turns = turns_of(ranks(2), {{0, 1000, 6000}, {0.001, 1000, 3}, {2, 1000, 3}, {2.0001, 1000, 3}});
  EXPECT_EQ(turns[0].node, 0);
  EXPECT_EQ(turns[1].node, 1);
  EXPECT_EQ(turns[2].node, 1);  // the first rank still decodes
  EXPECT_EQ(turns[3].node, 0);  // 1 running; the other has one that waits
}

TEST(Ranks, HaveTheirPartOfTheServer) {
  Scenario four = ranks(4, "kv_offload");
  four.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = 8e9}};
  const Scenario nodes = with_ranks_as_nodes(four);
  EXPECT_EQ(nodes.fleet.replicas, 4);
  EXPECT_DOUBLE_EQ(*nodes.policy.tiers->front().capacity_bytes, 2e9);
  EXPECT_DOUBLE_EQ(nodes.hardware.dram->bandwidth_bytes_per_s, four.hardware.dram->bandwidth_bytes_per_s / 4);
  EXPECT_DOUBLE_EQ(nodes.hardware.ssd->read_bandwidth_bytes_per_s,
                   four.hardware.ssd->read_bandwidth_bytes_per_s / 4);
}

// All GPUs and the whole memory are paid once.
TEST(Ranks, ArePaidAsTheServerTheyAre) {
  Scenario one = ranks(1, "kv_offload"), four = ranks(4, "kv_offload");
  one.policy.tiers = four.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = 8e9}};
  const Workload workload = requests({{0, 1000, 10}});
  const RunResult a = run(one, workload), b = run(four, workload);
  const double hours = b.number("duration") / 3600;
  EXPECT_NEAR(b.number("cost.total_usd") / hours, a.number("cost.total_usd") / (a.number("duration") / 3600),
              1e-6);
}

class PolicyOfRanks : public testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Table, PolicyOfRanks,
                         testing::ValuesIn(policy_names().begin(), policy_names().end()),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(PolicyOfRanks, LosesNoTurnAndRepeatsItself) {
  Scenario two = ranks(2, std::string(GetParam()));
  two.serving.max_model_len = 8192;
  two.serving.kv_capacity_tokens = 30000;
  two.serving.async_scheduling = true;
  const Workload workload = chats(30, 2);
  const std::vector<RunResult> results = run_all({{two, workload}, {two, workload}});
  EXPECT_EQ(results[0].number("completed"), static_cast<double>(workload.turns.size()));
  EXPECT_EQ(results[0].number("mean_ttft_ms"), results[1].number("mean_ttft_ms"));
  EXPECT_EQ(results[0].number("mean_tpot_ms"), results[1].number("mean_tpot_ms"));
}

TEST_P(PolicyOfRanks, AnswersNoLaterWithEvenThanWithUnevenExperts) {
  Scenario even = ranks(4, std::string(GetParam()));
  even.serving.max_model_len = 8192;
  Scenario uneven = even;
  uneven.serving.experts.imbalance = 3;
  const Workload workload = one_turn(4000, 300, 20);
  const std::vector<RunResult> results = run_all({{even, workload}, {uneven, workload}});
  EXPECT_LE(results[0].number("mean_e2el_ms"), results[1].number("mean_e2el_ms"));
}

}  // namespace
}  // namespace kvcap
