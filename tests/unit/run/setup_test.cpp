// What a run derives from its scenario.
#include "run/setup.h"

#include <gtest/gtest.h>

#include "base/input_error.h"
#include "scenario/load.h"

namespace kvcap::setup_test {
namespace {

KeepingOptions keeping(const std::string& tiers) {
  const Scenario scenario = parse_scenario(
      R"({"schema": "kvcap.scenario/1", "name": "setup", "model": "llama-3.1-8b",
          "hardware": "h100-sxm-8x-s3", "workload": {"source": {"kind": "chat"}}, "policy": "vllm_offload"})",
      "setup.json", {"policy.tiers=" + tiers});
  Workload workload;
  workload.sessions = {{.first_turn = 0, .turn_count = 1}};
  workload.turns = {{64, 1, 0}};
  return Setup(scenario, workload).engine.keeping;
}

TEST(Setup, MovesContextsToDramFirstWhereThereIsDramAndATierBelowIt) {
  for (const char* below : {R"({"kind": "ssd"})", R"({"kind": "remote"})"}) {
    const KeepingOptions both = keeping(R"([{"kind": "dram"}, )" + std::string(below) + "]");
    EXPECT_EQ(both.prefetch_on_arrival, PrefetchOnArrival::at_lookup);
    EXPECT_TRUE(both.loads_first_tier_only);
  }
  EXPECT_EQ(keeping(R"([{"kind": "dram"}])").prefetch_on_arrival, PrefetchOnArrival::none);
}

TEST(Setup, LoadsContextsFromWhereTheyAreWithoutDram) {
  const KeepingOptions options = keeping(R"([{"kind": "ssd"}, {"kind": "remote"}])");
  EXPECT_EQ(options.prefetch_on_arrival, PrefetchOnArrival::none);
  EXPECT_FALSE(options.loads_first_tier_only);
}

}  // namespace
}  // namespace kvcap::setup_test
