// CacheBlend's decisions, and the restorations that follow from them, as sums by hand.
#include "policy/blend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "cost/prices.h"
#include "laws/machines.h"
#include "policy/restoration.h"
#include "workload/generators/stored_contexts.h"

namespace kvcap::blend_test {
namespace {

// ---- decisions ----

TEST(LoadingController, ComputesAsMuchAgainAsLoadingHides) {
  // 0.4 of the prefill's time is there while loading lasts.
  EXPECT_DOUBLE_EQ(controlled_ratio(4, 10, 1), 0.4);
  EXPECT_DOUBLE_EQ(recompute_s(0.4, 10, 1), 4);
  // Scattered tokens at half speed: half as many.
  EXPECT_DOUBLE_EQ(controlled_ratio(4, 10, 0.5), 0.2);
  EXPECT_DOUBLE_EQ(recompute_s(0.2, 10, 0.5), 4);
}

TEST(LoadingController, NeverGoesBelowTheLeastRatioNorAboveAll) {
  EXPECT_DOUBLE_EQ(controlled_ratio(0.1, 10, 1), 0.15);
  EXPECT_DOUBLE_EQ(controlled_ratio(0, 10, 0.5), 0.15);
  EXPECT_DOUBLE_EQ(controlled_ratio(10, 10, 0.5), 1);
  EXPECT_DOUBLE_EQ(controlled_ratio(30, 10, 1), 1);
  // Whatever is chosen takes no longer than computing everything.
  EXPECT_DOUBLE_EQ(recompute_s(0.8, 10, 0.5), 10);
}

TEST(LoadingController, FollowsThePrintedTimesOfALayer) {
  // CacheBlend 5: Llama-7B computes 15 % in 3 ms and loads in 16, so that loading hides up to 80 %;
  // Llama-70B takes 7 and 4 ms, so that the least ratio shows.
  EXPECT_DOUBLE_EQ(controlled_ratio(16, 3 / 0.15, 1), 0.8);
  EXPECT_DOUBLE_EQ(controlled_ratio(4, 7 / 0.15, 1), 0.15);
}

TEST(GradualFiltering, FallsSlowlyAroundItsMean) {
  for (double ratio : {0.0, 0.15, 0.5, 0.95, 1.0}) {
    const std::vector<double> ratios = filtered_ratios(ratio, 31);
    ASSERT_EQ(ratios.size(), 31u);
    EXPECT_NEAR(std::accumulate(ratios.begin(), ratios.end(), 0.0) / 31, ratio, 1e-12);
    EXPECT_TRUE(std::is_sorted(ratios.rbegin(), ratios.rend()));
    EXPECT_LE(ratios.front(), 1);
    EXPECT_GE(ratios.back(), 0);
  }
  EXPECT_DOUBLE_EQ(filtered_ratios(0.15, 3)[0], 0.18);
  EXPECT_DOUBLE_EQ(filtered_ratios(0.15, 3)[2], 0.12);
  EXPECT_EQ(filtered_ratios(0.15, 1), std::vector<double>{0.15});
  EXPECT_TRUE(filtered_ratios(0.15, 0).empty());
}

TEST(DeviceChoice, IsTheCheapestThatLoadsInTime) {
  const std::vector<StorageDevice> devices = {{Tier::dram, 1, 8}, {Tier::ssd, 4, 2}, {Tier::remote, 9, 1}};
  EXPECT_EQ(cheapest_device(devices, 10), Tier::remote);
  EXPECT_EQ(cheapest_device(devices, 9), Tier::remote);
  EXPECT_EQ(cheapest_device(devices, 5), Tier::ssd);
  EXPECT_EQ(cheapest_device(devices, 2), Tier::dram);
  EXPECT_EQ(cheapest_device(devices, 0.5), std::nullopt);
  const std::vector<StorageDevice> same = {{Tier::ssd, 4, 0}, {Tier::dram, 1, 0}};
  EXPECT_EQ(cheapest_device(same, 5), Tier::dram);
}

TEST(DeviceChoice, CountsWhatBytesCostForATime) {
  const HardwareProfile hardware = laws::a100();
  // 50 GB for two hours at 0.0088 $/GB/h
  EXPECT_DOUBLE_EQ(store_usd(hardware, Tier::dram, 50e9, 7200), 0.88);
  EXPECT_DOUBLE_EQ(store_usd(hardware, Tier::ssd, 50e9, 7200), 0.0082);
  EXPECT_EQ(store_usd(hardware, Tier::hbm, 50e9, 7200), 0);
}

// ---- restorations ----

constexpr int64_t kFound = 3072, kQuestion = 32;
constexpr double kWidth = 4096, kFfn = 11008;

Scenario blend(std::optional<double> ratio = {}) {
  Scenario scenario = laws::scenario("cacheblend");
  scenario.policy.recompute_ratio = ratio;
  return scenario;
}

Restoration restoration_of(const Scenario& scenario, int64_t found = kFound, int64_t missing = 0,
                           int64_t resident = 0, int64_t leading = 0) {
  const Machine machine(scenario, kFound, kFound);
  std::vector<Hit> hits;
  if (found > resident) hits.push_back({.tier = Tier::ssd, .tokens = found - resident});
  return machine.policy().restore({.history_tokens = found + missing,
                                   .new_tokens = kQuestion,
                                   .resident_tokens = resident,
                                   .leading_tokens = leading},
                                  hits, machine.idle_rates());
}

// Seconds of one layer at the full rates of laws::a100(), 64 % and 50 % of 312 TFLOP/s.
double layer_s(double rows, double pairs) {
  const double gemm_flops = 2 * rows * (4 * kWidth * kWidth + 3 * kWidth * kFfn);
  return gemm_flops / (0.64 * 312e12) + 4 * kWidth * pairs / (0.5 * 312e12);
}

TEST(CacheBlend, LoadsEveryLayerAndComputesTheFirstWhole) {
  const Restoration restoration = restoration_of(blend(0.5));
  EXPECT_TRUE(restoration.fused);
  ASSERT_EQ(restoration.work.size(), 33u);  // 32 layers and the vocabulary
  const double layer_bytes = kFound * 2 * kWidth * 2;
  EXPECT_DOUBLE_EQ(restoration.total_bytes()[index(Tier::ssd)], 32 * layer_bytes);
  const double tokens = kFound + kQuestion;
  EXPECT_NEAR(restoration.work[0].compute_s, layer_s(tokens, tokens * tokens / 2), 1e-9);
}

TEST(CacheBlend, ComputesAShareOfWhatWasFoundAtHalfSpeedAndTheRestAtFullSpeed) {
  const Restoration restoration = restoration_of(blend(0.5), kFound, 512);
  double rows_again = 0;
  for (std::size_t i = 1; i < 32; ++i) {
    const LayerWork& layer = restoration.work[i];
    const auto again = static_cast<double>(layer.recomputed.new_tokens - 512);
    rows_again += again;
    EXPECT_EQ(layer.recomputed.cached_tokens, (kFound + 512 - layer.recomputed.new_tokens) / 2);
    // Tokens of chunks have half of the chunks before them on average, the question has all.
    const double history = kFound + 512, rows = again + 512 + kQuestion;
    const double pairs = (again + 512) * history / 2 + kQuestion * (history + kQuestion / 2.0);
    const double slowed = (512 + kQuestion + again / 0.5) / rows;
    const double whole_s = layer_s(history + kQuestion, (history + kQuestion) * (history + kQuestion) / 2);
    EXPECT_NEAR(layer.compute_s, std::min(whole_s, slowed * layer_s(rows, pairs)), 1e-4 * whole_s) << i;
  }
  EXPECT_NEAR(rows_again / 31, 0.5 * kFound, 1);
  EXPECT_GT(restoration.work[1].compute_s, restoration.work[31].compute_s);
}

TEST(CacheBlend, NeverTakesLongerForALayerThanComputingAllOfIt) {
  Scenario slow = blend(0.9);
  slow.policy.partial_efficiency = 0.1;
  const Restoration restoration = restoration_of(slow);
  for (std::size_t i = 1; i < 32; ++i) {
    EXPECT_DOUBLE_EQ(restoration.work[i].compute_s, restoration.work[0].compute_s);
  }
}

TEST(CacheBlend, MayComputeMoreLayersWholeOrNone) {
  Scenario two = blend(0.15);
  two.policy.full_layers = 2;
  EXPECT_EQ(restoration_of(two).work[0].layers, 2);
  EXPECT_EQ(restoration_of(two).work.size(), 1u + 30 + 1);
  Scenario none = blend(0);
  none.policy.full_layers = 0;
  const Restoration reuse = restoration_of(none);
  ASSERT_EQ(reuse.work.size(), 33u);
  EXPECT_NEAR(reuse.work[0].compute_s, Machine(none, 1, 1).cost().prefill_layer_s({kQuestion, kFound}), 1e-9);
  Scenario all = blend(0);
  all.policy.full_layers = 100;
  EXPECT_EQ(restoration_of(all).work[0].layers, 32);
}

TEST(CacheBlend, ChoosesItsRatioForEachRequestByWhereItsChunksLie) {
  const auto mean_ratio = [](int64_t ssds) {
    Scenario scenario = blend();
    scenario.hardware.ssd->count = ssds;
    const Restoration restoration = restoration_of(scenario);
    double again = 0;
    for (std::size_t i = 1; i < 32; ++i)
      again += static_cast<double>(restoration.work[i].recomputed.new_tokens);
    return again / 31 / kFound;
  };
  const double prefill_s = layer_s(kFound, kFound * kFound / 2.0);
  const double two_ssds_s = kFound * 4 * kWidth / (2 * 6.9e9);
  ASSERT_LT(two_ssds_s, prefill_s);
  EXPECT_NEAR(mean_ratio(2), 0.5 * two_ssds_s / prefill_s, 1e-3);
  EXPECT_NEAR(mean_ratio(1), 1, 1e-9);  // loading takes longer than computing everything
  EXPECT_NEAR(mean_ratio(4), 0.15, 1e-3);
}

TEST(CacheBlend, ComputesWhatLiesOnTheGpuAgainAsWell) {
  const Scenario scenario = blend(0.15);
  EXPECT_TRUE(Machine(scenario, 1, 1).policy().traits().restores_resident);
  EXPECT_FALSE(Machine(scenario, 1, 1).policy().traits().selects);
  const Restoration loaded = restoration_of(scenario);
  const Restoration resident = restoration_of(scenario, kFound, 0, kFound);
  EXPECT_EQ(resident.total_bytes()[index(Tier::ssd)], 0);
  EXPECT_DOUBLE_EQ(resident.total_compute_s(), loaded.total_compute_s());
}

// Nothing precedes what leads a prompt, so that it cannot deviate.
TEST(CacheBlend, ComputesNothingAgainIfAllThatWasFoundLeadsThePrompt) {
  const Scenario scenario = blend(0.15);
  const Restoration leading = restoration_of(scenario, kFound, 0, 0, kFound);
  ASSERT_EQ(leading.work.size(), 33u);
  const double question_s = Machine(scenario, 1, 1).cost().prefill_layer_s({kQuestion, kFound});
  for (std::size_t i = 0; i < 32; ++i) EXPECT_NEAR(leading.work[i].compute_s, question_s, 1e-9) << i;
  EXPECT_EQ(leading.total_bytes(), restoration_of(scenario).total_bytes());
}

// 512 of 3,072 do not lead: of 50 % of 3,072 the layers after the first compute those 512.
TEST(CacheBlend, ComputesAtMostAgainWhatDoesNotLead) {
  const Restoration most = restoration_of(blend(0.5), kFound, 0, 0, kFound - 512);
  EXPECT_DOUBLE_EQ(most.work[0].compute_s, restoration_of(blend(0.5)).work[0].compute_s);
  for (std::size_t i = 1; i < 32; ++i) EXPECT_EQ(most.work[i].recomputed.new_tokens, 512) << i;
}

TEST(CacheBlend, KeepsHiddenStatesWhenAsked) {
  Scenario hidden = blend(0.15);
  hidden.policy.keep = Keep::hidden;
  const Machine machine(hidden, kFound, kFound);
  // Multi-head attention: half of KV's bytes, at the price of a projection a layer.
  EXPECT_DOUBLE_EQ(machine.policy().traits().stored_bytes_per_token, 32 * kWidth * 2);
  EXPECT_NEAR(restoration_of(hidden).work[5].compute_s - restoration_of(blend(0.15)).work[5].compute_s,
              machine.cost().project_kv_layer_s(kFound), 1e-12);
  // The layers that compute all tokens project what they find as well.
  EXPECT_NEAR(restoration_of(hidden).work[0].compute_s - restoration_of(blend(0.15)).work[0].compute_s,
              machine.cost().project_kv_layer_s(kFound), 1e-12);
  EXPECT_EQ(machine.policy().schedule(kFound, Tier::ssd).hidden_layers, 31);
}

TEST(CacheBlend, SaysWhatThePaperSupports) {
  const auto note = [](std::optional<double> ratio) { return Machine(blend(ratio), 1, 1).quality_note(); };
  EXPECT_EQ(note({}),
            "at least 15 % recomputed: F1 and Rouge-L within 0.02 of full recomputation (CacheBlend 7.2)");
  EXPECT_EQ(note(0.3).find("30 % recomputed: F1"), 0u);
  EXPECT_NE(note(0.05).find("does not support"), std::string::npos);
  EXPECT_EQ(note(1), "");
  // A chat's history leads its prompts.
  EXPECT_EQ(Machine(blend(), requests_at_once({.count = 1, .tokens = kFound})).quality_note(), "");
}

TEST(CacheBlend, SaysWhatItsControllerChoseAndWhereChunksShouldLie) {
  // 3,072 tokens are 50.3 MB a layer, 1.94 ms at 26 GB/s; computing 15 % again takes 1.9 of 6.4 ms. Only DRAM
  // and SSD are there, equally fast behind PCIe, and SSD is cheaper: 1.61 GB x 0.000082 $/GB/h.
  Scenario scenario = blend(0.16);
  const std::vector<std::string> notes = Machine(scenario, kFound, kFound).policy().traits().notes;
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_NE(notes[0].find("recomputes 16 % of the hit tokens that now follow different text "
                          "(recompute_ratio): a layer of 3072 tokens on ssd takes 1.94 ms to load"),
            std::string::npos)
      << notes[0];
  EXPECT_EQ(notes[1],
            "the cheapest storage device whose loads are hidden by recomputing 16 % of the tokens is ssd "
            "(storing 3072 tokens for an hour costs $0.00013)");
  scenario.hardware.ssd->count = 1;
  EXPECT_NE(Machine(scenario, kFound, kFound).policy().traits().notes[1].find("is dram"), std::string::npos);
  scenario.hardware.pcie.h2d_bandwidth_bytes_per_s = 5e9;
  EXPECT_EQ(Machine(scenario, kFound, kFound).policy().traits().notes[1],
            "no storage device loads the tokens in the time that recomputing 16 % of them takes");
}

TEST(RagBaselines, SayThatTheirAnswersSuffer) {
  const auto note = [](const std::string& policy) {
    return Machine(laws::scenario(policy), 1, 1).quality_note();
  };
  for (const char* lossy : {"full_reuse", "map_reduce", "map_rerank"}) EXPECT_NE(note(lossy), "") << lossy;
  for (const char* lossless : {"prefix_caching", "kv_offload"}) EXPECT_EQ(note(lossless), "") << lossless;
}

}  // namespace
}  // namespace kvcap::blend_test
