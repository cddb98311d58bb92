// Laws of pipeline parallelism: when the batches of an engine leave its stages.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/pipeline.h"
#include "laws/machines.h"

namespace kvcap::laws::pipeline_laws_test {
namespace {

// Returns an engine with `stages` GPUs of 80 GB, one per stage.
Scenario staged(int64_t stages, const std::string& policy = "recompute") {
  Scenario result = scenario(policy);
  result.hardware.gpu.count = stages;
  result.hardware.gpu.memory_bytes = 80e9;
  result.hardware.nvlink = Nvlink{300e9, 5e-6};
  result.serving.pipeline_parallel_size = stages;
  return result;
}

struct Times {
  double layers_s = 0, head_s = 0, send_s = 0;
};

// Returns the times of a slice of a prompt.
Times times_of(const Scenario& scenario, PrefillChunk chunk, int64_t sampled) {
  const CostModel cost(scenario.model, scenario.hardware, 1);
  const auto bytes = static_cast<double>(chunk.new_tokens) * scenario.model.hidden_bytes_per_token_layer();
  return {32 * cost.prefill_layer_s(chunk), cost.head_s(sampled), cost.send_s(2 * bytes)};
}

// Returns `count` sessions of one turn, all at time 0.
Workload prompts(int64_t count, uint32_t input_tokens, uint32_t output_tokens) {
  Workload workload;
  for (int64_t i = 0; i < count; ++i) {
    workload.sessions.push_back({.first_turn = static_cast<uint32_t>(i), .turn_count = 1});
    workload.turns.push_back({.input_tokens = input_tokens, .output_tokens = output_tokens});
  }
  return workload;
}

TEST(PipelineStages, SendTheHiddenStatesAndTheResidualOfALoneRequest) {
  const Scenario four = staged(4);
  const TurnRecord turn = run(four, prompts(1, 1000, 2)).turns[0];
  const Times prompt = times_of(four, {1000, 0}, 1);
  EXPECT_NEAR(turn.ttft_s, prompt.layers_s + 3 * prompt.send_s + prompt.head_s, 1e-8);
  // 1,000 rows of 4,096 elements, 2 bytes each, twice: half of an all-gather between two GPUs.
  EXPECT_NEAR(prompt.send_s, 2 * 1000 * 4096 * 2 / 300e9 + 5e-6, 1e-12);
  const CostModel cost(four.model, four.hardware, 1);
  const double row_send_s = 2 * 4096 * 2 / 300e9 + 5e-6;
  EXPECT_NEAR(turn.e2el_s - turn.ttft_s, cost.decode_step_s(1, 1001) + 3 * row_send_s, 1e-8);
}

TEST(PipelineStages, ComputeTheSlicesOfAPromptOneAfterTheOther) {
  // The second slice enters the first stage when the first one leaves it.
  Scenario two = staged(2);
  two.serving.max_num_batched_tokens = 1000;
  const double ttft_s = run(two, prompts(1, 2000, 1)).turns[0].ttft_s;
  const Times first = times_of(two, {1000, 0}, 0), second = times_of(two, {1000, 1000}, 1);
  const double entered_s = first.layers_s / 2 + second.layers_s / 2;
  const double left_s = first.layers_s / 2 + first.send_s + first.layers_s / 2;
  EXPECT_NEAR(ttft_s, std::max(entered_s + second.send_s, left_s) + second.layers_s / 2 + second.head_s,
              1e-8);
}

TEST(PipelineStages, HaveAtMostAsManyBatchesAsStages) {
  // Prompts that fill a step: batch k enters when the one before it has left the first stage and batch k - 2
  // has left the last one.
  Scenario two = staged(2);
  two.serving.max_num_batched_tokens = 1000;
  two.serving.max_num_seqs = 1000;
  const RunResult result = run(two, prompts(20, 1000, 1));
  const Times prompt = times_of(two, {1000, 0}, 1);
  std::vector<double> left_s = {0, 0};
  double first_s = 0;
  for (std::size_t k = 0; k < 20; ++k) {
    first_s = std::max(first_s, left_s[k]) + prompt.layers_s / 2;
    left_s.push_back(std::max(first_s + prompt.send_s, left_s[k + 1]) + prompt.layers_s / 2 + prompt.head_s);
    EXPECT_NEAR(result.turns[k].ttft_s, left_s.back(), 1e-8) << k;
  }
  // One engine of all layers takes almost twice as long.
  EXPECT_NEAR(20 * (prompt.layers_s + prompt.head_s) / left_s.back(), 1.9, 0.06);
  EXPECT_GT(result.number("utilization.gpu"), 0.93);
  EXPECT_LE(result.number("utilization.gpu"), 1);
}

TEST(PipelineStages, ComputeASequenceInOneBatchAtATime) {
  // Two prompts of two batches: each then decodes in turn, and the stages are busy with both.
  Scenario two = staged(2);
  two.serving.max_num_batched_tokens = 1000;
  const RunResult both = run(two, prompts(2, 1000, 200));
  const RunResult alone = run(two, prompts(1, 1000, 200));
  const auto decode_s = [](const TurnRecord& turn) { return turn.e2el_s - turn.ttft_s; };
  EXPECT_NEAR(decode_s(both.turns[1]) / decode_s(alone.turns[0]), 1, 0.05);
  EXPECT_NEAR(both.number("utilization.gpu") / alone.number("utilization.gpu"), 2, 0.1);
}

TEST(PipelineStages, KeepEveryInvariantWhenRequestsArePreempted) {
  for (const int64_t stages : {2, 3, 4}) {
    for (const bool caches : {false, true}) {
      Scenario some = staged(stages);
      some.serving.max_num_batched_tokens = 96;
      some.serving.kv_capacity_tokens = 3000;
      some.serving.max_model_len = 2500;
      some.serving.admission = Admission::chunk;
      some.serving.prefix_caching = caches;
      const RunResult result = run(some, chats(60, 20, 7, 1));
      EXPECT_EQ(result.turn_count, static_cast<int64_t>(result.turns.size()));
      EXPECT_GT(result.number("preemptions"), 0) << stages;
    }
  }
}

// Returns an engine whose KV is scarce, so that contexts are loaded and requests preempted.
Scenario scarce(int64_t stages, const std::string& policy) {
  Scenario some = staged(stages, policy);
  some.serving.max_num_batched_tokens = 200;
  some.serving.kv_capacity_tokens = 4000;
  some.serving.max_model_len = 2500;
  some.serving.admission = Admission::chunk;
  some.serving.prefix_caching = true;
  some.serving.async_scheduling = true;
  if (policy != "recompute") some.policy.tiers = {{.kind = Tier::dram}};
  return some;
}

TEST(PipelineStages, KeepEveryInvariantWithTiersImpatientClientsAndFailures) {
  for (const std::string policy : {"recompute", "kv_offload", "vllm_offload", "lmcache", "lmcache_mp"}) {
    for (const int64_t stages : {2, 3}) {
      const Scenario some = scarce(stages, policy);
      Workload workload = chats(60, 10, 3, 1);
      const auto turns = static_cast<double>(workload.turns.size());
      EXPECT_EQ(run(some, workload).number("completed"), turns) << policy << stages;
      workload.clients = {.timeout_s = 3, .retries = {}};
      const RunResult impatient = run(some, workload);
      EXPECT_GT(impatient.number("abandoned"), 0) << policy << stages;
      EXPECT_EQ(impatient.number("completed") + impatient.number("failed"), turns) << policy << stages;
      Scenario two = some;
      two.fleet.replicas = 2;
      two.fleet.failures = {{.replica = 1, .at_s = 2, .down_s = 1}};
      EXPECT_EQ(run(two, chats(60, 10, 3, 1)).number("completed"), turns) << policy << stages;
    }
  }
}

// Four GPUs with one KV head: blocks of 64 tokens, and contexts that a tier keeps once.
TEST(DividedContexts, KeepEveryInvariantWithTiersInStages) {
  for (const std::string policy : {"recompute", "kv_offload", "vllm_offload", "lmcache"}) {
    std::vector<double> read_bytes;
    for (const int64_t parts : {1, 4}) {
      Scenario some = scarce(2, policy);
      some.hardware.gpu.count = 8;
      some.model.num_key_value_heads = 1;
      some.serving.tensor_parallel_size = 4;
      some.serving.decode_context_parallel_size = parts;
      const Workload workload = chats(60, 10, 3, 1);
      const RunResult result = run(some, workload);
      EXPECT_EQ(result.number("completed"), static_cast<double>(workload.turns.size())) << policy;
      read_bytes.push_back(policy == "recompute" ? 4.0 / static_cast<double>(parts)
                                                 : result.number("read_bytes.dram"));
    }
    EXPECT_NEAR(read_bytes[0] / read_bytes[1], 4, 1) << policy;
  }
}

TEST(PipelineStages, LoadTheirLayersOverTheirOwnLinks) {
  // A context of 8,000 tokens from DRAM: two GPUs have twice the PCIe bandwidth of one.
  const auto load_s = [](int64_t stages) {
    Scenario some = staged(stages, "kv_offload");
    some.policy.tiers = {{.kind = Tier::dram}};
    const RunResult result = run(some, one_turn(8000, 100));
    const Times rest = times_of(some, {100, 8000}, 1);
    return result.turns[0].ttft_s - rest.layers_s - rest.head_s -
           static_cast<double>(stages - 1) * rest.send_s;
  };
  EXPECT_NEAR(load_s(1) / load_s(2), 2, 0.01);
}

TEST(PipelineStages, EndEveryTurnAtTheTimeOfTheFormulaWhateverTheNumber) {
  // Stages of 11, 11 and 10 layers: the one with the most layers determines the rate.
  Scenario three = staged(3);
  three.serving.max_num_batched_tokens = 1000;
  const RunResult result = run(three, prompts(10, 1000, 1));
  const Times prompt = times_of(three, {1000, 0}, 1);
  const double shares[] = {11.0 / 32, 11.0 / 32, 10.0 / 32};
  std::vector<double> last_s(3, 0);  // of the batches so far, from the fourth element on
  double free_s[] = {0, 0, 0};
  for (std::size_t k = 0; k < 10; ++k) {
    double now_s = std::max(free_s[0], last_s[k]);
    for (int stage = 0; stage < 3; ++stage) {
      const double sent_s = stage > 0 ? prompt.send_s : 0, head_s = stage == 2 ? prompt.head_s : 0;
      now_s = std::max(now_s + sent_s, free_s[stage]) + shares[stage] * prompt.layers_s + head_s;
      free_s[stage] = now_s;
    }
    last_s.push_back(now_s);
    EXPECT_NEAR(result.turns[k].ttft_s, now_s, 1e-8) << k;
  }
}

}  // namespace
}  // namespace kvcap::laws::pipeline_laws_test
