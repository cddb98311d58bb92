// The command that a form's answers become.
#include "serve/command.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "unit/process.h"

namespace kvcap::serve_command_test {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

Words words_of(const Json& answers) { return command_words(answers.dump(), {"demo", "mine.json"}); }

// Returns the input that the error names and its text.
std::pair<std::string, std::string> error_of(const std::string& answers) {
  try {
    command_words(answers, {"demo"});
    return {};
  } catch (const AnswerError& error) {
    return {error.input(), error.what()};
  }
}

TEST(ServeCommand, HasOptionsInTheOrderOfTheFormAndThenFields) {
  EXPECT_EQ(
      words_of({{"slo.ttft_ms", "500"},
                {"policies", {"recompute", "hcache"}},
                {"rate", "3"},
                {"dram", "0GB,100GB"},
                {"scenario", "demo"},
                {"replications", "2"},
                {"policy.tiers.0.eviction", "lfu"}}),
      (Words{"compare", "demo", "--rate", "3", "--dram", "0GB,100GB", "--policies", "recompute,hcache",
             "--set", "policy.tiers.0.eviction=lfu", "--set", "replications=2", "--set", "slo.ttft_ms=500"}));
}

TEST(ServeCommand, LeavesOutWhatIsEmpty) {
  EXPECT_EQ(words_of({{"scenario", ""}, {"model", "m"}, {"rate", ""}, {"seed", ""}, {"policies", {"ideal"}}}),
            (Words{"compare", "--model", "m", "--policies", "ideal"}));
}

TEST(ServeCommand, IsReadByAShellAsItIsGivenToTheProgram) {
  const Words words = words_of({{"scenario", "mine.json"},
                                {"model", "it's $HOME `a` \"b\" *"},
                                {"workload.source.path", "a b\\c;d&e|f>g"},
                                {"policies", {"hcache"}}});
  const std::string command = command_text(words);
  ASSERT_TRUE(command.starts_with("kvcap compare mine.json --model ")) << command;
  std::string lines;
  for (const std::string& word : words) lines += word + "\n";
  EXPECT_EQ(shell_output("printf '%s\\n'" + command.substr(5)).text, lines) << command;
}

TEST(ServeCommand, TakesNoAnswerForAnOption) {
  for (const char* name : {"model", "gpu", "workload", "rate", "draws", "dram"}) {
    const auto [input, text] = error_of(Json{{name, "--out=/tmp/x"}, {"policies", {"hcache"}}}.dump());
    EXPECT_EQ(input, name);
    EXPECT_NE(text.find("without a leading \"-\""), std::string::npos) << text;
  }
}

TEST(ServeCommand, RefusesWhatTheFormDoesNotHave) {
  EXPECT_EQ(error_of(R"({"scenario": "/etc/passwd", "policies": ["hcache"]})").first, "scenario");
  EXPECT_EQ(error_of(R"({"policies": ["hcache", "--out"]})").first, "policies");
  EXPECT_EQ(error_of(R"({"policies": []})").second, "policies: found none, allowed: at least one");
  EXPECT_EQ(error_of("{}").first, "policies");
  EXPECT_EQ(error_of(R"({"rate": 3, "policies": ["hcache"]})").first, "rate");
  EXPECT_EQ(error_of(R"({"seed": "1\n2", "policies": ["hcache"]})").first, "seed");
  EXPECT_EQ(error_of(R"({"out": "x", "policies": ["hcache"]})").second,
            "found \"out\", allowed: an input or a field of a scenario");
  for (const char* body : {"", "[]", "no", "{\"a\"", "\xff", "null"})
    EXPECT_NE(error_of(body).second.find("found no form"), std::string::npos) << body;
  EXPECT_EQ(error_of(Json{{"seed", std::string(5000, '1')}, {"policies", {"hcache"}}}.dump()).first, "seed");
}

TEST(ServeCommand, FindsTheInputThatAnErrorNames) {
  EXPECT_EQ(input_of_error("--gpu h10: found \"h10\", allowed: a100, --model or a path"), "gpu");
  EXPECT_EQ(input_of_error("--rate -1.00: workload.arrivals.requests_per_s: found -1, allowed: a number"),
            "rate");
  EXPECT_EQ(input_of_error("--set slo.ttft_ms=-7: found -7, allowed: a number"), "slo.ttft_ms");
  EXPECT_EQ(input_of_error("--set serving.max_num_seqs=x: found \"x\", allowed: 1"), "serving.max_num_seqs");
  EXPECT_EQ(input_of_error("mine.json: serving.tensor_parallel_size: found 3, allowed: 1"), "gpus");
  EXPECT_EQ(input_of_error("found no scenario file and no --gpu, allowed: a file, or --model"), "gpu");
  EXPECT_EQ(input_of_error("Could not convert: --rate = x; kvcap compare --help has an example"), "rate");
  EXPECT_EQ(input_of_error("demo: model llama-2-70b does not fit; use a larger serving.block_size"), "");
  EXPECT_EQ(input_of_error(""), "");
}

}  // namespace
}  // namespace kvcap::serve_command_test
