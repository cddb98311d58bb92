// What a run bills: shares of servers, whole ones, and storage whose size nobody chose.
#include "run/billing.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cost/prices.h"
#include "plan/replicate.h"
#include "scenario/load.h"

namespace kvcap::billing_test {
namespace {

Scenario load(std::vector<std::string> overrides) {
  return parse_scenario(R"({"schema": "kvcap.scenario/1", "model": "llama-2-7b", "hardware": "h100-sxm-8x",
      "serving": {"max_model_len": 16384}, "workload": {"source": {"kind": "chat"}, "sessions": 20},
      "policy": {"name": "kv_offload"}})",
                        "chat.json", overrides);
}
RunResult run(const Scenario& scenario) { return run_replications({scenario}).front().front(); }
bool has_note(const std::vector<std::string>& notes, const std::string& beginning) {
  return std::any_of(notes.begin(), notes.end(),
                     [&](const std::string& note) { return note.starts_with(beginning); });
}

TEST(ServerShare, OfTwoOfEightGpusIsAQuarterOfTheDramAndTheSsds) {
  const Scenario scenario = load({"hardware.gpu.count=2"});
  EXPECT_DOUBLE_EQ(scenario.hardware.dram->capacity_bytes, 500e9);  // 2 / 8 x 2 TB
  EXPECT_EQ(scenario.hardware.ssd->count, 2);                       // 2 / 8 x 8
  EXPECT_EQ(billed_gpus(scenario.hardware.gpu, false), 2);
  EXPECT_TRUE(has_note(scenario.notes,
                       "the part of 2 GPUs of a server of 8: 500 GB of DRAM and 2 SSDs; the bandwidth"));
  EXPECT_DOUBLE_EQ(load({}).hardware.dram->capacity_bytes, 2e12);
  EXPECT_FALSE(has_note(load({}).notes, "the part of"));
}

// One GPU of the whole server is what the profile of one GPU's share says.
TEST(ServerShare, OfOneGpuIsTheProfileOfItsShare) {
  const HardwareProfile share = load({"hardware.gpu.count=1"}).hardware;
  const HardwareProfile profile = load({"hardware=h100-sxm"}).hardware;
  EXPECT_DOUBLE_EQ(share.dram->capacity_bytes, profile.dram->capacity_bytes);
  EXPECT_EQ(share.ssd->count, profile.ssd->count);
  EXPECT_EQ(share.gpu.price_usd_per_hour, profile.gpu.price_usd_per_hour);
  const HardwareProfile whole = load({"hardware=h100-sxm", "hardware.gpu.count=8"}).hardware;
  EXPECT_DOUBLE_EQ(whole.dram->capacity_bytes, 2e12);
  EXPECT_EQ(whole.ssd->count, 8);
}

TEST(ServerShare, LeavesWhatTheUserSays) {
  const Scenario scenario = load({"hardware.gpu.count=2", "hardware.dram.capacity_bytes=64e9"});
  EXPECT_DOUBLE_EQ(scenario.hardware.dram->capacity_bytes, 64e9);
  EXPECT_EQ(scenario.hardware.ssd->count, 2);
  const Scenario again = parse_scenario(scenario.resolved_json, "result.json", {});
  EXPECT_EQ(again.resolved_json, scenario.resolved_json);
}

TEST(ServerShare, OfAServerWithLessThanOneSsdAGpuHasOne) {
  EXPECT_EQ(load({"hardware.gpu.count=3"}).hardware.ssd->count, 3);
  EXPECT_EQ(
      load({"hardware.gpu.count=1", "hardware=h100-sxm-8x", "hardware.gpu.count=1"}).hardware.ssd->count, 1);
}

TEST(Billing, OfWholeServersRoundsUpAndHasAllThatIsInThem) {
  const Scenario scenario =
      load({"hardware.gpu.count=2", "billing.whole_servers=true", "policy.name=recompute"});
  EXPECT_DOUBLE_EQ(scenario.hardware.dram->capacity_bytes, 2e12);
  EXPECT_EQ(scenario.hardware.ssd->count, 8);
  EXPECT_EQ(billed_gpus(scenario.hardware.gpu, true), 8);
  EXPECT_NEAR(run(scenario).number("cost.usd_per_hour"), 8 * 3.9, 1e-9);
  EXPECT_NEAR(run(load({"hardware.gpu.count=2", "policy.name=recompute"})).number("cost.usd_per_hour"),
              2 * 3.9, 1e-9);
  Gpu gpu = scenario.hardware.gpu;
  gpu.count = 9;
  EXPECT_EQ(billed_gpus(gpu, true), 16);
  gpu.count = 8;
  EXPECT_EQ(billed_gpus(gpu, true), 8);
  gpu.per_server.reset();
  gpu.count = 3;
  EXPECT_EQ(billed_gpus(gpu, true), 3);
}

TEST(Billing, OfBoughtSsdsIsOfWholeDevices) {
  HardwareProfile hardware;
  hardware.ssd = Ssd{.count = 4, .capacity_bytes = 4e12, .price_usd_per_gb_hour = 0.001};
  EXPECT_DOUBLE_EQ(tier_usd_per_hour(hardware, Tier::ssd, 1e12), 1);  // 1,000 GB
  hardware.ssd->price_usd_per_gb_hour = 0;
  hardware.ssd->purchase_usd = 876;
  hardware.ssd->amortization_years = 1;
  EXPECT_DOUBLE_EQ(tier_usd_per_hour(hardware, Tier::ssd, 1e12), 4 * 0.1);  // all four, for bytes on all
}

TEST(Billing, SaysWhereNobodyChoseTheSize) {
  const RunResult all = run(load({"hardware=h100-sxm", R"(policy.tiers=[{"kind": "dram"}])"}));
  EXPECT_TRUE(has_note(
      all.notes,
      "bills all 250 GB of DRAM, 1.10 $ per hour, because no size is set: "
      "policy.tiers.0.capacity_bytes sets it; billing.storage=filled bills only what the run fills"));
  EXPECT_DOUBLE_EQ(all.number("billed_bytes.dram"), 250e9);
  for (const char* chosen : {"policy.tiers.0.capacity_bytes=2e11", "hardware.dram.capacity_bytes=3e11"}) {
    const RunResult some = run(load({"hardware=h100-sxm", R"(policy.tiers=[{"kind": "dram"}])", chosen}));
    EXPECT_FALSE(has_note(some.notes, "bills all")) << chosen;
  }
  const RunResult ssds = run(load({"hardware=h100-sxm", "hardware.ssd.count=2", "hardware.dram=null"}));
  EXPECT_FALSE(has_note(ssds.notes, "bills all"));
  const RunResult none = run(load({"hardware=h100-sxm", "policy.name=recompute"}));
  EXPECT_FALSE(has_note(none.notes, "bills all"));
  EXPECT_EQ(none.number("billed_bytes.dram"), 0);
}

// A machine with that capacity evicts nothing either, and costs the same.
TEST(Billing, OfWhatARunFillsIsThatOfAMachineOfThatSize) {
  const std::vector<std::string> dram = {"hardware=h100-sxm", R"(policy.tiers=[{"kind": "dram"}])"};
  std::vector<std::string> filled = dram;
  filled.emplace_back("billing.storage=filled");
  const RunResult result = run(load(filled));
  const double bytes = result.number("peak_stored_bytes.dram");
  ASSERT_GT(bytes, 1e9);
  EXPECT_DOUBLE_EQ(result.number("billed_bytes.dram"), bytes);
  EXPECT_NEAR(result.number("cost.usd_per_hour"), 3.9 + 0.0044 * bytes / 1e9, 1e-9);
  EXPECT_TRUE(has_note(result.notes,
                       "bills only what the run fills of 250 GB of DRAM (billed_bytes.dram); a longer run"));
  std::vector<std::string> sized = dram;
  sized.push_back("policy.tiers.0.capacity_bytes=" + std::to_string(bytes));
  const RunResult again = run(load(sized));
  EXPECT_NEAR(again.number("cost.usd_per_hour"), result.number("cost.usd_per_hour"), 1e-6);
  EXPECT_EQ(again.number("mean_ttft_ms"), result.number("mean_ttft_ms"));
  // A size that somebody chose is billed whole.
  sized.emplace_back("billing.storage=filled");
  sized.emplace_back("policy.tiers.0.capacity_bytes=200e9");
  EXPECT_DOUBLE_EQ(run(load(sized)).number("billed_bytes.dram"), 200e9);
}

// Each node is a machine: all are as large as the fullest.
TEST(Billing, OfWhatAFleetFillsIsTheFullestNodeTimesTheNodes) {
  const RunResult result = run(load({"hardware=h100-sxm", R"(policy.tiers=[{"kind": "dram"}])",
                                     "fleet.replicas=3", "billing.storage=filled"}));
  EXPECT_GT(result.number("billed_bytes.dram"), result.number("peak_stored_bytes.dram"));
  EXPECT_LT(result.number("billed_bytes.dram"), 3 * result.number("peak_stored_bytes.dram"));
}

// What the rated writes are worth that a rented drive gave, and no part of what the run costs.
TEST(Billing, OfRentedSsdsNamesTheirWearAndLeavesItToTheLandlord) {
  const RunResult result = run(load({"hardware=h100-sxm", R"(policy.tiers=[{"kind": "ssd"}])"}));
  const double written = result.number("written_bytes.ssd");
  ASSERT_GT(written, 0);
  const double device_usd = 7680 * 0.33;
  EXPECT_NEAR(result.number("cost.ssd_wear_usd"), written / 14.016e15 * device_usd, 1e-9);
  EXPECT_NEAR(result.number("cost.total_usd"), result.number("cost.gpu_usd") + result.number("cost.ssd_usd"),
              1e-9);
}

}  // namespace
}  // namespace kvcap::billing_test
