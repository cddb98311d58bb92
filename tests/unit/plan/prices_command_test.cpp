// --prices, --set and --out of the commands, as their users meet them.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "unit/cli.h"

namespace kvcap::prices_command_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class PricesCommand : public Cli {
 protected:
  PricesCommand() {
    write("quote.json", R"({"schema": "kvcap.prices/1", "date": "2026-10",
                            "all": {"gpu": {"price_usd_per_hour": 2}},
                            "hardware": {"l40s": {"gpu": {"price_usd_per_hour": 0.5}}}})");
  }
  double gpu_usd_per_hour(std::vector<std::string> arguments) const {
    arguments.emplace_back("--json");
    const Outcome outcome = kvcap(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const Json json = Json::parse(outcome.out);
    const Json& result = json.contains("results") ? json["results"][0] : json;
    return result["metrics"]["cost"]["usd_per_gpu_hour"].get<double>();
  }
};

TEST_F(PricesCommand, AreThoseOfTheFileInRunAndCompareAndGiveWayToSet) {
  const std::string prices = path("quote.json");
  EXPECT_DOUBLE_EQ(gpu_usd_per_hour({"run", path("chat.json")}), 5);
  EXPECT_DOUBLE_EQ(gpu_usd_per_hour({"run", path("chat.json"), "--prices", prices}), 2);
  EXPECT_DOUBLE_EQ(
      gpu_usd_per_hour({"compare", path("chat.json"), "--prices", prices, "--over", "hardware=l40s"}), 0.5);
  EXPECT_DOUBLE_EQ(gpu_usd_per_hour({"run", path("chat.json"), "--prices", prices, "--set",
                                     "hardware.gpu.price_usd_per_hour=3"}),
                   3);
}

TEST_F(PricesCommand, AreNamedInOneLineWhereTheyAreBad) {
  write("quote.json", R"({"schema": "kvcap.prices/1", "hardware": {"l40": {}}})");
  for (const char* command : {"run", "compare", "capacity"}) {
    std::vector<std::string> arguments = {command, path("chat.json"), "--prices", path("quote.json")};
    if (std::string(command) == "compare") arguments.insert(arguments.end(), {"--policies", "hcache"});
    const Outcome outcome = kvcap(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << command;
    EXPECT_NE(outcome.err.find("quote.json: hardware: found \"l40\"; did you mean \"l40s\"? allowed: "),
              std::string::npos)
        << outcome.err;
  }
  const Outcome missing = kvcap({"run", path("chat.json"), "--prices", path("none.json")});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_NE(missing.err.find("none.json"), std::string::npos) << missing.err;
}

// What a command reads it does not write over.
TEST_F(PricesCommand, AreNoPlaceForAResult) {
  fs::create_directories(path("made"));
  fs::rename(path("quote.json"), path("made/result.json"));
  const Outcome outcome =
      kvcap({"run", path("chat.json"), "--prices", path("made/result.json"), "--out", path("made")});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("which this command reads"), std::string::npos) << outcome.err;
}

// The command of a plan's answer has its prices and its sizes.
TEST_F(PricesCommand, OfAPlanAreInTheCommandThatRepeatsItsAnswer) {
  write("quote.json", R"({"schema": "kvcap.prices/1", "date": "2026-10", "hardware": {"l40s":
      {"gpu": {"price_usd_per_hour": 0.5}, "dram": {"price_usd_per_gb_hour": 0.0044}}}})");
  write("plan.json", R"({"schema": "kvcap.plan/1", "max_replications": 1, "base":
      {"schema": "kvcap.scenario/1", "model": "llama-2-7b", "hardware": "l40s",
       "serving": {"prefix_caching": false, "max_model_len": 16384},
       "workload": {"source": {"kind": "chat"}, "arrivals": {"sessions_per_s": 0.03}, "sessions": 30},
       "policy": {"name": "kv_offload", "tiers": [{"kind": "dram"}]}},
      "search": {"policy.name": ["kv_offload", "hcache"]}, "meet": {"token_hit_rate": {"min": 0.5}}})");
  const Outcome outcome = kvcap({"plan", path("plan.json"), "--prices", path("quote.json"), "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json plan = Json::parse(outcome.out);
  ASSERT_EQ(plan["bought"].size(), 1U);
  EXPECT_EQ(plan["bought"][0]["tier"], "dram");
  EXPECT_TRUE(plan["bought"][0]["searched"]);
  EXPECT_DOUBLE_EQ(plan["bought"][0]["profile_bytes"].get<double>(), 187.5e9);
  EXPECT_EQ(plan["price_sources"][0]["price"], "gpu.price_usd_per_hour");
  EXPECT_EQ(plan["price_sources"][0]["from"], path("quote.json") + ": hardware.l40s.gpu.price_usd_per_hour");
  EXPECT_EQ(plan["price_sources"][0]["date"], "2026-10");
  const double bytes = plan["bought"][0]["bytes"].get<double>();
  EXPECT_LT(bytes, 187.5e9);
  std::vector<std::string> words;
  std::string word;
  for (char letter : plan["answer"]["command"].get<std::string>() + " ") {
    if (letter == '\'') continue;
    if (letter != ' ') {
      word += letter;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  words.erase(words.begin());
  words.emplace_back("--json");
  const Json run = Json::parse(kvcap(words).out);
  const double usd_per_hour = run["metrics"]["cost"]["usd_per_hour"].get<double>();
  EXPECT_DOUBLE_EQ(usd_per_hour, plan["answer"]["metrics"]["cost.usd_per_hour"]["mean"].get<double>());
  EXPECT_NEAR(usd_per_hour, 0.5 + 0.0044 * bytes / 1e9, 1e-9);
}

TEST_F(PricesCommand, OfASweepAreThoseOfEveryPointAsWhatSetSays) {
  write("sweep.json",
        R"({"schema": "kvcap.sweep/1", "base": "chat.json", "grid": {"hardware.ssd.count": [1, 2]}})");
  const Outcome outcome = kvcap({"sweep", path("sweep.json"), "--out", path("swept"), "--prices",
                                 path("quote.json"), "--set", "workload.sessions=10", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const Json& row : Json::parse(outcome.out)["results"]) {
    EXPECT_DOUBLE_EQ(row["cost.usd_per_gpu_hour"].get<double>(), 2);
    EXPECT_LT(row["completed"].get<int>(), 200);  // of 10 chats and not of 60
  }
  const Outcome twice =
      kvcap({"sweep", path("sweep.json"), "--out", path("swept2"), "--set", "hardware.ssd.count=4"});
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_EQ(twice.err,
            "kvcap: --set: found \"hardware.ssd.count=4\", allowed: a field that the sweep does not set\n");
}

TEST_F(PricesCommand, RestoreAndValidateWriteIntoAFolder) {
  const std::vector<std::string> restore = {"restore", "--model",  "llama-2-7b", "--hardware",
                                            "l40s",    "--tokens", "1000",       "--policy",
                                            "hcache",  "--json",   "--out",      path("one")};
  const Outcome outcome = kvcap(restore);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(read_file(path("one/restore.json")), outcome.out);
  EXPECT_EQ(kvcap(restore).exit_code, 0);  // kvcap's own file
  write("one/restore.json", "mine");
  EXPECT_EQ(kvcap(restore).exit_code, 2);
  fs::create_directories(path("two"));
  write("two/validation.json", "mine");
  const Outcome refused = kvcap({"validate", "--suite", "twin", "--out", path("two")});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("was not written by kvcap"), std::string::npos) << refused.err;
  EXPECT_EQ(read_file(path("two/validation.json")), "mine");
}

}  // namespace
}  // namespace kvcap::prices_command_test
