// Tests that a scenario has the same result with every command, under every engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "unit/cli.h"

namespace kvcap::same_scenario_test {
namespace {

using Json = nlohmann::json;

class SameScenario : public Cli {};

TEST_F(SameScenario, HasOneResultInRunCompareAndSweep) {
  for (const char* engine : {"vllm", "sglang", "trtllm"}) {
    const Json scenario = {
        {"schema", "kvcap.scenario/1"},      {"name", "one"},
        {"model", "llama-3.1-8b"},           {"hardware", "h100-sxm"},
        {"serving", {{"engine", engine}}},   {"workload", {{"source", {{"kind", "chat"}}}, {"sessions", 40}}},
        {"policy", {{"name", "kv_offload"}}}};
    const Json grid = {{"policy.name", {"kv_offload"}}};
    const Json sweep = {{"schema", "kvcap.sweep/1"}, {"base", scenario}, {"grid", grid}};
    write("one.json", scenario.dump());
    write("sweep.json", sweep.dump());
    const auto json_of = [&](const std::vector<std::string>& command) {
      const Outcome outcome = kvcap(command);
      EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
      return Json::parse(outcome.out, nullptr, false);
    };
    const Json run = json_of({"run", path("one.json"), "--json"});
    const Json compared = json_of({"compare", path("one.json"), "--policies", "kv_offload", "--json"});
    const Json swept =
        json_of({"sweep", path("sweep.json"), "--out", path(std::string("sweep-") + engine), "--json"});
    const Json memory = json_of({"show", "memory", path("one.json"), "--json"});
    EXPECT_EQ(compared["results"][0]["metrics"], run["metrics"]) << engine;
    EXPECT_EQ(memory["kv_capacity_tokens"], run["metrics"]["kv_capacity_tokens"]) << engine;
    const Json flat = run["metrics"].flatten();
    int same = 0;
    for (const auto& [pointer, value] : flat.items()) {
      std::string name = pointer.substr(1);
      std::replace(name.begin(), name.end(), '/', '.');
      const Json& row = swept["results"][0];
      if (!row.contains(name) || value.is_null()) continue;
      EXPECT_EQ(row[name], value) << engine << " " << name;
      ++same;
    }
    EXPECT_GT(same, 80) << engine;
  }
}

}  // namespace
}  // namespace kvcap::same_scenario_test
