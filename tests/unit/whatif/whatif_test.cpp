// Tests the answers of kvcap whatif: the numbers of show memory, restore and plan --break-even, and its page.
#include "whatif/whatif.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "base/embedded_pages.h"
#include "scenario/load.h"
#include "unit/cli.h"

namespace kvcap::whatif_test {
namespace {

using Json = nlohmann::json;

constexpr int kSettings = 24;

Json answer(const Json& question) { return Json::parse(whatif_answer(question.dump())); }

// Draws machines, engines and contexts of the catalogue; some of them are impossible.
class Settings {
 public:
  Json next() {
    constexpr const char* kEngines[] = {"vllm", "sglang", "trtllm", "vllm@0.9"};
    return {{"model", drawn(Catalogue::models)},
            {"hardware", drawn(Catalogue::hardware)},
            {"gpus", 1 << pick(4)},
            {"engine", kEngines[pick(4)]},
            {"tokens", 64 << pick(10)},
            {"new_tokens", 1 << pick(10)}};
  }

 private:
  std::size_t pick(std::size_t count) { return random_() % count; }
  std::string drawn(Catalogue which) {
    const std::vector<CatalogueEntry>& entries = catalogue(which);
    return std::string(entries[pick(entries.size())].name);
  }

  std::mt19937_64 random_{20261128};
};

std::vector<std::string> machine_options(const Json& setting) {
  return {"--model", setting["model"], "--hardware", setting["hardware"], "--gpus", setting["gpus"].dump()};
}

class Whatif : public Cli {
 protected:
  // Runs a command about the setting's machine.
  Outcome about(const Json& setting, std::vector<std::string> words, const std::vector<std::string>& more) {
    const std::vector<std::string> machine = machine_options(setting);
    words.insert(words.end(), machine.begin(), machine.end());
    words.insert(words.end(), more.begin(), more.end());
    words.emplace_back("--json");
    return kvcap(words);
  }
};

TEST_F(Whatif, HasTheMemoryOfShowMemory) {
  Settings settings;
  int compared = 0;
  for (int i = 0; i < kSettings; ++i) {
    Json question = settings.next();
    question["ask"] = "memory";
    const Outcome outcome = about(question, {"show", "memory"}, {"--engine", question["engine"]});
    const Json found = answer(question);
    ASSERT_EQ(outcome.exit_code == 0, !found.contains("error")) << question << outcome.err << found;
    if (outcome.exit_code != 0) continue;
    EXPECT_EQ(found["memory"], Json::parse(outcome.out)) << question;
    ++compared;
  }
  EXPECT_GT(compared, kSettings / 3);
}

TEST_F(Whatif, HasTheClosedFormsOfRestore) {
  Settings settings;
  int compared = 0;
  for (int i = 0; i < kSettings; ++i) {
    Json question = settings.next();
    question["ask"] = "restore";
    const Outcome outcome =
        about(question, {"restore"},
              {"--tokens", question["tokens"].dump(), "--new-tokens", question["new_tokens"].dump()});
    const Json found = answer(question);
    if (outcome.exit_code != 0) {
      EXPECT_NE(found.dump().find(found.contains("error") ? "error" : "refusal"), std::string::npos) << found;
      continue;
    }
    std::map<std::string, Json> by_policy;
    for (const Json& one : found.at("policies")) by_policy[one["policy"]] = one;
    const Json document = Json::parse(outcome.out);
    EXPECT_EQ(found["tier"], document["tier"]);
    for (Json one : document["policies"]) {
      for (const char* simulated : {"restore_s", "ttft_s", "timeline"}) one.erase(simulated);
      EXPECT_EQ(by_policy[one["policy"]], one) << question;
      ++compared;
    }
  }
  EXPECT_GT(compared, 10 * kSettings / 3);
}

TEST_F(Whatif, HasTheBreakEvenMapOfAPlan) {
  const Json plan = {{"schema", "kvcap.plan/1"},
                     {"base",
                      {{"schema", "kvcap.scenario/1"},
                       {"model", "llama-2-7b"},
                       {"hardware", "a100-40g-4x-pm9a3"},
                       {"serving", {{"host_times", "none"}}},
                       {"workload", {{"source", {{"kind", "chat"}}}}},
                       {"policy", {{"name", "hcache"}, {"tiers", {{{"kind", "ssd"}}}}}}}},
                     {"break_even",
                      {{"policies", {"recompute", "kv_offload", "hcache"}},
                       {"across", {{"hardware.ssd.read_bandwidth_bytes_per_s", {1e8, 8e8, 6.4e9}}}},
                       {"down", {{"tokens", {512, 8192}}}},
                       {"set", {{"new_tokens", 64}}}}}};
  write("plan.json", plan.dump());
  const Outcome outcome = kvcap({"plan", path("plan.json"), "--break-even", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json found = answer(
      {{"ask", "break_even"},
       {"model", "llama-2-7b"},
       {"hardware", "a100-40g-4x-pm9a3"},
       {"tier", "ssd"},
       {"policies", {"recompute", "kv_offload", "hcache"}},
       {"across", {{"path", "hardware.ssd.read_bandwidth_bytes_per_s"}, {"values", {1e8, 8e8, 6.4e9}}}},
       {"down", {{"path", "tokens"}, {"values", {512, 8192}}}}});
  std::vector<double> planned, answered;
  const Json map = Json::parse(outcome.out);
  for (const Json& cell : map["cells"])
    for (const Json& one : cell["policies"]) planned.push_back(one["closed_form_ttft_s"]);
  for (const Json& row : found.at("rows"))
    for (const Json& cell : row)
      for (const Json& one : cell) answered.push_back(one);
  ASSERT_EQ(planned.size(), answered.size());
  for (std::size_t i = 0; i < planned.size(); ++i) EXPECT_NEAR(answered[i], planned[i], 1e-9 * planned[i]);
}

TEST_F(Whatif, SaysWhatIsWrongWithAQuestion) {
  const auto error = [](const std::string& question) {
    const Json found = Json::parse(whatif_answer(question));
    return found.contains("error") ? found["error"].get<std::string>() : "none";
  };
  EXPECT_EQ(error("nonsense"), "question: found no JSON object, allowed: {\"ask\": ...}");
  EXPECT_EQ(error(R"({"ask": "fortune"})"),
            "ask: found \"fortune\", allowed: catalogue, memory, restore, break_even");
  EXPECT_EQ(error("{\"ask\": " + std::string(100'000, '[') + std::string(100'000, ']') + "}"),
            "question: found more than 8 levels, allowed: a question");
  EXPECT_EQ(error(R"({"ask": ["memory"]})"), "ask: found an array, allowed: a text");
  EXPECT_EQ(error(R"({"ask": "memory"})"), "model: found \"nothing\", allowed: a text");
  EXPECT_EQ(error(R"({"ask": "restore", "model": "llama-2-7b", "hardware": "h100-sxm", "tokens": 0.5})"),
            "tokens: found 0.5, allowed: 1 to 100000000");
  EXPECT_NE(error(R"({"ask": "restore", "model": "llama-2-7b", "hardware": "h10-sxm"})").find("h100-sxm"),
            std::string::npos);
  EXPECT_NE(
      error(R"({"ask": "restore", "model": "llama-2-7b", "hardware": "h100-sxm", "policies": ["hcash"]})")
          .find("did you mean \"hcache\""),
      std::string::npos);
}

TEST_F(Whatif, TheCommandAnswersLinesAndWritesThePage) {
  write("questions.jsonl", "{\"ask\": \"catalogue\"}\n\n{\"ask\": \"x\"}\n");
  const Outcome asked = kvcap({"whatif", "--ask", path("questions.jsonl")});
  ASSERT_EQ(asked.exit_code, 0) << asked.err;
  EXPECT_EQ(Json::parse(asked.out.substr(0, asked.out.find('\n')))["models"].size(),
            catalogue(Catalogue::models).size());
  EXPECT_EQ(kvcap({"whatif"}).exit_code, 2);
  EXPECT_EQ(kvcap({"whatif", "--ask", path("questions.jsonl"), "-o", path("page.html")}).exit_code, 2);
  EXPECT_EQ(kvcap({"whatif", "--ask", path("none.jsonl")}).exit_code, 2);

  const Outcome written = kvcap({"whatif", "-o", path("page.html")});
  if (embedded_whatif_page().html.empty()) {
    EXPECT_EQ(written.exit_code, 2);
    EXPECT_NE(written.err.find("whatif: the page was"), std::string::npos) << written.err;
    return;
  }
  ASSERT_EQ(written.exit_code, 0) << written.err;
  EXPECT_LT(read_file(path("page.html")).size(), 2'000'000U);
  EXPECT_EQ(kvcap({"whatif", "-o", path("page.html")}).exit_code, 0) << "its own page may be replaced";
}

}  // namespace
}  // namespace kvcap::whatif_test
