// Sizes of storage that a plan leaves open: which ladders it gets, what each rung sets, and that the search
// buys what exhaustive search over the rungs buys.
#include "plan/sizes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "advise/purchase.h"
#include "advise/search.h"
#include "advise/simulator.h"
#include "scenario/load.h"
#include "spec/tiers.h"
#include "unit/advise/decided.h"

namespace kvcap::plan_sizes_test {
namespace {

class PlanSizes : public testing::Test {
 protected:
  PlanSizes()
      : folder_(std::filesystem::temp_directory_path() / ("kvcap_sizes_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    // An H100 whose storage is billed on top of its rent.
    for (const CatalogueEntry& entry : catalogue(Catalogue::hardware)) {
      if (entry.name != "h100-sxm") continue;
      std::string text(entry.text);
      const std::string includes = "\"price_includes_storage\": true";
      text.replace(text.find(includes), includes.size(), "\"price_includes_storage\": false");
      std::ofstream(folder_ / "h100.json") << text;
    }
  }
  ~PlanSizes() override { std::filesystem::remove_all(folder_); }

  Plan load(const std::string& tiers, const std::string& search, const std::string& rest = "",
            const Changes& set = {}, double ttft_ms = 500) const {
    const std::string path = (folder_ / "plan.json").string();
    std::ofstream(path) << R"({"schema": "kvcap.plan/1", "base": {"schema": "kvcap.scenario/1",
      "model": "llama-2-7b", "hardware": "h100.json", "serving": {"max_model_len": 16384, "prefix_caching": false},
      "workload": {"source": {"kind": "chat"}, "arrivals": {"sessions_per_s": 0.2}, "sessions": 60},
      "policy": {"name": "kv_offload", "tiers": )"
                        << tiers << R"(}}, "search": )" << search << R"(, "meet": {"p99_ttft_ms": {"max": )"
                        << ttft_ms << "}}, \"max_replications\": 1" << rest << "}";
    return load_plan(path, set);
  }
  static std::vector<std::string> ladders(const Plan& plan) {
    std::vector<std::string> names;
    for (const Dimension& dimension : plan.search) {
      if (dimension.size_of) names.emplace_back(name(*dimension.size_of));
    }
    return names;
  }

  std::filesystem::path folder_;
};

using Names = std::vector<std::string>;
constexpr const char* kBoth = R"([{"kind": "dram"}, {"kind": "ssd"}])";
constexpr const char* kSeeds = R"({"policy.name": ["kv_offload", "hcache"]})";

TEST_F(PlanSizes, AreSearchedForEveryTierWhoseSizeNobodyChose) {
  EXPECT_EQ(ladders(load(kBoth, kSeeds)), (Names{"dram", "ssd"}));
  EXPECT_EQ(ladders(load("null", kSeeds)), (Names{"dram", "ssd"}));  // every tier of the profile
  EXPECT_EQ(ladders(load(R"([{"kind": "dram"}])", kSeeds)), (Names{"dram"}));
  EXPECT_EQ(ladders(load(R"([{"kind": "dram", "capacity_bytes": 1e11}, {"kind": "ssd"}])", kSeeds)),
            (Names{"ssd"}));
  EXPECT_EQ(ladders(load(kBoth, R"({"hardware.ssd.count": [1, 2]})")), (Names{"dram"}));
  EXPECT_EQ(ladders(load(kBoth, kSeeds, "", {"hardware.dram.capacity_bytes=64e9"})), (Names{"ssd"}));
  // Nothing is saved by buying less of what costs nothing, and where no cost is minimized.
  EXPECT_EQ(ladders(load(kBoth, kSeeds, "", {"hardware.ssd.price_usd_per_gb_hour=0"})), (Names{"dram"}));
  EXPECT_EQ(ladders(load(kBoth, kSeeds, "", {"hardware=h100-sxm"})), Names{});  // in the rent
  EXPECT_EQ(ladders(load(kBoth, kSeeds, R"(, "minimize": "p99_ttft_ms")")), Names{});
  EXPECT_EQ(ladders(load(kBoth, kSeeds, R"(, "sizes": "profile")")), Names{});
  EXPECT_EQ(ladders(load(kBoth, R"({"policy.name": ["recompute"]})")), Names{});
}

TEST_F(PlanSizes, AreSetOnlyForConfigurationsThatUseThem) {
  const Plan plan = load("null", R"({"policy.tiers": [[{"kind": "dram"}], [{"kind": "ssd"}]]})");
  ASSERT_EQ(ladders(plan), (Names{"dram", "ssd"}));
  // A 64th and a half of 250 GB; a device.
  EXPECT_EQ(changes_at(plan, {0, 0, 6}),
            (Changes{R"(policy.tiers=[{"kind":"dram"}])", "hardware.dram.capacity_bytes=3906250000"}));
  EXPECT_EQ(changes_at(plan, {0, 5, 0}),
            (Changes{R"(policy.tiers=[{"kind":"dram"}])", "hardware.dram.capacity_bytes=125000000000"}));
  EXPECT_EQ(changes_at(plan, {1, 0, 6}),
            (Changes{R"(policy.tiers=[{"kind":"ssd"}])", "hardware.ssd.count=1"}));
}

TEST(SizeSettings, OfSsdsAreDevicesOrWhereRentedAPartOfOneWithItsPartOfEverything) {
  HardwareProfile hardware;
  hardware.ssd = Ssd{.count = 8,
                     .capacity_bytes = 4e12,
                     .read_bandwidth_bytes_per_s = 8e9,
                     .write_bandwidth_bytes_per_s = 4e9,
                     .price_usd_per_gb_hour = 1e-4,
                     .endurance_bytes = 8e15};
  EXPECT_EQ(size_settings(hardware, Tier::ssd, 1), Changes{"hardware.ssd.count=8"});
  EXPECT_EQ(size_settings(hardware, Tier::ssd, 0.25), Changes{"hardware.ssd.count=2"});
  EXPECT_EQ(size_settings(hardware, Tier::ssd, 0.125), Changes{"hardware.ssd.count=1"});
  EXPECT_EQ(
      size_settings(hardware, Tier::ssd, 1.0 / 16),
      (Changes{"hardware.ssd.count=1", "hardware.ssd.capacity_bytes=2000000000000",
               "hardware.ssd.read_bandwidth_bytes_per_s=4000000000",
               "hardware.ssd.write_bandwidth_bytes_per_s=2000000000", "hardware.ssd.endurance_bytes=4e+15"}));
  hardware.ssd->price_usd_per_gb_hour = 0;
  hardware.ssd->purchase_usd = 900;
  EXPECT_EQ(size_settings(hardware, Tier::ssd, 1.0 / 16), Changes{"hardware.ssd.count=1"});
  // Three devices: the half is two of them.
  hardware.ssd->count = 3;
  EXPECT_EQ(size_settings(hardware, Tier::ssd, 0.5), Changes{"hardware.ssd.count=2"});
}

// A rung has no less of anything than the one before, and costs no less: what bisection rests on.
TEST_F(PlanSizes, GrowFromRungToRungInAllThatTheyBuy) {
  for (const char* hardware : {"h100-sxm", "h100-sxm-8x", "h100-sxm-8x-s3", "l40s", "a100-40g-4x-pm9a3"}) {
    const HardwareProfile profile = load_hardware(hardware);
    for (Tier tier : kHostTiers) {
      if (!has_tier(profile, tier)) continue;
      double bytes = 0, bytes_per_s = 0, usd = 0;
      for (double share : {1 / 64.0, 1 / 32.0, 1 / 16.0, 1 / 8.0, 1 / 4.0, 1 / 2.0, 1.0}) {
        Changes changes = size_settings(profile, tier, share);
        changes.insert(changes.begin(), "hardware=" + std::string(hardware));
        const Plan plan = load(kBoth, kSeeds, R"(, "sizes": "profile")");
        const HardwareProfile bought = load_scenario(plan.base, changes).hardware;
        const TierFacts facts = *tier_facts(bought, tier);
        EXPECT_GT(facts.capacity_bytes, bytes) << hardware << share;
        EXPECT_GE(facts.read.bytes_per_s, bytes_per_s) << hardware << share;
        EXPECT_GT(facts.capacity_bytes * facts.usd_per_gb_hour, usd) << hardware << share;
        bytes = facts.capacity_bytes;
        bytes_per_s = facts.read.bytes_per_s;
        usd = facts.capacity_bytes * facts.usd_per_gb_hour;
      }
      EXPECT_DOUBLE_EQ(bytes, tier_facts(profile, tier)->capacity_bytes) << hardware;
    }
  }
}

// Every rung of both ladders against the search.
TEST_F(PlanSizes, AreBoughtAsExhaustiveSearchBuysThem) {
  const Plan plan = load(kBoth, R"({"policy.name": ["kv_offload"]})", "", {}, 170);
  ASSERT_EQ(plan.search.size(), 3U);
  Simulator simulator(plan);
  Judge judge(plan, simulator);
  const PlanResult result = find_plan(plan, judge);
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t dram = 0; dram < 7; ++dram) {
    for (std::size_t ssd = 0; ssd < 7; ++ssd) {
      const Candidate& one = *decided(judge, {changes_at(plan, {0, dram, ssd})}).front();
      if (one.verdict == Judgement::meets) least = std::min(least, one.metric("cost.usd_per_hour").mean);
    }
  }
  ASSERT_NE(result.best, nullptr);
  EXPECT_DOUBLE_EQ(result.best->metric("cost.usd_per_hour").mean, least);
  // Only what is bought is billed, and it is less than the profile has.
  double usd = 3.9;
  for (const BoughtSize& one : bought_sizes(plan, result.best->changes)) {
    EXPECT_GT(one.profile_bytes, 0) << name(one.tier);
    EXPECT_LE(one.bytes, one.profile_bytes);
    usd += one.bytes / 1e9 * (one.tier == Tier::dram ? 0.0044 : 0.00011);
  }
  EXPECT_NEAR(result.best->metric("cost.usd_per_hour").mean, usd, 1e-9);
  EXPECT_LT(usd, 3.9 + 250 * 0.0044 + 7680 * 0.00011);
}

TEST_F(PlanSizes, AndThePricesThatMakeThemCheapAreNamed) {
  const Plan plan = load(R"([{"kind": "dram"}])", kSeeds, "", {"hardware.gpu.price_usd_per_hour=2"});
  const std::vector<std::string> notes = purchase_notes(plan, changes_at(plan, {0, 4}));
  EXPECT_EQ(
      notes,
      (std::vector<std::string>{
          "Storage sizes were searched because the plan sets none: 62.5 GB of the profile's 250 GB of dram.",
          "The cost covers 1 of the 8 GPUs of a server; --set billing.whole_servers=true bills whole "
          "servers.",
          "Prices: from --set gpu.price_usd_per_hour 2 (undated); from " + (folder_ / "h100.json").string() +
              " dram.price_usd_per_gb_hour 0.0044 (2026-11)."}));
  EXPECT_EQ(purchase(load(R"([{"kind": "dram"}])", kSeeds, "", {"billing.whole_servers=true"}),
                     {"billing.whole_servers=true", "hardware.gpu.count=2"}),
            "1 whole server of 8x H100 80GB SXM5, of which 2 are used, with 2.00 TB of DRAM for stored "
            "state, serving "
            "llama-2-7b with kv_offload");
}

// 3.9 $ for the GPU and 7,680 GB x 0.00011 $ a device. A comparison runs the same scenario.
TEST_F(PlanSizes, OfDevicesThatThePolicyDoesNotUseAreBoughtToo) {
  const Plan plan =
      load("null", R"({"policy.name": ["recompute"], "hardware.ssd.count": [1, 8]})", "", {}, 1e6);
  Simulator simulator(plan);
  Judge judge(plan, simulator);
  for (const auto& [choice, count] : {std::pair<std::size_t, int>{0, 1}, {1, 8}}) {
    const Changes changes = changes_at(plan, {0, choice});
    EXPECT_NEAR(decided(judge, {changes}).front()->metric("cost.usd_per_hour").mean, 3.9 + count * 0.8448,
                1e-9);
    const std::vector<BoughtSize> sizes = bought_sizes(plan, changes);
    ASSERT_EQ(sizes.size(), 1U);
    EXPECT_EQ(sizes.front().bytes, count * 7.68e12);
    EXPECT_FALSE(sizes.front().is_used);
  }
  EXPECT_EQ(purchase(plan, changes_at(plan, {0, 1})),
            "1x H100 80GB SXM5 with 61.4 TB on 8 SSDs that stay empty, serving llama-2-7b with recompute");
}

TEST_F(PlanSizes, OfAMachineWithoutPricesHaveNoNotes) {
  const Plan plan = load(R"([{"kind": "dram"}])", kSeeds, "",
                         {"billing.whole_servers=true", "hardware.gpu.price_usd_per_hour=0",
                          "hardware.dram.price_usd_per_gb_hour=0"});
  EXPECT_EQ(purchase_notes(plan, changes_at(plan, {0})), Names{});
}

}  // namespace
}  // namespace kvcap::plan_sizes_test
