// Commands that start from an engine's launch line, and answers that name flags.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "launch/flags/flags.h"
#include "unit/cli.h"

namespace kvcap::launched_command_test {
namespace {

using Json = nlohmann::json;
using Launched = Cli;

constexpr const char* kLine = "vllm serve meta-llama/Llama-3.1-8B-Instruct --kv-offloading-size 50";

// So small that storage below it matters.
constexpr const char* kSmallCache = "serving.kv_capacity_tokens=20000";

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_F(Launched, CompareStartsFromALineAndNamesWhatEachFlagGains) {
  const Outcome outcome =
      kvcap({"compare", path("chat.json"), "--from",
             std::string(kLine) + " --kv-transfer-config.kv_connector NixlConnector", "--draws", "0", "--set",
             kSmallCache, "--set", "serving.max_model_len=16384"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(
      outcome.err,
      "kvcap: --from: NixlConnector moves KV between servers; use fleet.disaggregation to simulate it\n");
  EXPECT_TRUE(has(outcome.out, "llama-3.1-8b")) << "the line's model, not the scenario's";
  EXPECT_TRUE(has(outcome.out, "as launched    recompute      lmcache\n")) << outcome.out;
  EXPECT_FALSE(has(outcome.out, "without --kv-offloading-size")) << "it raises mean TTFT: " << outcome.out;
  EXPECT_FALSE(has(outcome.out, "hcache")) << "a default is never a policy of research";
  const std::string stock =
      kvcap({"compare", path("chat.json"), "--from", "vllm serve meta-llama/Llama-3.1-8B-Instruct", "--draws",
             "0", "--set", kSmallCache, "--set", "serving.max_model_len=16384"})
          .out;
  EXPECT_TRUE(has(stock,
                  "Flags to change, with the predicted gain:\n"
                  "  vllm_offload: --kv-offloading-size 20\n      so far mean TTFT "))
      << stock;
}

TEST_F(Launched, CompareNamesNoFlagThatGainsNothing) {
  std::vector<std::string> command = {"compare", path("chat.json"), "--from", kLine, "--draws", "0"};
  const std::string brief = kvcap(command).out;
  EXPECT_TRUE(has(brief, "\nThe runs were too brief to tell whether to change a flag.\n")) << brief;
  command.insert(command.end(), {"--set", "workload.run_length=steady"});
  const std::string text = kvcap(command).out;
  EXPECT_TRUE(has(
      text, "\nNo flag to change: no setting lowers mean TTFT by more than chance and half a per cent.\n"))
      << text;
  EXPECT_FALSE(has(text, "(+0 %)")) << text;
}

TEST_F(Launched, CompareTakesItsPoliciesAndSettingsAsWell) {
  const Outcome outcome =
      kvcap({"compare", path("chat.json"), "--from", kLine, "--policies", "recompute", "--set",
             "serving.max_num_seqs=7", "--draws", "0", "--out", path("out_folder")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json result = Json::parse(read_file(path("out_folder/as_launched/result.json")));
  EXPECT_EQ(result.at("scenario").at("serving").at("max_num_seqs"), 7);
  EXPECT_TRUE(has(outcome.out, "as launched    recompute")) << outcome.out;
  EXPECT_FALSE(has(outcome.out, "hcache"));
}

TEST_F(Launched, CompareTakesValuesOfAFieldBesideALine) {
  const std::vector<std::string> command = {"compare", path("chat.json"), "--from", kLine, "--draws", "0"};
  std::vector<std::string> over = command;
  over.insert(over.end(), {"--over", "serving.max_num_seqs=2,9"});
  const Outcome outcome = kvcap(over);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(has(outcome.out, "as launched")) << outcome.out;
  EXPECT_FALSE(has(outcome.out, "--max-num-seqs 2")) << "two at once are slower: " << outcome.out;
  EXPECT_FALSE(has(outcome.out, "--max-num-seqs 9")) << outcome.out;
  over.insert(over.end(), {"--policies", "hcache"});
  const Outcome both = kvcap(over);
  EXPECT_EQ(both.exit_code, 0) << both.err;
  EXPECT_TRUE(has(both.out, "hcache max_num_seqs=2")) << both.out;
}

TEST_F(Launched, ThePolicyOfALineKeepsItsTiersUnderOver) {
  const Outcome outcome = kvcap({"compare", path("chat.json"), "--from", kLine, "--policies", "vllm_offload",
                                 "--over", "serving.max_num_seqs=7", "--json", "--draws", "0"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json results = Json::parse(outcome.out).at("results");
  ASSERT_EQ(results.size(), 2U);
  const auto tiers = [&](std::size_t i) { return results[i].at("scenario").at("policy").at("tiers"); };
  EXPECT_EQ(tiers(0), tiers(1));
  EXPECT_EQ(results[1].at("scenario").at("serving").at("max_num_seqs"), 7);
}

TEST_F(Launched, CompareWithoutALineNamesFlagsOnlyWhereSomeChange) {
  const auto text = [&](const std::string& policies) {
    return kvcap({"compare", path("chat.json"), "--policies", policies, "--set", "policy.tiers=null", "--set",
                  "model=llama-3.1-8b", "--set", kSmallCache, "--set", "serving.max_model_len=16384",
                  "--draws", "0"})
        .out;
  };
  EXPECT_TRUE(has(text("recompute,lmcache"), "lmcache: LMCACHE_MAX_LOCAL_CPU_SIZE=5 --kv-transfer-config"));
  EXPECT_FALSE(has(text("recompute,kv_offload"), "Flags to change"));
}

TEST_F(Launched, CapacityFindsTheLoadOfTheLineAndOfItsStacks) {
  const Outcome outcome = kvcap({"capacity", path("chat.json"), "--from", kLine, "--seeds", "1", "--meet",
                                 "p99_ttft_ms<=2000", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json answer = Json::parse(outcome.out);
  EXPECT_EQ(answer.at("policy"), "vllm_offload");
  EXPECT_EQ(answer.at("launch"),
            "vllm serve meta-llama/Llama-3.1-8B-Instruct --kv-offloading-size 50 --max-num-seqs 256 "
            "--max-num-batched-tokens 2048");
  ASSERT_EQ(answer.at("flags").size(), 2U);
  EXPECT_EQ(answer.at("flags").at(0).at("policy"), "recompute");
  EXPECT_EQ(answer.at("flags").at(0).at("change"), "without --kv-offloading-size");
  EXPECT_GT(answer.at("flags").at(0).at("capacity"), 0);
  EXPECT_LE(answer.at("flags").at(0).at("capacity"), answer.at("capacity").at("mean"));
}

TEST_F(Launched, ALineThatDoesNotFitTheMachineIsNamedAsThePlace) {
  const Outcome outcome =
      kvcap({"compare", path("chat.json"), "--from", "vllm serve Qwen/Qwen3-8B -tp 2", "--draws", "0"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(
      outcome.err,
      "kvcap: --from: -tp: serving.tensor_parallel_size=2: found 2, allowed: at most hardware.gpu.count = "
      "1\n");
}

std::string line_of(const FlagRow& row) {
  std::string line(kStackNames[static_cast<std::size_t>(row.stack)]);
  const auto add = [&](const char* name, std::string_view value) {
    if (!value.empty()) line += " | " + std::string(name) + " " + std::string(value);
  };
  line += " " + std::string(row.names);
  add("field", row.field);
  add("form", std::to_string(static_cast<int>(row.form)));
  add("words", row.words);
  if (row.unit != 1) add("unit", std::to_string(std::llround(row.unit)));
  add("per rank", row.is_per_rank ? "yes" : "");
  add("storage", row.storage);
  add("starts it", row.starts_storage ? "yes" : "");
  add("default", default_text(row));
  add("effect", std::to_string(static_cast<int>(row.effect)));
  add("source", source_text(row.source));
  return line;
}

// What stands in the tables has no other witness: a word of another default changes no simulation.
TEST_F(Launched, FlagsAreThoseThatWereReadInTheEnginesSources) {
  std::string flags;
  for (const FlagRow& row : flag_table()) flags += line_of(row) + "\n";
  const std::string stored = std::string(KVCAP_SOURCE_DIR) + "/tests/golden/flags.txt";
  if (std::getenv("KVCAP_WRITE_GOLDEN")) std::ofstream(stored) << flags;
  EXPECT_EQ(flags, read_file(stored));
}

TEST_F(Launched, DefaultsOfFlagsAreOfTheTypeThatTheirFormTakes) {
  for (const FlagRow& row : flag_table()) {
    const DefaultValue value = default_value(row);
    if (std::holds_alternative<std::monostate>(value)) continue;
    const bool is_number =
        row.form == FlagForm::number || row.form == FlagForm::integer || row.form == FlagForm::bytes;
    const bool is_switch =
        row.form == FlagForm::present || (row.form == FlagForm::ranks && row.words.empty());
    const bool is_right = is_switch ? std::holds_alternative<bool>(value)
                          : !is_number
                              ? std::holds_alternative<std::string_view>(value)
                              : std::holds_alternative<int64_t>(value) || row.form == FlagForm::number;
    EXPECT_TRUE(is_right) << row.names;
  }
}

TEST_F(Launched, FlagsOfAStackAreShownWithFieldDefaultAndSource) {
  EXPECT_TRUE(has(kvcap({"show", "flags", "sglang"}).out,
                  "--hicache-ratio\n    policy.tiers.dram.capacity_over_gpu; default 2.0\n    sglang "));
  const Json rows = Json::parse(kvcap({"show", "flags", "vllm", "--json"}).out);
  bool is_there = false;
  for (const Json& row : rows) {
    if (row.at("flags") != "--max-num-seqs") continue;
    is_there = true;
    EXPECT_EQ(row.at("field"), "serving.max_num_seqs");
    EXPECT_EQ(row.at("effect"), "sets");
  }
  EXPECT_TRUE(is_there);
  const Outcome wrong = kvcap({"show", "flags", "vlm"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_EQ(wrong.err,
            "kvcap: show flags: found \"vlm\", allowed: vllm, sglang, trtllm, lmcache, dynamo; did you mean "
            "\"vllm\"?\n");
  EXPECT_TRUE(has(kvcap({"show", "policies", "lmcache"}).out,
                  "LMCACHE_MAX_LOCAL_CPU_SIZE: policy.tiers.dram.capacity_bytes; default 5; LMCache "));
}

}  // namespace
}  // namespace kvcap::launched_command_test
