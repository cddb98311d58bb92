// kvcap plan --break-even as its users meet it, and its map in kvcap report's table.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "unit/cli.h"

namespace kvcap::break_even_command_test {
namespace {

using Json = nlohmann::json;

class BreakEvenCommand : public Cli {
 protected:
  BreakEvenCommand() {
    write("plan.json", R"({"schema": "kvcap.plan/1", "name": "small",
        "base": {"schema": "kvcap.scenario/1", "model": "llama-2-7b", "hardware": "a100-40g-4x-pm9a3",
                 "workload": {"source": {"kind": "chat"}}},
        "break_even": {"policies": ["recompute", "kv_offload"],
                       "across": {"hardware.ssd.read_bandwidth_bytes_per_s": [1e8, 12.8e9]},
                       "down": {"tokens": [1024, 4096]}, "set": {"new_tokens": 64, "hardware.ssd.count": 1}}})");
  }
  Json map() const {
    const Outcome outcome = kvcap({"plan", path("plan.json"), "--break-even", "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Json::parse(outcome.out);
  }
};

TEST_F(BreakEvenCommand, NamesTheFastestPolicyOfEachCellAndWhereItChanges) {
  const Json map = this->map();
  EXPECT_EQ(map["schema"], "kvcap.break_even/1");
  EXPECT_EQ(map["across"], "hardware.ssd.read_bandwidth_bytes_per_s");
  EXPECT_EQ(map["down"], "tokens");
  ASSERT_EQ(map["cells"].size(), 4U);
  for (const Json& cell : map["cells"]) {
    const double recompute_s = cell["policies"][0]["ttft_s"], offload_s = cell["policies"][1]["ttft_s"];
    EXPECT_EQ(cell["winner"], recompute_s < offload_s ? "recompute" : "kv_offload") << cell;
    EXPECT_NEAR(cell["lead"], std::max(recompute_s, offload_s) / std::min(recompute_s, offload_s), 1e-9);
    for (const Json& one : cell["policies"]) {
      EXPECT_NEAR(one["ttft_s"], one["closed_form_ttft_s"], 1e-3 * one["ttft_s"].get<double>()) << one;
    }
  }
  // 4,096 tokens have 2.1 GB of KV: 21 s at 0.1 GB/s, 0.17 s at 12.8 GB/s. To recompute them takes 0.28 s.
  // recompute.
  ASSERT_EQ(map["boundaries"].size(), 2U) << map;
  for (const Json& one : map["boundaries"]) {
    EXPECT_EQ(one["from"], "recompute");
    EXPECT_EQ(one["to"], "kv_offload");
    EXPECT_GT(one["simulated"], 1e8);
    EXPECT_LT(one["simulated"], 12.8e9);
  }
}

TEST_F(BreakEvenCommand, DrawsTheMapWithALetterForEachPolicy) {
  const Outcome outcome = kvcap({"plan", path("plan.json"), "--break-even"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("a = recompute, b = kv_offload"), std::string::npos) << outcome.out;
  for (const char* row : {"\n  1024 ", "\n  4096 "}) {
    const std::size_t at = outcome.out.find(row);
    ASSERT_NE(at, std::string::npos) << outcome.out;
    const std::string line = outcome.out.substr(at + 1, outcome.out.find('\n', at + 1) - at);
    EXPECT_NE(line.find(" a "), std::string::npos) << line;
    EXPECT_NE(line.find(" b "), std::string::npos) << line;
  }
  EXPECT_NE(outcome.out.find("tokens=4096: recompute -> kv_offload at "), std::string::npos) << outcome.out;
}

TEST_F(BreakEvenCommand, GivesTheReportARowForEachTimeOfEachPolicy) {
  const Json map = this->map();
  write("map.json", map.dump());
  const Outcome outcome = kvcap({"report", path("map.json"), "--format", "csv"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("input,setting,metric,value,half_width\n")) << outcome.out;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1 + 4 * 2 * 2) << outcome.out;
  const std::string cell =
      "map,hardware.ssd.read_bandwidth_bytes_per_s=" + map["cells"][0]["across"].get<std::string>() +
      " tokens=1024 recompute,ttft_s,";
  const std::size_t at = outcome.out.find(cell);
  ASSERT_NE(at, std::string::npos) << outcome.out;
  EXPECT_EQ(std::stod(outcome.out.substr(at + cell.size())), map["cells"][0]["policies"][0]["ttft_s"]);
}

TEST_F(BreakEvenCommand, RefusesAPlanWithoutABreakEven) {
  write("other.json",
        R"({"schema": "kvcap.plan/1", "base": {"schema": "kvcap.scenario/1", "model": "llama-2-7b",
      "hardware": "l40s", "workload": {"source": {"kind": "chat"}}}, "search": {"policy.name": ["hcache"]},
      "meet": {"p99_ttft_ms": {"max": 1000}}})");
  const Outcome outcome = kvcap({"plan", path("other.json"), "--break-even"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err,
            "kvcap: " + path("other.json") + ": break_even: missing, required for --break-even\n");
}

}  // namespace
}  // namespace kvcap::break_even_command_test
