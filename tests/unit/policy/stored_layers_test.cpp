// What is kept in fewer bits: bytes, times, and what stays as it was.
#include "policy/stored_layers.h"

#include <gtest/gtest.h>

#include "laws/machines.h"
#include "run/machine.h"

namespace kvcap::stored_layers_test {
namespace {

using laws::a100;
using laws::chats;
using laws::llama_2_7b;
using laws::one_turn;
using laws::run_all;
using laws::scenario;

struct Kept {
  double hidden_bytes, kv_bytes;
};

Kept kept(const ModelSpec& model, int64_t bits) {
  const CostModel cost(model, a100(), 1);
  const StoredLayers layers(cost, bits);
  return {layers.hidden_bytes(), layers.kv_bytes()};
}

TEST(StoredLayers, TakeTheirBitsAndAScaleAndAZeroPointForEach64Elements) {
  // 4096 elements of hidden state, 8192 of KV; 8 + 32/64 = 8.5 bits, 4 + 32/64 = 4.5 bits
  EXPECT_EQ(kept(llama_2_7b(), 16).hidden_bytes, 8192);
  EXPECT_EQ(kept(llama_2_7b(), 16).kv_bytes, 16384);
  EXPECT_EQ(kept(llama_2_7b(), 8).hidden_bytes, 4096 * 8.5 / 8);
  EXPECT_EQ(kept(llama_2_7b(), 8).kv_bytes, 8192 * 8.5 / 8);
  EXPECT_EQ(kept(llama_2_7b(), 4).hidden_bytes, 4096 * 4.5 / 8);
  EXPECT_EQ(kept(llama_2_7b(), 4).kv_bytes, 8192 * 4.5 / 8);
}

TEST(StoredLayers, StayAsTheyAreWhereTheModelHasNoMoreBits) {
  ModelSpec model = llama_2_7b();
  model.kv_bytes_per_element = 1;
  EXPECT_EQ(kept(model, 16).kv_bytes, 8192);
  EXPECT_EQ(kept(model, 8).kv_bytes, 8192);
  EXPECT_EQ(kept(model, 4).kv_bytes, 8192 * 4.5 / 8);
  EXPECT_EQ(kept(model, 8).hidden_bytes, 4096 * 8.5 / 8);
  model.hidden_bytes_per_element = 4;
  EXPECT_EQ(kept(model, 16).hidden_bytes, 16384);
}

TEST(StoredLayers, HoldEveryCopyThatAGroupHasUnlessTheyAreStoredOnce) {
  HardwareProfile hardware = a100();
  hardware.gpu.count = 8;
  ModelSpec model = llama_2_7b();
  model.num_key_value_heads = 2;
  // Two heads on eight GPUs, one on each: four copies of 2 x 2 x 128 elements of two bytes.
  const CostModel grouped(model, hardware, 8);
  EXPECT_EQ(StoredLayers(grouped, 16, false).kv_bytes(), 4 * 1024);
  EXPECT_EQ(StoredLayers(grouped, 16, true).kv_bytes(), 1024);
  // A latent and its rotary key are on all of them.
  model.latent = LatentAttention{.kv_lora_rank = 512, .qk_rope_head_dim = 64};
  const CostModel latent(model, hardware, 8);
  EXPECT_EQ(StoredLayers(latent, 16, false).kv_bytes(), 8 * 576 * 2);
  // With parts of the tokens in place of copies: two of four, and none.
  EXPECT_EQ(StoredLayers(CostModel(model, hardware, 8, {}, 2), 16, false).kv_bytes(), 4 * 576 * 2);
  EXPECT_EQ(StoredLayers(CostModel(model, hardware, 8, {}, 8), 16, false).kv_bytes(), 576 * 2);
  EXPECT_EQ(StoredLayers(CostModel(model, hardware, 8, {}, 8), 16, true).kv_bytes(), 576 * 2);
}

TEST(StoredLayers, LoadTheChunksOfEveryHitOfATier) {
  const CostModel cost(llama_2_7b(), a100(), 1);
  const std::vector<Hit> hits = {{.tier = Tier::ssd, .tokens = 64}, {.tier = Tier::ssd, .tokens = 100}};
  const LayerWork work = StoredLayers(cost, 16).kv(1, hits);
  EXPECT_EQ(work.load_requests[index(Tier::ssd)], 1 + 2);  // of 64 tokens
  EXPECT_EQ(work.load_bytes[index(Tier::ssd)], 164 * 16384);
}

// 600 of 1,000 tokens are found: each layer computes the other 400 and what is new, behind the 600.
TEST(KvOffload, ComputesWhatWasNotFoundBesideTheLoadsUpToTheBudgetOfAStep) {
  Scenario layerwise = scenario("kv_offload");
  layerwise.policy.preload = Preload::layerwise;
  layerwise.serving.max_num_batched_tokens = 512;
  const Machine machine(layerwise, 1000, 1000);
  const Hit hit{.tier = Tier::ssd, .tokens = 600};
  const auto restored = [&](int64_t new_tokens) {
    return machine.policy().restore({.history_tokens = 1000, .new_tokens = new_tokens}, {&hit, 1},
                                    machine.idle_rates());
  };
  const Restoration fused = restored(112);
  EXPECT_TRUE(fused.fused);
  EXPECT_DOUBLE_EQ(fused.work[0].compute_s, machine.cost().prefill_layer_s({512, 600}));
  EXPECT_FALSE(restored(113).fused);
  EXPECT_EQ(machine.policy().save_requests(100), 32 * 2);
}

TEST(StoredLayers, AreExpandedByAnElementwiseKernelWhereTheProfileHasThose) {
  HardwareProfile hardware = a100();
  const Hit hit{.tier = Tier::ssd, .tokens = 1000};
  {
    const CostModel cost(llama_2_7b(), hardware, 1);
    EXPECT_EQ(StoredLayers(cost, 8).kv(1, {&hit, 1}).compute_s, 0);
  }
  hardware.gpu.elementwise = Elementwise{.bandwidth_efficiency = 0.8, .constant_s = 2e-6};
  const CostModel cost(llama_2_7b(), hardware, 1);
  // reads 1000 x 8704 bytes, writes 1000 x 16384, at 0.8 x 1555 GB/s, and 2 us
  const double kv_s = 1000 * (8704.0 + 16384) / (0.8 * 1555e9) + 2e-6;
  EXPECT_DOUBLE_EQ(StoredLayers(cost, 8).kv(1, {&hit, 1}).compute_s, kv_s);
  const double hidden_s = 1000 * (4352.0 + 8192) / (0.8 * 1555e9) + 2e-6;
  EXPECT_DOUBLE_EQ(StoredLayers(cost, 8).hidden(1, {&hit, 1}).compute_s,
                   hidden_s + cost.project_kv_layer_s(1000));
  EXPECT_EQ(StoredLayers(cost, 16).kv(1, {&hit, 1}).compute_s, 0);
}

Scenario in_bits(Scenario scenario, int64_t bits) {
  scenario.policy.stored_bits = bits;
  return scenario;
}

const std::vector<std::string> kStoring = {"kv_offload", "hcache", "adaptive", "npu_copy"};

TEST(StoredBits, HalveTheBytesAndLeaveTheHits) {
  for (const std::string& policy : kStoring) {
    Scenario base = scenario(policy);
    base.policy.split = Split::hidden_only;  // one form whatever the bits
    const Workload workload = chats(60, 0.1);
    const std::vector<RunResult> runs =
        run_all({{base, workload}, {in_bits(base, 8), workload}, {in_bits(base, 4), workload}});
    for (std::size_t i : {1UL, 2UL}) {
      EXPECT_EQ(runs[i].number("hit_tokens.ssd"), runs[0].number("hit_tokens.ssd")) << policy;
      if (policy == "adaptive") continue;  // may keep other forms
      const double share = (i == 1 ? 8.5 : 4.5) / 16;
      for (const char* bytes : {"stored_bytes_per_token", "read_bytes.ssd", "written_bytes.ssd"}) {
        EXPECT_NEAR(runs[i].number(bytes), share * runs[0].number(bytes), 1e-9 * runs[0].number(bytes))
            << policy << " " << bytes;
      }
    }
  }
}

TEST(StoredBits, AreFasterOnASlowLink) {
  for (const std::string& policy : kStoring) {
    Scenario base = scenario(policy);
    base.hardware.ssd->count = 1;
    base.hardware.ssd->read_bandwidth_bytes_per_s = 2e9;
    base.hardware.gpu.elementwise = Elementwise{};
    const Workload turn = one_turn(3000, 64);
    const std::vector<RunResult> runs =
        run_all({{base, turn}, {in_bits(base, 8), turn}, {in_bits(base, 4), turn}});
    EXPECT_LT(runs[1].turns[0].ttft_s, runs[0].turns[0].ttft_s) << policy;
    EXPECT_LT(runs[2].turns[0].ttft_s, runs[1].turns[0].ttft_s) << policy;
  }
}

// 3,000 tokens x 32 layers x 8,704 bytes at 26 GB/s
TEST(StoredBits, LoadKvAsFastAsItsBytesSay) {
  const std::vector<RunResult> runs = run_all(
      {{in_bits(scenario("kv_offload"), 8), one_turn(3000, 64)}, {scenario("ideal"), one_turn(3000, 64)}});
  EXPECT_NEAR(runs[0].turns[0].ttft_s - runs[1].turns[0].ttft_s, 3000.0 * 32 * 8704 / 26e9, 1e-6);
}

TEST(StoredBits, SayThatAnswersChange) {
  for (const std::string& policy : kStoring) {
    const auto note = [&](int64_t bits) {
      return Machine(in_bits(scenario(policy), bits), 2000, 2000).policy().traits().quality_note;
    };
    EXPECT_EQ(note(16), "") << policy;
    EXPECT_NE(note(8).find("in 8 bits"), std::string::npos) << policy;
    EXPECT_NE(note(4).find("in 4 bits"), std::string::npos) << policy;
  }
}

}  // namespace
}  // namespace kvcap::stored_layers_test
