// What a run derives from its scenario.
#include "run/setup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/input_error.h"
#include "commands/output.h"
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

Scenario pools_of_four(const std::vector<std::string>& overrides) {
  std::vector<std::string> all = {
      "serving.tensor_parallel_size=8",
      R"(fleet={"replicas": 2, "disaggregation": {"prefill_replicas": 1, "prefill": {"tensor_parallel_size": 4},
          "decode": {"tensor_parallel_size": 4}}})"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  return parse_scenario(
      R"({"schema": "kvcap.scenario/1", "model": "llama-3.1-70b", "hardware": "h100-sxm-8x",
          "workload": {"source": {"kind": "chat"}}, "policy": "lmcache"})",
      "setup.json", all);
}

TEST(Setup, TakesThePoolsGpusWhereBothStateThem) {
  const Scenario scenario = pools_of_four({});
  EXPECT_EQ(scenario.hardware.gpu.count, 4);
  EXPECT_EQ(scenario.policy.tiers->front().capacity_bytes, 4 * 5 * 1073741824.0);  // 5 GiB for each
  // Of a whole server, a node with half its GPUs has half its DRAM.
  const auto with_dram = [&](double part) {
    const double bytes = part * pools_of_four({"hardware.gpu.count=8"}).hardware.dram->capacity_bytes;
    return pools_of_four({"hardware.gpu.count=8", R"(policy.tiers=[{"kind": "dram", "capacity_bytes": )" +
                                                      std::to_string(bytes) + "}]"});
  };
  EXPECT_NO_THROW(with_dram(0.49));
  EXPECT_THROW(with_dram(0.51), InputError);
}

TEST(Setup, NamesTheMachinesOfUnequalPools) {
  const std::vector<std::string> half = {"hardware.gpu.count=8",
                                         "fleet.disaggregation.decode.tensor_parallel_size=2"};
  const std::string line = scenario_line(pools_of_four(half), {});
  EXPECT_NE(line.find(" on 4x H100"), std::string::npos) << line;
  EXPECT_NE(line.find(" for prompts and 2x H100"), std::string::npos) << line;
  EXPECT_NE(scenario_line(pools_of_four({}), {}).find(" on 2 nodes of 4x H100"), std::string::npos);
}

TEST(Setup, VerifiesAllDraftsInEveryBatchOfRanksOfAPool) {
  const std::string drafts =
      R"(serving.speculative={"method": "ngram", "draft_tokens": 3,
          "drafts_by_batch": [{"from_sequences": 1, "draft_tokens": 1}]})";
  EXPECT_FALSE(pools_of_four({drafts}).serving.speculative->drafts_by_batch.empty());
  EXPECT_TRUE(pools_of_four({drafts, "fleet.disaggregation.decode.tensor_parallel_size=2",
                             "fleet.disaggregation.decode.data_parallel_size=2"})
                  .serving.speculative->drafts_by_batch.empty());
}

TEST(Setup, PadsTheRowsOfSglangsTritonAndSaysThatItIsNotMeasured) {
  const auto machine = [](const std::string& engine, const std::string& backend) {
    return Machine(parse_scenario(
                       R"({"schema": "kvcap.scenario/1", "model": "llama-3.1-8b", "hardware": "h100-sxm-8x",
                "workload": {"source": {"kind": "chat"}}, "policy": "recompute"})",
                       "setup.json", {"serving.engine=" + engine, "serving.attention_backend=" + backend}),
                   0, 0);
  };
  const auto two_s = [](const Machine& one) {
    return one.cost().attention_layer_s(std::vector<PrefillChunk>{{4096, 8192}, {1, 8192}});
  };
  const Machine triton = machine("sglang", "triton"), flash = machine("sglang", "flash_attn");
  EXPECT_GT(two_s(triton), 1.7 * two_s(flash));
  EXPECT_NEAR(two_s(machine("vllm", "triton")), two_s(machine("vllm", "flash_attn")), 1e-12);
  const auto says = [](const Machine& one) {
    return std::any_of(one.notes().begin(), one.notes().end(), [](const std::string& note) {
      return note.starts_with("assumed: Triton's attention");
    });
  };
  EXPECT_TRUE(says(triton));
  EXPECT_FALSE(says(flash));
}

}  // namespace
}  // namespace kvcap::setup_test
