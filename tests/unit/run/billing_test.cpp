// What a run bills: shares of servers, whole ones, and storage whose size nobody chose.
#include "run/billing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/input_error.h"
#include "commands/output.h"
#include "cost/prices.h"
#include "launch/launch_line.h"
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
std::vector<std::string> with(std::vector<std::string> overrides, const std::vector<std::string>& more) {
  overrides.insert(overrides.end(), more.begin(), more.end());
  return overrides;
}
bool has_note(const std::vector<std::string>& notes, const std::string& beginning) {
  return std::any_of(notes.begin(), notes.end(),
                     [&](const std::string& note) { return note.starts_with(beginning); });
}

TEST(ServerShare, OfTwoOfEightGpusIsAQuarterOfTheDramAndTheSsds) {
  const Scenario scenario = load({"hardware.gpu.count=2"});
  EXPECT_DOUBLE_EQ(scenario.hardware.dram->capacity_bytes, 500e9);  // 2 / 8 x 2 TB
  EXPECT_EQ(scenario.hardware.ssd->count, 2);                       // 2 / 8 x 8
  EXPECT_EQ(billed_gpus(scenario.hardware.gpu, false), 2);
  EXPECT_TRUE(
      has_note(scenario.notes,
               "the hardware is 2 GPUs of a server of 8 with 500 GB of DRAM and 2 SSDs; DRAM bandwidth"));
  const Scenario whole = load({"hardware.gpu.count=8"});
  EXPECT_DOUBLE_EQ(whole.hardware.dram->capacity_bytes, 2e12);
  EXPECT_FALSE(has_note(whole.notes, "the hardware is"));
}

TEST(ServerShare, IsOfTheGpusOfAnEngineWhereNobodyGivesTheirCount) {
  const Scenario one = load({});
  EXPECT_EQ(one.hardware.gpu.count, 1);
  EXPECT_TRUE(
      has_note(one.notes,
               "the hardware is 1 GPU of a server of 8 with 250 GB of DRAM and 1 SSD; DRAM bandwidth is not "
               "divided, as if the other GPUs did not use it; hardware.gpu.count sets another number "
               "of GPUs"));
  const Scenario two = load({"serving.tensor_parallel_size=2"});
  EXPECT_EQ(two.resolved_json,
            load({"serving.tensor_parallel_size=2", "hardware.gpu.count=2"}).resolved_json);
  EXPECT_EQ(load({"model=qwen3-30b-a3b", "serving.tensor_parallel_size=2", "serving.data_parallel_size=2"})
                .hardware.gpu.count,
            4);
  EXPECT_EQ(load({"billing.whole_servers=true"}).hardware.gpu.count, 8);
  EXPECT_EQ(load({"hardware=gb200-4x"}).hardware.gpu.count, 4);  // no per_server: as it is written
  // Each node is a share of its own.
  EXPECT_NEAR(run(load({"fleet.replicas=3", "policy.name=recompute"})).number("cost.usd_per_hour"), 3 * 3.9,
              1e-9);
}

TEST(ServerShare, HoldsTheTiersThatThePolicySizes) {
  const auto gpus = [](const std::string& tier, std::vector<std::string> more = {}) {
    more.push_back("policy.tiers=[" + tier + "]");
    return load(more).hardware.gpu.count;
  };
  EXPECT_EQ(gpus(R"({"kind": "dram", "capacity_bytes": 250e9})"), 1);
  EXPECT_EQ(gpus(R"({"kind": "dram", "capacity_bytes": 251e9})"), 2);
  EXPECT_EQ(gpus(R"({"kind": "ssd", "capacity_bytes": 23e12})"), 3);  // of 7.68 TB
  EXPECT_EQ(gpus(R"({"kind": "cxl", "capacity_bytes": 1e12})", {"hardware=h100-sxm-8x-cxl"}),
            4);  // of 256 GB
  EXPECT_EQ(gpus(R"({"kind": "dram", "capacity_per_gpu_bytes": 300e9})", {"serving.tensor_parallel_size=2"}),
            3);  // 600 GB
  EXPECT_EQ(gpus(R"({"kind": "dram", "capacity_bytes": 900e9})", {"hardware.dram.capacity_bytes=1e12"}), 1);
  EXPECT_THROW(gpus(R"({"kind": "dram", "capacity_bytes": 900e9})", {"hardware.gpu.count=2"}), InputError);
}

TEST(ServerShare, IsBilledInTheHeadingWhereItIsMoreThanTheEngineUses) {
  const auto heading = [](const std::vector<std::string>& overrides) {
    RunResult none;
    none.session_count = 20;
    return scenario_line(load(overrides), none);
  };
  const std::string gpu = "llama-2-7b on 1x H100 80GB SXM5 (fitted)", rest = "   20 sessions";
  EXPECT_NE(heading({}).find(gpu + rest), std::string::npos) << heading({});
  EXPECT_NE(heading({"hardware.gpu.count=8"}).find(gpu + ": 1 of 8 GPUs, billed 8" + rest),
            std::string::npos);
  EXPECT_NE(
      heading({"hardware.gpu.count=2", "billing.whole_servers=true"}).find(gpu + ": 1 of 8 GPUs, billed 8"),
      std::string::npos);
}

// One GPU of the whole server is what the profile of one GPU's share says.
TEST(ServerShare, OfOneGpuIsTheProfileOfItsShare) {
  const HardwareProfile share = load({"hardware.gpu.count=1"}).hardware;
  const HardwareProfile profile = load({"hardware=h100-sxm"}).hardware;
  EXPECT_DOUBLE_EQ(share.dram->capacity_bytes, profile.dram->capacity_bytes);
  EXPECT_EQ(share.ssd->count, profile.ssd->count);
  EXPECT_EQ(share.gpu.price_usd_per_hour, profile.gpu.price_usd_per_hour);
  EXPECT_DOUBLE_EQ(*share.dram->included_bytes, 250e9);
  EXPECT_DOUBLE_EQ(*share.ssd->included_bytes, 7.68e12);
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

// A100 with SSDs of 4 TB at 8.2e-5 $ per GB and hour: 5 $ and 0.328 $ a device.
TEST(Billing, OfChosenDevicesIsOfAllUsedOrNot) {
  const auto usd_per_hour = [](const std::vector<std::string>& more) {
    return run(load(with({"hardware=a100-40g-4x-pm9a3"}, more))).number("cost.usd_per_hour");
  };
  const std::string ssds = R"(policy.tiers=[{"kind": "ssd", "capacity_bytes": 4e12}])";
  for (int count : {1, 2, 4, 8}) {
    const std::string devices = "hardware.ssd.count=" + std::to_string(count);
    for (const char* policy : {"hcache", "recompute"}) {
      const std::string name = "policy.name=" + std::string(policy);
      EXPECT_NEAR(usd_per_hour({ssds, devices, name}), 5 + 0.328 * count, 1e-9) << devices << name;
      EXPECT_NEAR(usd_per_hour({R"(policy.tiers=[{"kind": "ssd"}])", devices, name}), 5 + 0.328 * count, 1e-9)
          << devices << name;
    }
  }
  // A tier of 4 TB is striped over all four devices of the profile.
  EXPECT_NEAR(usd_per_hour({ssds}), 5 + 0.328 * 4, 1e-9);
  // The size of a tier is a choice of the policy that stores in it: without one, the profile's devices are
  // free as long as nothing is stored on them.
  EXPECT_NEAR(usd_per_hour({ssds, "policy.name=recompute"}), 5, 1e-9);
  EXPECT_NEAR(usd_per_hour({"policy.name=recompute"}), 5, 1e-9);
  const std::string dram = R"(policy.tiers=[{"kind": "dram", "capacity_bytes": 100e9}])";
  EXPECT_NEAR(usd_per_hour({dram}), 5 + 0.0088 * 100, 1e-9);
}

TEST(Billing, NamesDevicesThatStayEmptyAndTheFieldThatChoosesThem) {
  const std::string note =
      "bills empty devices: 8.00 TB of SSDs, 0.656 $ per hour, because the scenario chooses them "
      "(hardware.ssd)";
  const std::vector<std::string> two = {"hardware=a100-40g-4x-pm9a3", "hardware.ssd.count=2"};
  const std::vector<std::string> notes = run(load(with(two, {"policy.name=recompute"}))).notes;
  EXPECT_TRUE(has_note(notes, note));
  EXPECT_TRUE(has_note(notes, "priced: SSDs "));
  EXPECT_FALSE(has_note(run(load(with(two, {R"(policy.tiers=[{"kind": "ssd"}])"}))).notes, "bills empty"));
  EXPECT_FALSE(
      has_note(run(load({"hardware=a100-40g-4x-pm9a3", "policy.name=recompute"})).notes, "bills empty"));
}

TEST(Billing, SaysThatEmptyDevicesHaveNoPrice) {
  const RunResult result = run(load({"hardware=a100-40g-4x-pm9a3", "hardware.ssd.count=2",
                                     "policy.name=recompute", "hardware.ssd.price_usd_per_gb_hour=0"}));
  EXPECT_TRUE(has_note(result.notes, "cost.total_usd does not include SSDs: hardware.ssd has no price"));
  EXPECT_NEAR(result.number("cost.usd_per_hour"), 5, 1e-9);
}

// A node that only decodes has no tiers: it is billed with the SSDs that hardware chooses and with no others.
TEST(Billing, OfChosenDevicesIncludesNodesThatOnlyDecode) {
  const std::vector<std::string> pools = {
      "hardware=a100-40g-4x-pm9a3", "hardware.nic={\"bandwidth_bytes_per_s\": 50e9, \"latency_s\": 1e-5}",
      R"(policy.tiers=[{"kind": "ssd", "capacity_bytes": 16e12}])", "fleet.replicas=3",
      R"(fleet.disaggregation={"prefill_replicas": 1})"};
  EXPECT_NEAR(run(load(pools)).number("cost.usd_per_hour"), 3 * 5 + 0.328 * 4, 1e-9);
  EXPECT_NEAR(run(load(with(pools, {"hardware.ssd.count=4"}))).number("cost.usd_per_hour"),
              3 * (5 + 0.328 * 4), 1e-9);
}

// A result names the tiers that came from its profile, since its hardware is inline. Another profile has its
// own.
TEST(Billing, OfAResultOnAnotherMachineHasNoDevicesThatNothingChooses) {
  const Scenario first =
      load({"hardware=a100-40g-4x-pm9a3", "hardware.ssd.count=2", "policy.name=recompute"});
  const auto usd_per_hour = [&](const std::vector<std::string>& overrides) {
    return run(parse_scenario(first.resolved_json, "result.json", overrides)).number("cost.usd_per_hour");
  };
  EXPECT_NEAR(usd_per_hour({}), 5 + 0.328 * 2, 1e-9);
  const std::string other = "hardware=h100-sxm-8x-cxl";
  EXPECT_NEAR(usd_per_hour({other}), run(load({other, "policy.name=recompute"})).number("cost.usd_per_hour"),
              1e-9);
}

// The hardware of a result is inline, and the SSDs that nothing sized remain unsized.
TEST(Billing, OfUnusedDevicesIsTheSameWhenAResultRunsAgain) {
  for (const char* devices : {"hardware.ssd.count=2", "policy.name=kv_offload"}) {
    const Scenario first = load({"hardware=a100-40g-4x-pm9a3",
                                 R"(policy.tiers=[{"kind": "dram", "capacity_bytes": 100e9}])", devices});
    const Scenario again = parse_scenario(first.resolved_json, "result.json", {});
    EXPECT_EQ(run(again).number("cost.usd_per_hour"), run(first).number("cost.usd_per_hour")) << devices;
    EXPECT_EQ(again.resolved_json, first.resolved_json) << devices;
  }
}

// A machine whose rent includes nothing, billed with all that it has.
const std::vector<std::string> kWhole = {"hardware=h100-sxm", "hardware.gpu.price_includes_storage=false",
                                         "billing.storage=provisioned"};

TEST(Billing, OfStorageInTheRentIsNothingAndSaysSo) {
  const std::string dram = R"(policy.tiers=[{"kind": "dram"}])";
  const RunResult included = run(load({dram}));
  EXPECT_EQ(included.number("cost.dram_usd"), 0);
  EXPECT_NEAR(included.number("cost.usd_per_hour"), 3.9, 1e-9);
  EXPECT_TRUE(has_note(included.notes, "priced: H100 80GB SXM5 2026-03"));
  EXPECT_TRUE(has_note(included.notes, "priced: DRAM in the GPUs' rent"));
  const RunResult extra = run(load({dram, "hardware.gpu.price_includes_storage=false"}));
  EXPECT_TRUE(has_note(extra.notes, "priced: DRAM 2026-11, as filled"));
  EXPECT_GT(extra.number("cost.dram_usd"), 0);
  // 150 of 400 GB are beyond the instance's.
  const RunResult more = run(load({dram, "hardware.dram.capacity_bytes=400e9"}));
  EXPECT_NEAR(more.number("cost.usd_per_hour"), 3.9 + 150 * 0.0044, 1e-9);
  EXPECT_TRUE(has_note(more.notes, "priced: DRAM 2026-11, beyond 250 GB of DRAM in the GPUs' rent"));
}

TEST(Billing, OfAMachineWithoutAPriceIsNotKnown) {
  const RunResult result = run(load({"hardware=a100-80g-2tb"}));
  for (const char* name :
       {"cost.gpu_usd", "cost.total_usd", "cost.usd_per_hour", "cost.dram_usd", "cost.storage_usd",
        "cost.usd_per_million_output_tokens", "cost.usd_per_gpu_hour"}) {
    EXPECT_TRUE(std::isnan(result.number(name))) << name;
  }
  EXPECT_TRUE(has_note(result.notes, "there is no cost: hardware.gpu has no price"));
  EXPECT_FALSE(has_note(result.notes, "priced: "));
  // A tier without a price is not in the total.
  const RunResult part = run(load({"hardware=a100-80g-2tb", "hardware.gpu.price_usd_per_hour=2"}));
  EXPECT_NEAR(part.number("cost.usd_per_hour"), 2, 1e-9);
  EXPECT_TRUE(std::isnan(part.number("cost.dram_usd")));
  EXPECT_TRUE(std::isnan(part.number("cost.storage_usd")));
  EXPECT_TRUE(has_note(part.notes, "priced: A100-80G undated"));
  EXPECT_TRUE(has_note(part.notes, "cost.total_usd does not include DRAM: hardware.dram has no price"));
}

// A result's scenario contains its hardware, and still names the tiers that nobody sized.
TEST(Billing, OfAResultsScenarioIsThatOfTheResult) {
  const Scenario first =
      load({"hardware=a100-40g-4x-pm9a3", R"(policy.tiers=[{"kind": "dram"}, {"kind": "ssd"}])",
            "hardware.ssd.count=2"});
  const auto again = [&](const std::vector<std::string>& overrides) {
    return parse_scenario(first.resolved_json, "result.json", overrides);
  };
  EXPECT_EQ(unsized_tiers(first), std::vector{Tier::dram});
  EXPECT_EQ(unsized_tiers(again({})), unsized_tiers(first));
  EXPECT_EQ(again({}).resolved_json, first.resolved_json);
  EXPECT_EQ(run(again({})).number("billed_bytes.dram"), run(first).number("billed_bytes.dram"));
  EXPECT_TRUE(unsized_tiers(again({"hardware.dram.capacity_bytes=64e9"})).empty());
  EXPECT_TRUE(unsized_tiers(again({"policy.tiers.0.capacity_bytes=64e9"})).empty());
  try {
    again({"billing.unsized_tiers=dram,sdd"});
    ADD_FAILURE() << "accepted";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "--set billing.unsized_tiers=dram,sdd: found \"sdd\", allowed: dram, cxl, ssd, "
                 "remote, separated by commas; did you mean \"ssd\"?");
  }
}

TEST(Billing, GivesALaunchLineTheSizesThatTheRunFills) {
  const Scenario open = load({"policy={}", "policy.name=vllm_offload"});
  EXPECT_TRUE(launch_line_of(open).find("--kv-offloading-size SIZE_GIB") != std::string::npos)
      << launch_line_of(open);
  const RunResult result = run(open);
  const double gib = std::ceil(result.number("billed_bytes.dram") / 1073741824);
  ASSERT_GE(gib, 1);
  const Scenario sized = with_filled_sizes(open, result);
  EXPECT_EQ(unsized_tiers(sized), std::vector{Tier::ssd});
  EXPECT_NE(launch_line_of(sized).find("--kv-offloading-size " + std::to_string(std::llround(gib)) + " "),
            std::string::npos)
      << launch_line_of(sized);
  // Two engines over two GPUs each: a whole number of GiB per GPU of the fullest engine.
  RunResult filled;
  filled.metrics = {{"billed_bytes.dram", 2 * 9.5 * 1073741824}};
  const Scenario two =
      load({"policy={}", "policy.name=vllm_offload", "serving.tensor_parallel_size=2", "fleet.replicas=2"});
  EXPECT_EQ(with_filled_sizes(two, filled).policy.tiers->front().capacity_bytes, 10 * 1073741824.0);
  filled.metrics = {{"billed_bytes.dram", 0.0}};
  EXPECT_FALSE(with_filled_sizes(two, filled).policy.tiers->front().capacity_bytes);
  // A size that somebody chose stays.
  const Scenario chosen = load({"policy={}", "policy.name=vllm_offload",
                                R"(policy.tiers=[{"kind": "dram", "capacity_bytes": 1e11}])"});
  EXPECT_EQ(with_filled_sizes(chosen, result).policy.tiers->front().capacity_bytes, 1e11);
}

TEST(Billing, SaysWhereNobodyChoseTheSize) {
  const RunResult all = run(load(with(kWhole, {R"(policy.tiers=[{"kind": "dram"}])"})));
  EXPECT_TRUE(has_note(
      all.notes,
      "bills all 250 GB of DRAM, 1.10 $ per hour, because no size is set: "
      "policy.tiers.0.capacity_bytes sets it; billing.storage=filled bills only what the run fills"));
  EXPECT_DOUBLE_EQ(all.number("billed_bytes.dram"), 250e9);
  for (const char* chosen : {"policy.tiers.0.capacity_bytes=2e11", "hardware.dram.capacity_bytes=3e11"}) {
    const RunResult some = run(load(with(kWhole, {R"(policy.tiers=[{"kind": "dram"}])", chosen})));
    EXPECT_FALSE(has_note(some.notes, "bills all")) << chosen;
  }
  const RunResult ssds = run(load(with(kWhole, {"hardware.ssd.count=2", "hardware.dram=null"})));
  EXPECT_FALSE(has_note(ssds.notes, "bills all"));
  const RunResult none = run(load(with(kWhole, {"policy.name=recompute"})));
  EXPECT_FALSE(has_note(none.notes, "bills all"));
  EXPECT_EQ(none.number("billed_bytes.dram"), 0);
}

// A machine with that capacity evicts nothing either, and costs the same.
TEST(Billing, OfWhatARunFillsIsThatOfAMachineOfThatSize) {
  const std::vector<std::string> dram = {"hardware=h100-sxm", "hardware.gpu.price_includes_storage=false",
                                         R"(policy.tiers=[{"kind": "dram"}])"};
  const RunResult result = run(load(dram));
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
  const RunResult result =
      run(load({"hardware=h100-sxm", R"(policy.tiers=[{"kind": "dram"}])", "fleet.replicas=3"}));
  EXPECT_GT(result.number("billed_bytes.dram"), result.number("peak_stored_bytes.dram"));
  EXPECT_LT(result.number("billed_bytes.dram"), 3 * result.number("peak_stored_bytes.dram"));
}

// What the rated writes are worth that a rented drive gave, and no part of what the run costs.
TEST(Billing, OfRentedSsdsNamesTheirWearAndLeavesItToTheLandlord) {
  const RunResult result = run(load({"hardware=h100-sxm", "hardware.gpu.price_includes_storage=false",
                                     R"(policy.tiers=[{"kind": "ssd"}])"}));
  const double written = result.number("written_bytes.ssd");
  ASSERT_GT(written, 0);
  const double device_usd = 7680 * 0.33;
  EXPECT_NEAR(result.number("cost.ssd_wear_usd"), written / 14.016e15 * device_usd, 1e-9);
  EXPECT_NEAR(result.number("cost.total_usd"), result.number("cost.gpu_usd") + result.number("cost.ssd_usd"),
              1e-9);
}

}  // namespace
}  // namespace kvcap::billing_test
