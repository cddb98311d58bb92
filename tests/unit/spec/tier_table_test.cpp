// Tiers that only a row of base/tier.h describes, by the one that is there: memory behind CXL.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/input_error.h"
#include "base/text/joined.h"
#include "base/tier.h"
#include "cost/drawn_machine.h"
#include "cost/routes.h"
#include "plan/replicate.h"
#include "run/machine.h"
#include "scenario/load.h"

namespace kvcap::tier_table_test {
namespace {

// Eight expanders of 256 GB, each read at 24 GB/s and written at 12 GB/s.
Scenario load(std::vector<std::string> overrides, const std::string& hardware = "h100-sxm-8x-cxl") {
  overrides.insert(overrides.begin(), "hardware.gpu.count=8");
  return parse_scenario(R"({"schema": "kvcap.scenario/1", "model": "llama-2-7b", "hardware": ")" + hardware +
                            R"(", "serving": {"max_model_len": 16384, "prefix_caching": false},
      "workload": {"source": {"kind": "chat"}, "sessions": 30}, "policy": {"name": "kv_offload"}})",
                        "chat.json", overrides);
}
RunResult run(const Scenario& scenario) { return run_replications({scenario}).front().front(); }
std::string error_of(const std::vector<std::string>& overrides, const std::string& hardware) {
  try {
    load(overrides, hardware);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}
bool has_metric(const RunResult& result, const std::string& name) {
  return std::any_of(result.metrics.begin(), result.metrics.end(),
                     [&](const Metric& one) { return one.name == name; });
}

TEST(TierTable, LeadsToTheGpuOverItsReadsAndPcie) {
  const HardwareProfile hardware = load({}).hardware;
  const Route loads = route(hardware, 8, Tier::cxl, Tier::hbm);
  ASSERT_EQ(loads.hops.size(), 2U);
  EXPECT_EQ(loads.hops[0].resource, Resource::cxl_read);
  EXPECT_EQ(loads.hops[1].resource, Resource::pcie_h2d);
  EXPECT_DOUBLE_EQ(loads.bytes_per_s(), 192e9);  // 8 x 24; PCIe: 8 x 51.8
  EXPECT_DOUBLE_EQ(loads.latency_s, 250e-9);
  const Route saves = route(hardware, 8, Tier::hbm, Tier::cxl);
  EXPECT_EQ(saves.hops[0].resource, Resource::cxl_write);
  EXPECT_DOUBLE_EQ(saves.bytes_per_s(), 96e9);  // 8 x 12
  // One GPU's link is slower than all devices.
  EXPECT_DOUBLE_EQ(route(hardware, 1, Tier::cxl, Tier::hbm).bytes_per_s(), 51.8e9);
}

TEST(TierTable, PassesThroughDramWhereContextsLieThereToo) {
  const auto crossings_of_dram = [](const std::string& tiers) {
    const Scenario scenario = load({"policy.tiers=" + tiers});
    const Machine machine(scenario, 1000, 100000);
    int crossings = 0;
    for (const Hop& hop : machine.route(Tier::cxl, Tier::hbm).hops) {
      if (hop.resource == Resource::dram) crossings += hop.crossings;
    }
    return crossings;
  };
  EXPECT_EQ(crossings_of_dram(R"([{"kind":"cxl"}])"), 0);
  EXPECT_EQ(crossings_of_dram(R"([{"kind":"dram"},{"kind":"cxl"}])"), 2);
}

TEST(TierTable, IsNamedInResultsOfMachinesThatHaveItAndInNoOthers) {
  const std::vector<std::string> names = {
      "hit_tokens.cxl",        "used_tokens.cxl",    "peak_stored_bytes.cxl", "read_bytes.cxl",
      "written_bytes.cxl",     "cost.cxl_usd",       "billed_bytes.cxl",      "utilization.cxl_read",
      "utilization.cxl_write", "bottleneck.cxl_read"};
  const RunResult with = run(load({R"(policy.tiers=[{"kind":"cxl"}])"}));
  for (const std::string& name : names) EXPECT_TRUE(has_metric(with, name)) << name;
  EXPECT_GT(with.number("hit_tokens.cxl"), 0);
  EXPECT_GT(with.number("utilization.cxl_read"), 0);
  const RunResult without = run(load({R"(policy.tiers=[{"kind":"dram"}])"}, "h100-sxm-8x"));
  for (const Metric& one : without.metrics) EXPECT_EQ(one.name.find("cxl"), std::string::npos) << one.name;
}

TEST(TierTable, IsBilledByItsDevices) {
  const RunResult result = run(load({R"(policy.tiers=[{"kind":"cxl","capacity_bytes":1e12}])"}));
  // All expanders of the profile, 2,048 GB at 0.0044 $ per GB and hour, though the tier has 1,000 GB.
  const double usd = 2048 * 0.0044 * result.number("duration") / 3600;
  EXPECT_NEAR(result.number("cost.cxl_usd"), usd, 1e-9 * usd);
  EXPECT_NEAR(result.number("cost.total_usd"), usd + result.number("cost.gpu_usd"), 1e-9);
  EXPECT_EQ(result.number("cost.dram_usd"), 0);
}

TEST(TierTable, IsReadBetweenDramAndSsds) {
  // Contexts leave a small DRAM for CXL, and from there for the SSDs.
  const RunResult result = run(load({R"(policy.tiers=[{"kind":"dram","capacity_bytes":4e9},)"
                                     R"({"kind":"cxl","capacity_bytes":8e9},{"kind":"ssd"}])"}));
  for (const char* tier : {"dram", "cxl", "ssd"}) {
    EXPECT_GT(result.number("written_bytes." + std::string(tier)), 0) << tier;
  }
  EXPECT_LE(result.number("peak_stored_bytes.cxl"), 8e9);
}

TEST(TierTable, OfAShareOfAServerHasItsPartOfTheDevices) {
  const Scenario scenario = load({"hardware.gpu.count=2"});
  EXPECT_EQ(scenario.hardware.devices[index(Tier::cxl)]->count, 2);  // 2 / 8 x 8
  EXPECT_TRUE(std::any_of(scenario.notes.begin(), scenario.notes.end(), [](const std::string& note) {
    return note.find("500 GB of DRAM and 2 CXL memory devices and 2 SSDs") != std::string::npos;
  }));
}

TEST(TierTable, IsSlowerOnAMachineThatIsDrawnSo) {
  RegimeFactors factors;
  factors.fill(1);
  for (std::size_t i = 0; i < kRegimes.size(); ++i) {
    if (kRegimes[i].name == "cxl") factors[i] = 2;
  }
  const HardwareProfile slow = machine_with(load({}).hardware, factors);
  EXPECT_DOUBLE_EQ(slow.devices[index(Tier::cxl)]->read_bandwidth_bytes_per_s, 12e9);
  EXPECT_DOUBLE_EQ(slow.devices[index(Tier::cxl)]->latency_s, 500e-9);
}

TEST(TierTable, TellsBadInputAsOtherTiersDo) {
  const std::string tier = R"(policy.tiers=[{"kind":"cxl"}])";
  const std::string with = "h100-sxm-8x-cxl", without = "h100-sxm-8x";
  EXPECT_EQ(error_of({tier}, without), "--set " + tier +
                                           ": policy.tiers.0.kind: found \"cxl\", allowed: hbm, dram, ssd "
                                           "(what the hardware has)");
  EXPECT_NE(error_of({R"(policy.tiers=[{"kind":"cxl","capacity_bytes":3e12}])"}, with)
                .find("found 3000000000000, allowed: at most 2048000000000 (what the hardware has; "
                      "hardware.cxl.capacity_bytes sets it)"),
            std::string::npos);
  EXPECT_NE(error_of({R"(policy.tiers=[{"kind":"ssd"},{"kind":"cxl"}])"}, with)
                .find("found \"cxl\" after \"ssd\", allowed: tiers from near to far: " + joined(kTierNames)),
            std::string::npos);
  EXPECT_NE(error_of({"hardware.cxl.read_bandwidth_bytes_per_s=0"}, with).find("found 0, allowed: a number"),
            std::string::npos);
  EXPECT_NE(error_of({"hardware.cxl.latency=1"}, with).find("did you mean \"latency_s\"?"),
            std::string::npos);
  EXPECT_NE(error_of({"hardware.cxl.purchase_usd_per_gb=5"}, with).find("rented or bought: one of them is 0"),
            std::string::npos);
}

// Any profile may be given such a part.
TEST(TierTable, CanBeAddedToAProfileOnTheCommandLine) {
  const std::string part = R"(hardware.cxl={"capacity_bytes":128e9,"read_bandwidth_bytes_per_s":24e9,)"
                           R"("write_bandwidth_bytes_per_s":12e9})";
  const Scenario scenario = load({part, R"(policy.tiers=[{"kind":"cxl"}])"}, "h100-sxm");
  EXPECT_GT(run(scenario).number("hit_tokens.cxl"), 0);
}

}  // namespace
}  // namespace kvcap::tier_table_test
