// HyperInfer and its baselines, asked directly: what a layer loads, in bytes done by hand.
#include <gtest/gtest.h>

#include "cost/identification.h"
#include "cost/importance.h"
#include "policy/table.h"
#include "unit/cost_examples.h"

namespace kvcap::hyperinfer_test {
namespace {

constexpr double kTokenBytes = 16384;  // keys and values of one token at one layer: 2 x 32 heads x 128 x 2
constexpr double kKeys = kTokenBytes / 2;
constexpr double kLayers = 4;
constexpr int64_t kFound = 1000;

class HyperInfer : public testing::Test {
 protected:
  HyperInfer() : model_(gpt(4096, 4)) {
    hardware_.gpu = {.count = 1,
                     .peak_flops = kPeakFlops,
                     .memory_bytes = 80e9,
                     .memory_bandwidth_bytes_per_s = kBandwidth,
                     .gemm = constant(0.5),
                     .attention = constant(0.5)};
    dram_ = {.hops = {{Resource::pcie_h2d, 1e9, 0, 1}}};
    ssd_ = {.hops = {{Resource::ssd_read, 0.5e9, 0, 1}}};
    rates_[index(Tier::dram)] = {&dram_, 1, 0};
    rates_[index(Tier::ssd)] = {&ssd_, 1, 0};
  }

  const Policy& policy(PolicyOptions options) {
    cost_ = std::make_unique<CostModel>(model_, hardware_, 1);
    policy_ = make_policy({.cost = cost_.get(),
                           .hardware = &hardware_,
                           .options = with_preset(std::move(options)),
                           .idle_rates = rates_,
                           .planned = {{Tier::ssd, 1}},
                           .step_tokens = 2048});
    return *policy_;
  }
  // Layers agree always (a high exponent is a threshold of 0), or never.
  const Policy& agreeing() {
    return policy({.name = "hyperinfer", .threshold_exponent = 100, .prefetch = false});
  }
  const Policy& disagreeing() {
    return policy({.name = "hyperinfer", .threshold_exponent = 0, .prefetch = false});
  }

  // One node of kFound tokens in `tier`, and a request of `new_tokens` behind it.
  Restoration restore(const Policy& policy, Tier tier, int64_t new_tokens = 100) const {
    Context context{.history_tokens = kFound, .new_tokens = new_tokens};
    context.use[index(tier)] = policy.use({kFound, 0, kFound});
    if (tier == Tier::hbm) {
      context.resident_tokens = kFound;
      return policy.restore(context, {}, rates_);
    }
    const Hit hit{.tier = tier, .tokens = kFound};
    return policy.restore(context, {&hit, 1}, rates_);
  }
  double bytes(const Policy& policy, Tier tier) const {
    return restore(policy, tier).total_bytes()[index(tier)];
  }

  ModelSpec model_;
  HardwareProfile hardware_;
  Route dram_, ssd_;
  LoadRates rates_{};
  std::unique_ptr<CostModel> cost_;
  std::unique_ptr<Policy> policy_;
};

TEST_F(HyperInfer, AsLikeLoadsAllKeysAndValues) {
  const Policy& as_like = policy({.name = "as_like"});
  // 4 layers x 1,000 tokens x 16,384 bytes, in 16 chunks of keys and 16 of values a layer.
  EXPECT_DOUBLE_EQ(bytes(as_like, Tier::dram), kLayers * kFound * kTokenBytes);
  EXPECT_DOUBLE_EQ(bytes(as_like, Tier::ssd), kLayers * kFound * kTokenBytes);
  const Restoration restoration = restore(as_like, Tier::ssd);
  EXPECT_EQ(restoration.work.front().layers, 4);
  EXPECT_EQ(restoration.work.front().load_requests[index(Tier::ssd)], 32);
  EXPECT_EQ(restoration.unused_tokens[index(Tier::ssd)], 0);
  EXPECT_EQ(as_like.traits().quality_note, "");
  EXPECT_FALSE(as_like.traits().selects);
  EXPECT_FALSE(as_like.traits().restores_resident);
  EXPECT_DOUBLE_EQ(as_like.traits().stored_bytes_per_token, kLayers * kTokenBytes);
}

TEST_F(HyperInfer, H2oLoadsAllKeysAndOfTheValuesWhatEachHeadWants) {
  const Policy& h2o = policy({.name = "h2o_lru"});
  // From DRAM n keys and n/4 values; from SSD whole chunks, all of which some head wants.
  EXPECT_DOUBLE_EQ(bytes(h2o, Tier::dram), kLayers * (kFound * kKeys + kFound / 4.0 * kKeys));
  EXPECT_DOUBLE_EQ(bytes(h2o, Tier::ssd), kLayers * kFound * kTokenBytes);
  EXPECT_EQ(restore(h2o, Tier::dram).unused_tokens[index(Tier::dram)], 750);
}

TEST_F(HyperInfer, LoadsProbeKeysAndImportantTokensWhereHeadsAgree) {
  // P n + 2 k h vectors of 256 bytes.
  const auto vectors = static_cast<double>(vectors_with_probes(kFound, 250, 32, 3));
  EXPECT_NEAR(bytes(agreeing(), Tier::dram), kLayers * vectors * 256, 1);
  EXPECT_EQ(restore(agreeing(), Tier::dram).unused_tokens[index(Tier::dram)], 750);
}

TEST_F(HyperInfer, LoadsAllKeysWhereHeadsDisagree) {
  const auto vectors = static_cast<double>(vectors_with_all_keys(kFound, 250, 32));
  EXPECT_NEAR(bytes(disagreeing(), Tier::dram), kLayers * vectors * 256, 1);
}

TEST_F(HyperInfer, ReadsWholeChunksFromSsdFewerOfThemInOrderOfImportance) {
  const Policy& ordered = agreeing();
  const PartUse use = ordered.use({kFound, 0, kFound});
  EXPECT_EQ(use.chunks, 16);
  EXPECT_LT(use.touched_chunks, 0.9 * 16);
  EXPECT_NEAR(bytes(ordered, Tier::ssd),
              kLayers * (kFound * kKeys * 3 / 32 + use.touched_tokens * kTokenBytes), 1);
  const Policy& unordered =
      policy({.name = "hyperinfer", .threshold_exponent = 100, .reorder = false, .prefetch = false});
  // The last chunk has 40 tokens: one of them is important for all but 0.75^40 of the requests.
  EXPECT_NEAR(unordered.use({kFound, 0, kFound}).touched_chunks, 16, 1e-4);
}

TEST_F(HyperInfer, LoadsNothingOfWhatLiesOnTheGpu) {
  const Policy& hyperinfer = agreeing();
  EXPECT_TRUE(hyperinfer.traits().selects);
  EXPECT_TRUE(hyperinfer.traits().restores_resident);
  const Restoration restoration = restore(hyperinfer, Tier::hbm);
  for (double tier_bytes : restoration.total_bytes()) EXPECT_EQ(tier_bytes, 0);
  EXPECT_EQ(restoration.unused_tokens[index(Tier::hbm)], 750);
}

TEST_F(HyperInfer, ComputesTheNewTokensOverTheImportantOnes) {
  const Restoration restoration = restore(agreeing(), Tier::hbm);
  ASSERT_TRUE(restoration.fused);
  // Scores of three heads of 32 with the 750 tokens left out: half of attention's work.
  const double scores_s =
      (cost_->attention_layer_s({100, 1000}) - cost_->attention_layer_s({100, 250})) / 2 * 3 / 32;
  EXPECT_NEAR(restoration.total_compute_s(), cost_->prefill_s({100, 250}) + 4 * scores_s, 1e-12);
}

TEST_F(HyperInfer, LoadsTheImportantTokensOnlyWhenTheLayersQueriesAreThere) {
  const Restoration restoration = restore(agreeing(), Tier::dram);
  ASSERT_EQ(restoration.work.size(), 4U * 2 + 1);
  for (std::size_t i = 0; i < 8; i += 2) {
    EXPECT_FALSE(restoration.work[i].waits);
    EXPECT_EQ(restoration.work[i].form, LayerForm::keys);
    EXPECT_TRUE(restoration.work[i + 1].waits);
  }
}

TEST_F(HyperInfer, PrefetchSavesWhatItGuessesRightWithinTheLayerBefore) {
  PolicyOptions options{.name = "hyperinfer", .threshold_exponent = 100, .prefetch = false};
  hardware_.gpu.peak_flops = kPeakFlops / 100;  // long layers
  const Policy& without = policy(options);
  const PerTier none = restore(without, Tier::dram, 1000).total_bytes();
  const double without_s = makespan_s(restore(without, Tier::dram, 1000), rates_);
  options.prefetch = true;
  const Policy& with = policy(options);
  const PerTier some = restore(with, Tier::dram, 1000).total_bytes();
  const double with_s = makespan_s(restore(with, Tier::dram, 1000), rates_);
  const double recall = RestoreStatistics(ImportanceModel{}, {.alpha = 100}, 4, 1).adjacent_recall();
  // All 250 tokens of 3 layers are guessed; 1 GB/s.
  const double important_bytes = 250 * kTokenBytes;
  EXPECT_NEAR(without_s - with_s, 3 * recall * important_bytes / 1e9, 1e-9);
  EXPECT_NEAR(some[index(Tier::dram)] - none[index(Tier::dram)], 3 * (1 - recall) * important_bytes, 1);
}

TEST_F(HyperInfer, WeighsAChunkByItsImportantShare) {
  const Policy& hyperinfer = agreeing();
  const double first = hyperinfer.weight(hyperinfer.use({kFound, 0, 64}));
  const double last = hyperinfer.weight(hyperinfer.use({kFound, 960, 40}));
  EXPECT_GT(first, 0.9);
  EXPECT_LT(last, 0.1);
  const Policy& h2o = policy({.name = "h2o_lfu"});
  EXPECT_EQ(h2o.weight(h2o.use({kFound, 0, 64})), 1);
  // A node's chunks add up to the node.
  const Policy& again = agreeing();
  PartUse sum;
  for (int64_t at = 0; at < kFound; at += 64) {
    sum += again.use({kFound, at, std::min<int64_t>(64, kFound - at)});
  }
  EXPECT_NEAR(sum.important_tokens, 250, 1e-6);
  EXPECT_NEAR(sum.touched_chunks, again.use({kFound, 0, kFound}).touched_chunks, 1e-9);
  EXPECT_NEAR(sum.nodes, 1, 1e-12);
}

TEST_F(HyperInfer, LoadsQuantisedChunks) {
  // 8.5 bits an element instead of 16.
  const Policy& quantised = policy({.name = "as_like", .stored_bits = 8});
  EXPECT_DOUBLE_EQ(bytes(quantised, Tier::dram), kLayers * kFound * kTokenBytes * 8.5 / 16);
  EXPECT_NE(quantised.traits().quality_note, "");
}

TEST_F(HyperInfer, KeepsProbeHeadsTwice) {
  EXPECT_DOUBLE_EQ(agreeing().traits().stored_bytes_per_token, kLayers * (kTokenBytes + kKeys * 3 / 32));
}

TEST_F(HyperInfer, HasNothingToProbeWhereHeadsShareKeys) {
  model_.num_key_value_heads = 2;
  const Policy& grouped = agreeing();
  ASSERT_EQ(grouped.traits().notes.size(), 1U);
  EXPECT_DOUBLE_EQ(grouped.traits().stored_bytes_per_token, kLayers * kTokenBytes / 16);
  EXPECT_DOUBLE_EQ(bytes(grouped, Tier::dram), kLayers * kFound * kKeys / 16 * 1.25);
}

TEST_F(HyperInfer, LoadsWholeLatents) {
  model_.latent = LatentAttention{};
  model_.latent->kv_lora_rank = 512;
  const Policy& latent = agreeing();
  EXPECT_DOUBLE_EQ(bytes(latent, Tier::dram), kLayers * kFound * (512 + 64) * 2);
  EXPECT_EQ(restore(latent, Tier::dram).unused_tokens[index(Tier::dram)], 750);
}

TEST_F(HyperInfer, SaysWhatItCostsInQuality) {
  EXPECT_NE(policy({.name = "hyperinfer"}).traits().quality_note.find("25 %"), std::string::npos);
  EXPECT_EQ(policy({.name = "hyperinfer", .retention = 1}).traits().quality_note, "");
}

}  // namespace
}  // namespace kvcap::hyperinfer_test
