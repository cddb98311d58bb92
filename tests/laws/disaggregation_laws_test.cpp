// Laws of disaggregated serving (prefill nodes and decode nodes): the time of the first token, the bytes that
// move, who waits for whom, and that other fleets are unaffected.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/handover/handover.h"
#include "laws/machines.h"
#include "metrics/serialize.h"
#include "reference/dice.h"
#include "reference/literal_pair.h"
#include "scenario/pools.h"

namespace kvcap::laws::disaggregation_laws_test {
namespace {

constexpr double kNear_s = 1e-7;  // SimGrid merges dates that are closer than 1e-9 s
constexpr double kLatency_s = 0.002;

// Bytes per token of llama-2-7b: 32 layers x 2 x 4096 x 2.
constexpr double kTokenBytes = 524288;

Scenario pair(double bytes_per_s, int64_t prefill = 1, int64_t decode = 1) {
  Scenario result = scenario("recompute");
  result.policy.tiers = std::vector<TierOptions>();
  result.serving.max_num_batched_tokens = 8192;
  result.hardware.nic = Nic{.count = 2, .bandwidth_bytes_per_s = bytes_per_s / 2, .latency_s = kLatency_s};
  result.fleet.replicas = prefill + decode;
  result.fleet.disaggregation = DisaggregationOptions{.prefill_replicas = prefill};
  return result;
}

Scenario pushing(Scenario scenario, TransferGranularity granularity) {
  scenario.fleet.disaggregation->transfer = KvTransfer::push;
  scenario.fleet.disaggregation->granularity = granularity;
  return scenario;
}

// One turn per session, at the given dates.
struct Prompt {
  double arrival_s = 0;
  uint32_t input_tokens = 1;
  uint32_t output_tokens = 1;
};
Workload prompts(const std::vector<Prompt>& list) {
  Workload workload;
  for (const Prompt& one : list) {
    workload.sessions.push_back(
        {.first_turn = static_cast<uint32_t>(workload.turns.size()), .turn_count = 1});
    workload.turns.push_back(
        {.input_tokens = one.input_tokens, .output_tokens = one.output_tokens, .time_s = one.arrival_s});
  }
  return workload;
}

double number(const RunResult& result, const std::string& name) {
  return result.number("disaggregation." + name);
}

// ---- the first token ----

TEST(Disaggregation, TheFirstTokenComesAfterThePrefillTheTransferAndOneStep) {
  const Scenario machine = pair(10e9);
  const RunResult result = run(machine, prompts({{0, 1000, 5}}));
  const Machine parts(machine, 0, 0);
  const double prefill_s = parts.cost().prefill_s({1000, 0});
  const double transfer_s = kLatency_s + 1000 * kTokenBytes / 10e9;
  const double step_s = parts.cost().prefill_s({1, 999});  // recomputes the prompt's last token
  const TurnRecord& turn = result.turns.front();
  EXPECT_NEAR(turn.ttft_s, prefill_s + transfer_s + step_s, kNear_s);
  EXPECT_NEAR(turn.transfer_s, transfer_s, kNear_s);
  EXPECT_NEAR(turn.first_step_s, step_s, kNear_s);
  EXPECT_EQ(turn.decode_queue_s, 0);
  EXPECT_EQ(turn.node, 1);
  EXPECT_EQ(number(result, "transfer_bytes"), 1000 * kTokenBytes);
  EXPECT_NEAR(number(result, "mean_transfer_ms"), 1e3 * transfer_s, 1e3 * kNear_s);
  EXPECT_NEAR(number(result, "transfer_share_of_ttft"), transfer_s / turn.ttft_s, 1e-6);
  EXPECT_NEAR(result.number("ttft_breakdown_ms.prefill"), 1e3 * prefill_s, 1e-2);
}

// After the first token, the decode node of a pair serves like a single node.
TEST(Disaggregation, TheTokensAfterTheFirstComeAsOnOneNode) {
  const Scenario machine = pair(10e9);
  Scenario alone = machine;
  alone.fleet = {};
  const Workload workload = prompts({{0, 1000, 50}});
  const std::vector<RunResult> runs = run_all({{machine, workload}, {alone, workload}});
  const TurnRecord &apart = runs[0].turns.front(), &together = runs[1].turns.front();
  EXPECT_NEAR(apart.e2el_s - apart.ttft_s, together.e2el_s - together.ttft_s, kNear_s);
}

// 32 layers take c seconds each to compute and x seconds each to move. Both transfers of a step have latency.
TEST(Disaggregation, LayersThatMoveWhileTheNextAreComputedLeaveTheLastOnThePath) {
  const Workload workload = prompts({{0, 1000, 5}});
  const double fast = 1e12, slow = 1e9;
  const Scenario quick = pushing(pair(fast), TransferGranularity::layerwise);
  const std::vector<RunResult> runs =
      run_all({{quick, workload}, {pushing(pair(slow), TransferGranularity::layerwise), workload}});
  const Machine parts(quick, 0, 0);
  const double prefill_s = parts.cost().prefill_s({1000, 0});
  const double step_s = parts.cost().prefill_s({1, 999});
  const double bytes = 1000 * kTokenBytes;
  const double fast_s = prefill_s + kLatency_s + bytes / 32 / fast;
  EXPECT_NEAR(runs[0].turns.front().ttft_s, fast_s + step_s, kNear_s);
  const double slow_s = prefill_s / 32 + 2 * kLatency_s + bytes / slow;
  ASSERT_GT(slow_s, 2 * prefill_s);
  EXPECT_NEAR(runs[1].turns.front().ttft_s, slow_s + step_s, kNear_s);
  EXPECT_NEAR(runs[1].turns.front().transfer_s, slow_s - prefill_s, kNear_s);
}

// Returns the time of a flow shop: each layer of each slice moves when it is computed and the link is free.
double flow_shop_s(const std::vector<std::pair<double, double>>& slices, int layers) {
  double computed_s = 0, moved_s = 0;
  for (const auto& [compute_s, move_s] : slices) {
    for (int layer = 0; layer < layers; ++layer) {
      computed_s += compute_s / layers;
      moved_s = std::max(moved_s, computed_s) + move_s / layers;
    }
  }
  return moved_s;
}

TEST(Disaggregation, ThePromptsLastByteArrivesAsIfEveryLayerMovedByItself) {
  std::vector<Case> cases;
  std::vector<double> expected_s;
  reference::Dice dice(7);
  for (int i = 0; i < 40; ++i) {
    Scenario machine = pushing(pair(std::pow(10, dice.within(9, 11.5))), TransferGranularity::layerwise);
    machine.hardware.nic->latency_s = 0;
    machine.serving.max_num_batched_tokens = dice.between(100, 1500);
    const int64_t tokens = dice.between(1, 4000);
    const Machine parts(machine, 0, 0);
    std::vector<std::pair<double, double>> slices;
    const double bytes_per_s = 2 * machine.hardware.nic->bandwidth_bytes_per_s;
    for (int64_t first = 0; first < tokens; first += machine.serving.max_num_batched_tokens) {
      const int64_t here = std::min(tokens - first, machine.serving.max_num_batched_tokens);
      const bool is_last = first + here == tokens;
      const double head_s = is_last ? 0 : parts.cost().head_s(1);  // only the last slice yields a token
      slices.emplace_back(parts.cost().prefill_s({here, first}) - head_s,
                          static_cast<double>(here) * kTokenBytes / bytes_per_s);
    }
    expected_s.push_back(flow_shop_s(slices, 32) + parts.cost().prefill_s({1, tokens - 1}));
    cases.push_back({machine, prompts({{0, static_cast<uint32_t>(tokens), 3}})});
  }
  const std::vector<RunResult> runs = run_all(cases);
  for (std::size_t i = 0; i < runs.size(); ++i)
    EXPECT_NEAR(runs[i].turns.front().ttft_s, expected_s[i], 1e-6) << i;
}

// ---- what moves ----

TEST(Disaggregation, OnlyWhatTheDecodeNodeLacksMoves) {
  Scenario machine = pair(10e9);
  machine.serving.prefix_caching = true;
  Workload workload;
  workload.sessions.push_back({.first_turn = 0, .turn_count = 2});
  workload.turns = {{.input_tokens = 200, .output_tokens = 61},
                    {.input_tokens = 50, .output_tokens = 3, .time_s = 1}};
  const RunResult result = run(machine, workload);
  // The decode node has computed 200 + 60 tokens, 16 full blocks of 16. Of the second prompt's 311 tokens it
  // lacks the others.
  EXPECT_EQ(number(result, "transfers"), 2);
  EXPECT_EQ(number(result, "transfer_bytes"), (200 + 311 - 256) * kTokenBytes);
  // The prefill node does not have the answer: it finds the 12 full blocks of the first prompt.
  EXPECT_EQ(result.turns.back().hit_tokens, 192);
}

TEST(Disaggregation, TransfersOfANodeShareItsLink) {
  const Scenario machine = pair(1e9, 2, 1);
  const RunResult result = run(machine, prompts({{0, 1000, 2}, {0, 1000, 2}}));
  // Both prompts are computed concurrently on one node each, and their KV shares one link.
  const double both_s = kLatency_s + 2 * 1000 * kTokenBytes / 1e9;
  for (const TurnRecord& turn : result.turns) EXPECT_NEAR(turn.transfer_s, both_s, 1e-6);
  const Scenario apart = pair(1e9, 2, 2);
  const RunResult free = run(apart, prompts({{0, 1000, 2}, {0, 1000, 2}}));
  for (const TurnRecord& turn : free.turns) EXPECT_NEAR(turn.transfer_s, (both_s + kLatency_s) / 2, 1e-6);
}

TEST(Disaggregation, NvlinkHasTheGpusOwnRate) {
  Scenario machine = pair(1e9);
  machine.hardware.gpu.count = 2;
  machine.serving.tensor_parallel_size = 2;
  machine.hardware.nvlink = Nvlink{.bandwidth_bytes_per_s = 50e9, .latency_s = 1e-5};
  machine.fleet.disaggregation->link = TransferLink::nvlink;
  const RunResult result = run(machine, prompts({{0, 1000, 2}}));
  EXPECT_NEAR(result.turns.front().transfer_s, 1e-5 + 1000 * kTokenBytes / (2 * 50e9), kNear_s);
}

TEST(Disaggregation, EveryGpuGetsTheKvThatItKeeps) {
  ModelSpec model = llama_3_8b();  // 8 KV heads of 128: 32 x 2 x 8 x 128 x 2 bytes per token
  EXPECT_EQ(handover_plan({}, model, 1, {}).bytes(3), 3 * 131072);
  EXPECT_EQ(handover_plan({}, model, 8, {}).bytes(3), 3 * 131072);
  EXPECT_EQ(handover_plan({}, model, 16, {}).bytes(3), 2 * 3 * 131072);  // two GPUs per head
  EXPECT_EQ(handover_plan({}, model, 1, {}).last_bytes(500, 100), 0);
}

TEST(Disaggregation, OfAWindowOnlyItsTokensMove) {
  HandoverPlan plan;
  plan.gpus = 2;
  plan.kinds = {{.rule = KvRule::all, .layers = 3, .bytes_per_token = 10},
                {.rule = KvRule::window, .layers = 5, .tokens = 100, .bytes_per_token = 7},
                {.rule = KvRule::chunk, .layers = 1, .tokens = 64, .bytes_per_token = 9},
                {.rule = KvRule::checkpoint, .layers = 4, .state_bytes = 1000}};
  EXPECT_EQ(plan.bytes(20), 2 * 3 * 20 * 10);
  // A prompt of 130 tokens has 100 in the window, 2 in the last chunk, and the states.
  EXPECT_EQ(plan.last_bytes(130, 130), 2 * (5 * 100 * 7 + 2 * 9 + 4 * 1000));
  EXPECT_EQ(plan.last_bytes(130, 30), 2 * (5 * 30 * 7 + 2 * 9 + 4 * 1000));
  EXPECT_EQ(plan.last_bytes(128, 128), 2 * (5 * 100 * 7 + 64 * 9 + 4 * 1000));
}

// ---- who waits ----

// A full decode node leaves the next prompt's blocks on its prefill node, where a third prompt lacks them.
TEST(Disaggregation, AFullDecodeNodeLeavesThePromptWhereItWasComputed) {
  Scenario machine = pair(10e9);
  machine.serving.kv_capacity_tokens = 640;
  machine.serving.admission = Admission::reserve_output;
  const RunResult result = run(machine, prompts({{0, 500, 100}, {0, 500, 100}, {0, 500, 100}}));
  const auto prefilled_s = [&](std::size_t i) {
    const TurnRecord& turn = result.turns[i];
    return turn.ttft_s - turn.first_step_s - turn.transfer_s - turn.decode_queue_s;
  };
  const TurnRecord& first = result.turns[0];
  const TurnRecord& second = result.turns[1];
  const TurnRecord& third = result.turns[2];
  EXPECT_EQ(first.decode_queue_s, 0);
  // The second prompt begins when the first one's KV has moved, and moves when the first turn ends.
  const double prefill_s = Machine(machine, 0, 0).cost().prefill_s({500, 0});
  EXPECT_NEAR(prefilled_s(1), prefilled_s(0) + first.transfer_s + prefill_s, 1e-6);
  EXPECT_NEAR(prefilled_s(1) + second.decode_queue_s, first.e2el_s, 1e-6);
  EXPECT_NEAR(prefilled_s(2), first.e2el_s + second.transfer_s + prefill_s, 1e-6);
  EXPECT_NEAR(prefilled_s(2) + third.decode_queue_s, second.e2el_s, 1e-6);
  EXPECT_NEAR(result.number("ttft_breakdown_ms.decode_queue"),
              1e3 * (second.decode_queue_s + third.decode_queue_s) / 3, 1e-3);
}

// The decode node has one sequence slot, which is occupied for more than a second.
TEST(Disaggregation, AnExpiredLeaseSendsThePromptToBeComputedAgain) {
  Scenario machine = pair(10e9);
  machine.fleet.disaggregation->decode.max_num_seqs = 1;
  const Workload workload = prompts({{0, 500, 200}, {0.3, 500, 20}});
  const RunResult unleased = run(machine, workload);
  const double waits_s = unleased.turns[1].decode_queue_s;
  ASSERT_GT(waits_s, 1);
  Scenario longer = machine, shorter = machine;
  longer.fleet.disaggregation->lease_s = waits_s + 0.001;
  shorter.fleet.disaggregation->lease_s = waits_s - 0.001;
  const std::vector<RunResult> runs = run_all({{longer, workload}, {shorter, workload}});
  EXPECT_EQ(number(runs[0], "transfers_given_up"), 0);
  EXPECT_NEAR(runs[0].turns[1].ttft_s, unleased.turns[1].ttft_s, kNear_s);
  EXPECT_EQ(number(runs[1], "transfers_given_up"), 1);
  EXPECT_EQ(number(runs[1], "transfers"), 1);
  // Instead of the transfer and the prompt's last token, the whole prompt is computed.
  const double transfer_s = kLatency_s + 500 * kTokenBytes / 10e9;
  const Machine parts(machine, 0, 0);
  const double again_s = parts.cost().prefill_s({500, 0}) - parts.cost().prefill_s({1, 499}) - transfer_s;
  EXPECT_NEAR(runs[1].turns[1].ttft_s, unleased.turns[1].ttft_s + again_s, 1e-6);
}

// With push, the decode node's blocks are reserved before the prompt is computed.
TEST(Disaggregation, BlocksThatAreReservedBeforeNobodyWaitsFor) {
  const Workload workload = prompts({{0, 3000, 4}, {0.01, 2000, 4}});
  const Scenario machine = pushing(pair(1e9), TransferGranularity::end);
  const RunResult result = run(machine, workload);
  for (const TurnRecord& turn : result.turns) EXPECT_EQ(turn.decode_queue_s, 0);
  EXPECT_GT(result.turns[1].transfer_s, 2000 * kTokenBytes / 1e9);  // after the first one's transfer
}

// A preempted turn on the decode node waits for blocks that are reserved for a prompt. That prompt must not
// wait for blocks on its own node that belong to a turn queued after the preempted one.
TEST(Disaggregation, WhoPushesNeverWaitsForItself) {
  std::vector<Case> cases;
  reference::Dice dice(11);
  for (int i = 0; i < 40; ++i) {
    Scenario machine = pushing(pair(20e9), TransferGranularity::layerwise);
    machine.policy.name = "kv_offload";
    machine.policy.tiers = {{.kind = Tier::ssd}};
    machine.hardware.ssd->count = 1;
    machine.serving.max_model_len = 1500;
    machine.serving.kv_capacity_tokens = dice.between(1600, 3500);
    machine.fleet.disaggregation->decode.max_num_seqs = dice.between(2, 8);
    cases.push_back({machine, chats(40, 4, static_cast<uint64_t>(i), 1)});
  }
  double preempted = 0;
  for (const RunResult& result : run_all(cases)) {
    EXPECT_EQ(number(result, "transfers"), result.number("completed"));
    preempted += result.number("preemptions");
  }
  EXPECT_GT(preempted, 100);
}

TEST(Disaggregation, PoolsHaveBatchesOfTheirOwn) {
  Scenario machine = pair(10e9);
  machine.fleet.disaggregation->prefill.max_num_batched_tokens = 250;
  const RunResult result = run(machine, prompts({{0, 1000, 2}}));
  const Machine parts(machine, 0, 0);
  double prefill_s = 0;
  for (int64_t first = 0; first < 1000; first += 250) prefill_s += parts.cost().prefill_s({250, first});
  prefill_s -= 3 * parts.cost().head_s(1);
  EXPECT_NEAR(result.number("ttft_breakdown_ms.prefill"), 1e3 * prefill_s, 1e-2);
}

// ---- pools of different parallelism ----

TEST(Disaggregation, EachPoolHasItsOwnGpusAndTheSlowerEndSetsTheRate) {
  Scenario machine = pair(16e9);
  machine.hardware.gpu.count = 4;
  machine.hardware.gpu.price_usd_per_hour = 2;
  machine.hardware.nvlink = Nvlink{.bandwidth_bytes_per_s = 100e9, .latency_s = 1e-5};
  machine.hardware.nic->count = 4;  // 8e9 bytes/s each
  machine.fleet.replicas = 3;
  machine.fleet.disaggregation->prefill_replicas = 2;
  machine.fleet.disaggregation->decode.tensor_parallel_size = 4;
  machine.fleet.disaggregation->prefill.tensor_parallel_size = 2;
  const Workload workload = prompts({{0, 1000, 5}});
  const RunResult result = run(machine, workload);
  const Scenario prefill = prefill_scenario(machine), decode = decode_scenario(machine);
  const double prefill_s = Machine(prefill, 0, 0).cost().prefill_s({1000, 0});
  const double step_s = Machine(decode, 0, 0).cost().prefill_s({1, 999});
  // The prefill node is half the machine and sends at half the rate of its NICs.
  const double transfer_s = kLatency_s + 1000 * kTokenBytes / 16e9;
  EXPECT_EQ(prefill.hardware.gpu.count, 2);
  EXPECT_EQ(prefill.hardware.dram->capacity_bytes, machine.hardware.dram->capacity_bytes / 2);
  EXPECT_EQ(decode.hardware.gpu.count, 4);
  EXPECT_NEAR(result.turns.front().ttft_s, prefill_s + transfer_s + step_s, kNear_s);
  EXPECT_NEAR(result.turns.front().transfer_s, transfer_s, kNear_s);
  // Eight GPUs at 2 $ per hour. The four SSDs of a node cost 1.312 $: half of them are billed for each of the
  // two prefill nodes, which are half a machine, and all of them for the decode node, which stores nothing.
  EXPECT_NEAR(result.number("cost.usd_per_hour"), 8 * 2 + (0.5 + 0.5 + 1) * 1.312, 1e-9);
}

TEST(Disaggregation, RanksOfAPoolDivideItsNodeAndItsTurns) {
  Scenario machine = pair(16e9);
  machine.hardware.gpu.count = 2;
  machine.fleet.disaggregation->decode.data_parallel_size = 2;
  const RunResult result = run(machine, prompts({{0, 1000, 200}, {1, 1000, 200}}));
  // One prefill engine, and two decode ranks with a turn each, which get half the NICs' rate.
  EXPECT_EQ(result.turns[0].node, 1);
  EXPECT_EQ(result.turns[1].node, 2);
  EXPECT_NEAR(result.turns[1].transfer_s, kLatency_s + 1000 * kTokenBytes / 8e9, kNear_s);
  EXPECT_NEAR(result.turns[0].e2el_s, result.turns[1].e2el_s, 1e-6);
}

TEST(Disaggregation, TheDraftersKvMovesWithThePrompt) {
  Scenario machine = pair(10e9);
  machine.serving.speculative = SpeculativeOptions{
      .method = DraftMethod::layers, .draft_tokens = 3, .acceptance_length = 4, .draft_layers = 2};
  const RunResult result = run(machine, prompts({{0, 1000, 21}}));
  EXPECT_EQ(number(result, "transfer_bytes"), 1000 * kTokenBytes * 34 / 32);
  // After the first token, five steps of four tokens each.
  Scenario alone = machine;
  alone.fleet = {};
  const RunResult together = run(alone, prompts({{0, 1000, 21}}));
  EXPECT_NEAR(result.turns[0].e2el_s - result.turns[0].ttft_s,
              together.turns[0].e2el_s - together.turns[0].ttft_s, kNear_s);
}

// ---- failures ----

// Times of a lone turn of 1,000 + 50 tokens: while its prompt is computed, moves, and is answered.
struct Stages {
  double prefilling_s, moving_s, decoding_s;
};
Stages stages(const Scenario& machine) {
  const TurnRecord turn = run(machine, prompts({{0, 1000, 50}})).turns.front();
  const double prefilled_s = turn.ttft_s - turn.first_step_s - turn.transfer_s;
  return {prefilled_s / 2, prefilled_s + turn.transfer_s / 2, (turn.ttft_s + turn.e2el_s) / 2};
}

TEST(Disaggregation, ATurnWhoseNodeFailsStartsOverOnAnotherOne) {
  for (const bool pushes : {false, true}) {
    Scenario machine = pair(1e9, 2, 2);
    if (pushes) machine = pushing(machine, TransferGranularity::layerwise);
    const Workload workload = prompts({{0, 1000, 50}});
    const RunResult whole = run(machine, workload);
    const double ttft_s = whole.turns.front().ttft_s;
    const auto [prefilling_s, moving_s, decoding_s] = stages(machine);
    const auto failing = [&](int64_t replica, double at_s) {
      Scenario one = machine;
      one.fleet.failures = {{.replica = replica, .at_s = at_s, .down_s = 1000}};
      return run(one, workload);
    };
    // Session affinity: nodes 0 and 2. What the failing node had to do, it no longer has once it is done.
    const std::vector<std::tuple<int64_t, double, bool>> cases = {
        {0, prefilling_s, true}, {0, moving_s, true},   {0, decoding_s, false},
        {2, moving_s, true},     {2, decoding_s, true}, {2, prefilling_s, false}};
    for (const auto& [replica, at_s, starts_over] : cases) {
      SCOPED_TRACE(std::to_string(replica) + " at " + std::to_string(at_s) + (pushes ? ", push" : ", pull"));
      const RunResult result = failing(replica, at_s);
      const TurnRecord& turn = result.turns.front();
      const bool is_prompt_again = starts_over || (pushes && replica == 2 && at_s == prefilling_s);
      EXPECT_EQ(turn.retries, is_prompt_again ? 1 : 0);
      if (starts_over) {
        EXPECT_NEAR(turn.ttft_s, at_s + ttft_s, 1e-6);
        EXPECT_NEAR(turn.e2el_s, at_s + whole.turns.front().e2el_s, 1e-6);
      }
      EXPECT_EQ(result.number("completed"), 1);
    }
  }
}

TEST(Disaggregation, PromptsWaitWhileNoDecodeNodeIsUp) {
  Scenario machine = pair(10e9);
  machine.fleet.failures = {{.replica = 1, .at_s = 0.001, .down_s = 20}};
  const Workload workload = prompts({{1, 1000, 5}, {2, 500, 5}});
  const RunResult result = run(machine, workload);
  Scenario whole = machine;
  whole.fleet.failures = {};
  const double transfer_s = run(whole, workload).turns.front().transfer_s;
  EXPECT_NEAR(result.turns[0].ttft_s, 20.001 - 1 + transfer_s + result.turns[0].first_step_s, 1e-6);
  EXPECT_EQ(result.number("retried"), 0);
}

// ---- an event at a time ----

struct RandomPair {
  reference::PairOptions options;
  std::vector<reference::PairRequest> requests;
};

RandomPair random_pair(uint64_t number) {
  reference::Dice dice(number);
  RandomPair one;
  one.options = {.blocks = dice.between(40, 200),
                 .max_num_seqs = dice.between(1, 6),
                 .max_num_batched_tokens = dice.between(8, 300),
                 .step_s = dice.within(0.005, 0.02),
                 .step_per_sequence_s = dice.within(0, 0.004),
                 .latency_s = dice.within(0, 0.01),
                 .s_per_token = std::pow(10, dice.within(-6, -3.5))};
  double now_s = 0;
  for (int64_t i = dice.between(1, 25); i > 0; --i) {
    one.requests.push_back({now_s, dice.between(1, 500), dice.between(1, 60)});
    now_s += dice.within(0, 0.4);
  }
  return one;
}

TEST(Disaggregation, EveryDateIsThatOfTheLiteralPair) {
  constexpr uint64_t kCases = 150;
  std::vector<Case> cases;
  std::vector<RandomPair> pairs;
  for (uint64_t number = 1; number <= kCases; ++number) {
    const RandomPair& one = pairs.emplace_back(random_pair(number));
    Scenario machine = pair(kTokenBytes / one.options.s_per_token);
    // Only the host takes time: the GPU takes less than 1e-9 s for any work.
    machine.hardware.gpu.peak_flops = machine.hardware.gpu.memory_bandwidth_bytes_per_s = 1e30;
    machine.hardware.nic->latency_s = one.options.latency_s;
    machine.serving.admission = Admission::reserve_output;
    machine.serving.kv_capacity_tokens = 16 * one.options.blocks;
    machine.serving.max_num_seqs = one.options.max_num_seqs;
    machine.serving.max_num_batched_tokens = one.options.max_num_batched_tokens;
    machine.serving.step_overhead_s = one.options.step_s;
    machine.serving.step_overhead_per_sequence_s = one.options.step_per_sequence_s;
    std::vector<Prompt> list;
    for (const reference::PairRequest& request : one.requests) {
      list.push_back({request.arrival_s, static_cast<uint32_t>(request.prompt_tokens),
                      static_cast<uint32_t>(request.output_tokens)});
    }
    cases.push_back({machine, prompts(list)});
  }
  const std::vector<RunResult> runs = run_all(cases);
  int64_t waited = 0, turns = 0;
  for (std::size_t i = 0; i < runs.size() && !testing::Test::HasFailure(); ++i) {
    const std::vector<reference::PairOutcome> literal = run_literally(pairs[i].options, pairs[i].requests);
    ASSERT_EQ(runs[i].turns.size(), literal.size());
    for (const TurnRecord& turn : runs[i].turns) {
      const reference::PairOutcome& expected = literal[turn.session];
      SCOPED_TRACE("case " + std::to_string(i + 1) + ", turn " + std::to_string(turn.session));
      const double ready_s = std::max(expected.prefilled_s, expected.admitted_s);
      EXPECT_NEAR(turn.arrival_s + turn.ttft_s, expected.first_token_s, 1e-6);
      EXPECT_NEAR(turn.arrival_s + turn.e2el_s, expected.last_token_s, 1e-6);
      EXPECT_NEAR(turn.decode_queue_s, ready_s - expected.prefilled_s, 1e-5);
      EXPECT_NEAR(turn.transfer_s, expected.arrived_s - ready_s, 1e-6);
      ++turns;
      waited += turn.decode_queue_s > 0.1F;
    }
  }
  EXPECT_GT(turns, 1000);
  EXPECT_GT(waited, 100);
}

// ---- whatever is asked of it ----

TEST(Disaggregation, EachTurnIsAnsweredOnceAndTheSameEachTime) {
  std::vector<Case> cases;
  for (const char* policy : {"recompute", "kv_offload", "hcache", "cached_attention", "ideal", "adaptive"}) {
    for (const KvTransfer transfer : {KvTransfer::pull, KvTransfer::push}) {
      Scenario machine = pair(5e9, 2, 3);
      machine.policy.name = policy;
      machine.policy.tiers = {{.kind = Tier::dram}, {.kind = Tier::ssd}};
      machine.serving.prefix_caching = machine.serving.async_scheduling = transfer == KvTransfer::push;
      machine.serving.kv_capacity_tokens = 9000;
      machine.fleet.routing =
          transfer == KvTransfer::push ? Routing::prefix_aware : Routing::session_affinity;
      if (transfer == KvTransfer::push) machine = pushing(machine, TransferGranularity::layerwise);
      cases.push_back({machine, chats(80, 1)});
    }
  }
  const std::vector<RunResult> runs = run_all(cases);
  const std::vector<RunResult> again = run_all(cases);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    SCOPED_TRACE(i);
    std::set<std::pair<uint32_t, uint32_t>> seen;
    for (const TurnRecord& turn : runs[i].turns) {
      EXPECT_TRUE(seen.insert({turn.session, turn.turn}).second);
      EXPECT_GE(turn.node, 2);
    }
    EXPECT_EQ(seen.size(), cases[i].workload.turns.size());
    EXPECT_EQ(runs[i].number("rejected"), 0);
    EXPECT_EQ(number(runs[i], "transfers"), static_cast<double>(seen.size()));
    EXPECT_GT(runs[i].number("utilization.nic"), 0);
    EXPECT_EQ(serialize(runs[i]), serialize(again[i]));
  }
}

TEST(Disaggregation, PreemptedTurnsComputeTheirPromptsOnTheDecodeNode) {
  Scenario machine = pair(20e9, 1, 1);
  machine.serving.kv_capacity_tokens = 2000;
  std::vector<Prompt> list;
  for (int i = 0; i < 12; ++i) list.push_back({0.05 * i, 200, 400});
  const RunResult result = run(machine, prompts(list));
  EXPECT_GT(result.number("preemptions"), 3);
  EXPECT_EQ(number(result, "transfers"), 12);
  EXPECT_EQ(number(result, "transfer_bytes"), 12 * 200 * kTokenBytes);
}

TEST(Disaggregation, TheGpusOfBothPoolsArePaidAndMeasured) {
  const Scenario machine = pair(20e9, 1, 3);
  Scenario together = machine;
  together.fleet.disaggregation = std::nullopt;
  const Workload workload = chats(60, 0.5);
  const std::vector<RunResult> runs = run_all({{machine, workload}, {together, workload}});
  for (const RunResult& run : runs)
    EXPECT_NEAR(run.number("cost.gpu_usd"), 4 * 5 * run.number("duration") / 3600, 1e-9);
  EXPECT_NEAR(
      runs[0].number("utilization.gpu"),
      (number(runs[0], "prefill_gpu_utilization") + 3 * number(runs[0], "decode_gpu_utilization")) / 4, 1e-9);
  EXPECT_GT(number(runs[0], "prefill_gpu_utilization"), 0);
  EXPECT_GT(number(runs[0], "decode_gpu_utilization"), 0);
  EXPECT_TRUE(std::isnan(number(runs[1], "transfers")));
  EXPECT_TRUE(std::isnan(runs[1].number("utilization.nic")));
}

// A turn that fits into only one of the pools is refused on arrival.
TEST(Disaggregation, WhatNoDecodeNodeCanHoldIsRefused) {
  Scenario machine = pair(20e9);
  machine.serving.kv_capacity_tokens = 640;
  const RunResult result = run(machine, prompts({{0, 600, 40}, {1, 600, 42}}));
  EXPECT_FALSE(result.turns[0].rejected);
  EXPECT_TRUE(result.turns[1].rejected);
}

}  // namespace
}  // namespace kvcap::laws::disaggregation_laws_test
