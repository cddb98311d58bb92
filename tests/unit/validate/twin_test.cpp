// How the suite twin judges: errors, biases, order of policies, and what it leaves out.
#include "validate/twin.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/input_error.h"
#include "run/machine.h"
#include "scenario/load.h"

namespace kvcap::twin_test {
namespace {

// Every policy 1 s apart in `count` settings, predicted with a relative error.
std::vector<TwinOutcome> outcomes(int count, double error) {
  std::vector<TwinOutcome> list;
  for (int i = 0; i < count; ++i) {
    for (int policy = 0; policy < 3; ++policy) {
      list.push_back({.policy = std::string(1, static_cast<char>('a' + policy)),
                      .setting = "model/" + std::to_string(i) + "/dram",
                      .measured_s = 1.0 + policy,
                      .spread = 0.05,
                      .predicted_s = (1.0 + policy) * (1 + error)});
    }
  }
  return list;
}

const Check& of(const std::vector<Check>& checks, const std::string& id) {
  return *std::find_if(checks.begin(), checks.end(), [&](const Check& check) { return check.id == id; });
}

TEST(Twin, ErrorsWithinThePromiseAreInside) {
  const std::vector<Check> checks = judge_twin("m", outcomes(20, 0.08), kCpuPromise);
  for (const Check& check : checks) {
    if (check.promised) {
      EXPECT_EQ(check.verdict, Agreement::inside) << check.id;
    }
  }
  EXPECT_NEAR(of(checks, "m.median_error").simulated[0], 0.08, 1e-12);
  EXPECT_NEAR(of(checks, "m.bias.b").simulated[0], 0.08, 1e-12);
  EXPECT_EQ(of(checks, "m.cases").simulated[0], 60);
}

TEST(Twin, ABiasBeyondATenthIsBroken) {
  const std::vector<Check> checks = judge_twin("m", outcomes(20, -0.11), kCpuPromise);
  EXPECT_EQ(of(checks, "m.median_error").verdict, Agreement::inside);
  EXPECT_EQ(of(checks, "m.bias.a").verdict, Agreement::outside);
}

TEST(Twin, DisturbedCasesAreLeftOutAndCounted) {
  std::vector<TwinOutcome> list = outcomes(20, 0);
  list[0].spread = 0.16;
  list[0].predicted_s = 100;
  const std::vector<Check> checks = judge_twin("m", list, kCpuPromise);
  EXPECT_EQ(of(checks, "m.noisy").simulated[0], 1);
  EXPECT_EQ(of(checks, "m.cases").simulated[0], 59);
  EXPECT_EQ(of(checks, "m.cases").verdict, Agreement::outside) << "60 were promised";
  EXPECT_EQ(of(checks, "m.p90_error").simulated[0], 0);
}

TEST(Twin, OnlyDifferencesBeyondNoiseAreRanked) {
  const auto one = [](const char* policy, const char* setting, double measured_s, double predicted_s) {
    return TwinOutcome{policy, setting, measured_s, 0.05, predicted_s};
  };
  // 1.00 and 1.04 are the same; 1.00 and 2.00 are not, and lie in the wrong order.
  const TwinRanking ranking =
      rank({one("a", "m/1/dram", 1, 3), one("b", "m/1/dram", 1.04, 1), one("c", "m/1/dram", 2, 2)});
  EXPECT_EQ(ranking.pairs, 2);
  EXPECT_EQ(ranking.right, 1);
}

TEST(Twin, RecomputationStandsBesideThePoliciesOfEveryTier) {
  const TwinRanking ranking = rank({{"recompute", "m/1/", 3, 0, 3},
                                    {"a", "m/1/dram", 1, 0, 1},
                                    {"a", "m/1/ssd", 2, 0, 2},
                                    {"a", "m/2/ssd", 2, 0, 2}});
  EXPECT_EQ(ranking.pairs, 2);
  EXPECT_EQ(ranking.right, 2);
}

TEST(Twin, AFileThatIsNoTableIsRefused) {
  EXPECT_THROW(twin_checks_of("no such file", ""), InputError);
  EXPECT_THROW(twin_checks_of(std::string(KVCAP_SOURCE_DIR) + "/models/llama-2-7b.json", ""), InputError);
}

TEST(Twin, ACaseOutOfRangeIsRefusedWithItsPlaceInTheFile) {
  const std::string good =
      R"({"policy": "kv_offload", "options": {}, "model": "m", "tokens": 128, "new_tokens": 16,
      "tier": "dram", "requests": 1, "mean_ttft_s": {"minimum": 0.1, "spread": 0.1}})";
  const std::filesystem::path path = std::filesystem::temp_directory_path() / "kvcap-twin-case.json";
  const auto refusal = [&](std::string_view from, const std::string& to) {
    std::string bad = good;
    bad.replace(bad.find(from), from.size(), to);
    std::ofstream(path)
        << R"({"schema": "kvcap.twin/1", "hardware": "h", "backend": "cpu", "models": {"m": {}},
                             "cases": [)"
        << good << ", " << bad << "]}";
    try {
      twin_checks_of(path.string(), "");
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("taken");
  };
  const std::string where = path.string() + ": cases.1.";
  EXPECT_EQ(refusal("128", "-5"), where + "tokens: found -5, allowed: an integer from 1 to 10000000");
  EXPECT_EQ(refusal("\"requests\": 1", "\"requests\": 0"),
            where + "requests: found 0, allowed: an integer from 1 to 10000000");
  EXPECT_EQ(refusal("\"m\"", "\"n\""), where + "model: found \"n\", allowed: m");
  EXPECT_EQ(refusal("dram", "tape"), where + "tier: found \"tape\", allowed: dram, ssd");
  EXPECT_EQ(refusal("{}", R"({"kv_layers": "4"})"),
            where + "options.kv_layers: found \"4\", allowed: an integer from 0 to 1000000");
  EXPECT_EQ(refusal("\"tokens\": 128, ", ""), where + "tokens: missing, required");
  std::filesystem::remove(path);
}

TEST(Twin, ACaseOnATierThatTheHardwareLacksIsRefusedBeforeAnythingRuns) {
  const std::filesystem::path path = std::filesystem::temp_directory_path() / "kvcap-twin-tier.json";
  std::ofstream(path) << R"({"schema": "kvcap.twin/1", "hardware": "h200-vm", "backend": "cuda",
      "models": {"m": {}}, "cases": [{"policy": "hcache", "options": {}, "model": "m", "tokens": 128,
      "new_tokens": 16, "tier": "ssd", "requests": 1, "mean_ttft_s": {"minimum": 0.1, "spread": 0.1}}]})";
  try {
    twin_checks_of(path.string(), "a30-dram");
    FAIL() << "simulated";
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()),
              path.string() + ": cases.0.tier: found \"ssd\", allowed: the tiers of a30-dram");
  }
  std::filesystem::remove(path);
}

Machine hcache_by_hand(const std::string& recomputed, const std::string& kv) {
  const Scenario scenario = parse_scenario(
      R"({"schema": "kvcap.scenario/1", "model": "llama-2-7b", "hardware": "a100-40g-4x-pm9a3",
          "workload": {"source": {"kind": "chat"}}})",
      "test", {"policy.name=hcache", "policy.recomputed_layers=" + recomputed, "policy.kv_layers=" + kv});
  return {scenario, 2048, 2048};
}

TEST(Twin, LayersCanBeDividedByHand) {
  const Machine machine = hcache_by_hand("3", "4");
  const Schedule schedule = machine.policy().schedule(2048, Tier::ssd);
  EXPECT_EQ(schedule.recompute_layers, 3);
  EXPECT_EQ(schedule.hidden_layers, 25);  // of 32
  EXPECT_EQ(schedule.kv_layers, 4);
  EXPECT_THROW(hcache_by_hand("30", "3"), InputError);
}

TEST(Twin, KeepsEveryCaseOfAPolicyForCharts) {
  std::size_t cases = 0;
  for (const Check& check : judge_twin("m", outcomes(20, 0.08), kCpuPromise)) {
    for (const Check::Case& one : check.cases) EXPECT_NEAR(one.simulated / one.reference, 1.08, 1e-9);
    cases += check.cases.size();
  }
  EXPECT_EQ(cases, 60U);  // 20 settings of three policies
}

}  // namespace
}  // namespace kvcap::twin_test
