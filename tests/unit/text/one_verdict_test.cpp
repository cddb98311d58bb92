// One verdict: terminal, Markdown, a comparison before and after, and the page's data say the same words of
// the same document.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "unit/cli.h"

namespace kvcap::one_verdict_test {
namespace {

using Json = nlohmann::ordered_json;

const std::string kRoot = std::string(KVCAP_SOURCE_DIR) + "/";

// The text with line breaks as spaces and without Markdown's escapes, so that a sentence is found wherever it
// was broken.
std::string plain(const std::string& text) {
  std::string all;
  for (char c : text) {
    if (c == '\n') c = ' ';
    if (c == '\\' || (c == ' ' && !all.empty() && all.back() == ' ')) continue;
    all += c;
  }
  for (const auto& [escape, sign] :
       {std::pair("&lt;", "<"), std::pair("&amp;", "&"), std::pair("± ", "+-"), std::pair("±", "+-"),
        std::pair("≤", "<="), std::pair("≥", ">="), std::pair("→", "->")})
    for (std::size_t at; (at = all.find(escape)) != std::string::npos;)
      all.replace(at, std::string_view(escape).size(), sign);
  return all;
}

class OneVerdict : public Cli {
 protected:
  std::string report(const std::vector<std::string>& arguments) const {
    std::vector<std::string> command = {"report"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const Outcome outcome = kvcap(command);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out;
  }

  // Expects all four to say the first sentence that the page's data have for `page`.
  void expect_one_verdict(const std::string& terminal, const std::string& document,
                          const std::string& page) const {
    const Json data = Json::parse(report({document, "--format", "json"}));
    const Json& sentences = data.at("takeaways").at(page);
    ASSERT_FALSE(sentences.empty()) << document;
    const std::string verdict = sentences.front();
    const auto says = [&](const std::string& where, const std::string& text, const std::string& words) {
      EXPECT_NE(plain(text).find(plain(words)), std::string::npos)
          << words << "\nis not on " << where << ":\n"
          << text;
    };
    says("the terminal", terminal, verdict);
    says("the Markdown page", report({document, "--format", "markdown"}), verdict);
    says("the comparison", report({document, "--before", document, "--format", "markdown"}),
         ", as before: " + verdict);
  }

  // Runs a command that writes a document into a folder and prints its text.
  void expect_one_verdict_of(std::vector<std::string> command, const std::string& file,
                             const std::string& page) const {
    const std::string folder = path("out_" + page);
    command.insert(command.end(), {"--out", folder});
    const Outcome outcome = kvcap(command);
    ASSERT_TRUE(outcome.exit_code == 0 || outcome.exit_code == 3)
        << outcome.err;  // 3: no answer, a verdict, too
    expect_one_verdict(outcome.out, folder + "/" + file, page);
    std::filesystem::remove_all(folder);
  }
};

TEST_F(OneVerdict, OfEveryGoldenResult) {
  const Json golden = Json::parse(read_file(kRoot + "tests/golden/results.json"));
  for (const Json& entry : golden["results"]) {
    SCOPED_TRACE(entry.dump());
    std::vector<std::string> command = {
        "run", kRoot + "scenarios/" + entry["scenario"].get<std::string>() + ".json"};
    for (std::string setting : entry["set"]) {
      // Stand-ins lie in traces/ whatever else is at hand.
      if (const std::size_t place = setting.find("=traces/"); place != std::string::npos)
        setting.insert(place + 1, kRoot);
      command.insert(command.end(), {"--set", setting});
    }
    expect_one_verdict_of(command, "result.json", "overview");
  }
}

TEST_F(OneVerdict, OfAComparison) {
  expect_one_verdict_of(
      {"compare", path("chat.json"), "--policies", "recompute,kv_offload,hcache,ideal", "--draws", "0"},
      "compare.json", "overview");
}

TEST_F(OneVerdict, OfACapacity) {
  expect_one_verdict_of({"capacity", path("chat.json"), "--meet", "p99_ttft_ms<=2000", "--seeds", "2",
                         "--set", "serving.max_model_len=16384"},
                        "capacity.json", "capacity");
}

TEST_F(OneVerdict, OfAPlan) {
  write("plan.json", R"({"schema": "kvcap.plan/1", "name": "small", "max_replications": 4, "base":
      {"schema": "kvcap.scenario/1", "model": "llama-2-7b", "hardware": "l40s",
       "serving": {"max_model_len": 16384},
       "workload": {"source": {"kind": "chat"}, "arrivals": {"sessions_per_s": 0.03}, "sessions": 30},
       "policy": {"name": "hcache", "tiers": [{"kind": "ssd"}]}},
      "search": {"hardware.ssd.count": {"min": 1, "max": 2, "factor": 2}}, "meet": {"p99_ttft_ms": {"max": 2000}}})");
  expect_one_verdict_of({"plan", path("plan.json"), "--draws", "0"}, "plan_result.json", "plan");
}

TEST_F(OneVerdict, OfABreakEvenMap) {
  write("map.json", R"({"schema": "kvcap.plan/1", "name": "small",
      "base": {"schema": "kvcap.scenario/1", "model": "llama-2-7b", "hardware": "a100-40g-4x-pm9a3",
               "workload": {"source": {"kind": "chat"}}},
      "break_even": {"policies": ["recompute", "kv_offload"],
                     "across": {"hardware.ssd.read_bandwidth_bytes_per_s": [1e8, 12.8e9]},
                     "down": {"tokens": [1024, 4096]}, "set": {"new_tokens": 64, "hardware.ssd.count": 1}}})");
  expect_one_verdict_of({"plan", path("map.json"), "--break-even"}, "break_even.json", "sweep");
}

TEST_F(OneVerdict, OfARestoration) {
  expect_one_verdict_of(
      {"restore", "--model", "llama-2-7b", "--hardware", "a100-40g-4x-pm9a3", "--tokens", "4096"},
      "restore.json", "restoration");
}

TEST_F(OneVerdict, OfAValidation) {
  expect_one_verdict_of({"validate", "--suite", "queueing", "--quick"}, "validation.json", "validation");
}

TEST_F(OneVerdict, OfATrace) {
  const std::vector<std::string> command = {"trace", "stats", kRoot + "traces/sample-chat.jsonl"};
  const std::string terminal = kvcap(command).out;
  write("stats.json", kvcap({command[0], command[1], command[2], "--json"}).out);
  expect_one_verdict(terminal, path("stats.json"), "cache");
}

}  // namespace
}  // namespace kvcap::one_verdict_test
