// kvcap plan as its users meet it: what it prints, that its commands give the figures of its rows, and what
// it says of bad plans.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "metrics/statistics/intervals.h"
#include "unit/cli.h"

namespace kvcap::plan_command_test {
namespace {

using Json = nlohmann::json;

constexpr const char* kSearch = R"({"policy.name": ["recompute", "hcache"],
    "hardware.ssd.count": {"min": 1, "max": 4, "factor": 2}})";
constexpr const char* kMeet = R"({"p99_ttft_ms": {"max": 1000}, "token_hit_rate": {"min": 0.5}})";

class PlanCommand : public Cli {
 protected:
  std::string write_plan(const std::string& search, const std::string& meet, const std::string& rest = "",
                         int sessions = 30) const {
    write("plan.json", R"({"schema": "kvcap.plan/1", "name": "small", "max_replications": 6, "base":
        {"schema": "kvcap.scenario/1", "model": "llama-2-7b", "hardware": "l40s",
         "serving": {"prefix_caching": false, "async_scheduling": false, "max_model_len": 16384},
         "workload": {"source": {"kind": "chat"}, "arrivals": {"sessions_per_s": 0.03},
                      "sessions": )" +
                           std::to_string(sessions) + R"(}, "policy": {"tiers": [{"kind": "ssd"}]}},
        "search": )" + search +
                           R"(, "meet": )" + meet + rest + "}");
    return path("plan.json");
  }

  // A command line as a shell reads it, without the program's name.
  static std::vector<std::string> words_of(const std::string& command) {
    std::vector<std::string> words(1);
    bool quoted = false;
    for (char letter : command) {
      if (letter == '\'') {
        quoted = !quoted;
      } else if (letter == ' ' && !quoted) {
        words.emplace_back();
      } else {
        words.back() += letter;
      }
    }
    EXPECT_EQ(words.front(), "kvcap");
    words.erase(words.begin());
    return words;
  }
};

TEST_F(PlanCommand, LeavesOutAMachineWithoutAPriceAndSaysSo) {
  const std::string file =
      write_plan(R"({"hardware.gpu.price_usd_per_hour": [1.4, 0]})", R"({"p99_ttft_ms": {"max": 10000}})");
  const Json plan = Json::parse(kvcap({"plan", file, "--json"}).out);
  EXPECT_EQ(plan["answer"]["changes"][0], "hardware.gpu.price_usd_per_hour=1.4");
  ASSERT_EQ(plan["discarded"].size(), 1U);
  EXPECT_EQ(plan["discarded"][0]["reason"],
            "l40s: hardware.gpu.price_usd_per_hour: found 0 (not known), allowed: a price, because the plan "
            "minimizes cost.usd_per_hour");
}

TEST_F(PlanCommand, SaysWhatToBuyAndWhy) {
  const Outcome outcome = kvcap({"plan", write_plan(kSearch, kMeet)});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  for (const char* part :
       {"\nBuy 1x L40S with the instance's 3.84 TB on 1 SSD for stored state, serving llama-2-7b with "
        "hcache:",
        "cost per hour 1.40 $/h, p99 TTFT ", "\n  p99 TTFT ", ", wanted: at most 1,000 ms\n",
        "\n  token hit rate ", "\nIt is clear: ", "use 97.5 % intervals.\n",
        "\nPareto front of what has been judged, cost per hour against p99 TTFT", "\n a ",
        "             +----", "\nThe target with the least room is ", "\nA little more of each resource:\n",
        "\n  SSDs 1 -> 2: p99 TTFT ", "\nHow far the answer holds:\n",
        "\n  traffic +20 %: ", "\n  GPU price +20 %: ", "\nCommands that repeat the rows:\n a  kvcap run "}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\nis not in\n" << outcome.out;
  }
  // The chart has every row of the table.
  std::istringstream lines(outcome.out);
  std::string charted;
  for (std::string line; std::getline(lines, line);) {
    if (line.size() > 14 && line[13] == '|') charted += line.substr(14);
  }
  EXPECT_NE(charted.find('a'), std::string::npos) << outcome.out;
  EXPECT_NE(charted.find('b'), std::string::npos) << outcome.out;
}

TEST_F(PlanCommand, SaysWhatOneMoreOfEachResourceBrings) {
  const Json plan = Json::parse(kvcap({"plan", write_plan(kSearch, kMeet), "--json"}).out);
  std::map<std::string, Json> found;
  bool had_price = true;
  for (const Json& one : plan["marginal"]) {
    found[one["what"].get<std::string>()] = one;
    EXPECT_TRUE(had_price || !one["has_price"]) << "links come last";
    had_price = one["has_price"];
  }
  const Json& node = found.at("fleet.replicas 1 -> 2");
  EXPECT_EQ(node["unit"], "GPU");
  EXPECT_EQ(node["units"], 1);
  EXPECT_TRUE(node["has_price"]);
  EXPECT_GT(node["change"]["cost.usd_per_hour"]["mean"].get<double>(), 0);
  bool has_link = false, has_drive = false;
  for (const auto& [what, one] : found) {
    has_drive = has_drive || (one["unit"] == "SSD" && one["units"] > 0);
    if (one["unit"] != "GB/s") continue;
    has_link = true;
    EXPECT_FALSE(one["has_price"]) << what;
    EXPECT_EQ(one["change"]["cost.usd_per_hour"]["mean"], 0) << what;
  }
  EXPECT_TRUE(has_link);
  EXPECT_TRUE(has_drive);
  EXPECT_FALSE(plan["flips"].empty());
  double cost = 0;
  for (const auto& [part, difference] : plan["why"]["cost_parts"].items())
    cost += difference["mean"].get<double>();
  EXPECT_NEAR(cost, plan["why"]["cost.usd_per_hour"]["mean"].get<double>(), 1e-9);
  double ttft_ms = 0;
  for (const auto& [part, difference] : plan["why"]["ttft_parts_ms"].items())
    ttft_ms += difference["mean"].get<double>();
  EXPECT_NEAR(ttft_ms, plan["why"]["mean_ttft_ms"]["mean"].get<double>(), 1e-3);
}

// The stock engine finds again what its own prefix cache still has: nobody has to buy storage for that.
TEST_F(PlanCommand, BuysNoStorageWhereTheEnginesPrefixCacheIsEnough) {
  const std::string file = write_plan(kSearch, kMeet);
  std::string text = read_file(file, 1 << 20);
  const std::string off = R"("prefix_caching": false, "async_scheduling": false, )";
  text.replace(text.find(off), off.size(), "");
  write("plan.json", text);
  const Json plan = Json::parse(kvcap({"plan", file, "--json"}).out);
  EXPECT_EQ(plan["answer"]["changes"][0], "policy.name=recompute");
  EXPECT_EQ(plan["purchase"], "1x L40S, serving llama-2-7b with recompute");
}

TEST_F(PlanCommand, PrintsCommandsThatGiveTheFiguresOfTheirRows) {
  const Outcome outcome = kvcap({"plan", write_plan(kSearch, kMeet), "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json plan = Json::parse(outcome.out);
  EXPECT_EQ(plan["schema"], "kvcap.plan_result/1");
  EXPECT_EQ(plan["configurations"], 6);
  EXPECT_TRUE(plan["clear"]);
  EXPECT_TRUE(plan["purchase"].get<std::string>().starts_with("1x L40S"));
  EXPECT_EQ(plan["answer"]["changes"],
            (std::vector<std::string>{"policy.name=hcache", "hardware.ssd.count=1"}));
  EXPECT_TRUE(plan["binding"] == "p99_ttft_ms" || plan["binding"] == "token_hit_rate");
  EXPECT_TRUE(plan["rivals"].empty());
  EXPECT_DOUBLE_EQ(plan["confidence"], 1 - 0.05 / 2);  // looks after 3 and 6 seeds
  EXPECT_EQ(plan["implied"]["wrong"], 0);
  for (const char* list : {"front", "judged", "marginal", "robustness", "prices"}) {
    EXPECT_FALSE(plan[list].empty()) << list;
  }
  ASSERT_GE(plan["front"].size(), 2U);
  for (const Json& row : plan["front"]) {
    const Outcome again = [&] {
      std::vector<std::string> words = words_of(row["command"]);
      words.emplace_back("--json");
      return kvcap(words);
    }();
    ASSERT_EQ(again.exit_code, 0) << again.err;
    const Json run = Json::parse(again.out);
    for (const char* metric : {"p99_ttft_ms", "token_hit_rate"}) {
      const Json& value = row["metrics"][metric];
      EXPECT_DOUBLE_EQ(value["mean"], run["metrics"][metric]) << row["command"];
      // The same runs; `kvcap run` prints 95 % intervals.
      const double width = value["interval"][1].get<double>() - value["interval"][0].get<double>();
      const int degrees = row["replications"].get<int>() - 1;
      const double wider = student_t_quantile((1 + plan["confidence"].get<double>()) / 2, degrees) /
                           student_t_quantile(0.975, degrees);
      EXPECT_NEAR(width, 2 * wider * run["intervals"][metric]["half_width"].get<double>(), 1e-9 * width)
          << row;
    }
    EXPECT_DOUBLE_EQ(row["metrics"]["cost.usd_per_hour"]["mean"], run["metrics"]["cost"]["usd_per_hour"]);
  }
}

TEST_F(PlanCommand, ExitsWith3AndTheNearestWhenNothingMeetsTheTargets) {
  const Outcome outcome = kvcap({"plan", write_plan(kSearch, R"({"p99_ttft_ms": {"max": 1}})")});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.err, "kvcap: " + path("plan.json") + ": no configuration meets every target\n");
  EXPECT_NE(outcome.out.find("No configuration meets every target ("), std::string::npos);
}

TEST_F(PlanCommand, SetsFieldsOfEveryConfigurationAndWritesItsFolder) {
  const std::string file =
      write_plan(R"({"hardware.ssd.count": [1, 2]})", R"({"p99_ttft_ms": {"max": 5000}})");
  const Outcome outcome =
      kvcap({"plan", file, "--set", "policy.name=kv_offload", "--json", "--out", path("planned")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(read_file(path("planned/plan_result.json")), outcome.out);
  const Json plan = Json::parse(outcome.out);
  EXPECT_EQ(plan["answer"]["changes"],
            (std::vector<std::string>{"policy.name=kv_offload", "hardware.ssd.count=1"}));
  const Outcome searched = kvcap({"plan", file, "--set", "hardware.ssd.count=4"});
  EXPECT_EQ(searched.exit_code, 2);
  EXPECT_EQ(searched.err,
            "kvcap: --set: found \"hardware.ssd.count=4\", allowed: a field that the plan does not search\n");
}

// Chats of up to 8,192 tokens where the model takes 4,096.
TEST_F(PlanCommand, BuysNothingThatCutsPromptsUnlessThatIsAllowed) {
  std::string text = read_file(write_plan(kSearch, kMeet));
  const std::string longer = R"(, "max_model_len": 16384)";
  text.replace(text.find(longer), longer.size(), "");
  write("plan.json", text);
  const Outcome cut = kvcap({"plan", path("plan.json")});
  EXPECT_EQ(cut.exit_code, 3);
  EXPECT_NE(cut.out.find("  truncated "), std::string::npos) << cut.out;
  const std::string allowed = R"("meet": {"truncated_share": {"max": 0.9}, )";
  text.replace(text.find(R"("meet": {)"), 9, allowed);
  write("plan.json", text);
  EXPECT_EQ(kvcap({"plan", path("plan.json")}).exit_code, 0);
}

TEST_F(PlanCommand, ExitsWith3IfItsAnswerMissesARequirement) {
  const std::string plan =
      write_plan(R"({"policy.name": ["hcache"]})", R"({"token_hit_rate": {"min": 0.1}})");
  const auto required = [&](const std::string& condition) {
    return kvcap({"plan", plan, "--draws", "0", "--require", "token_hit_rate>=0.1", "--require", condition});
  };
  const Outcome missed = required("cost.usd_per_hour<=0.01");
  EXPECT_EQ(missed.exit_code, 3);
  EXPECT_NE(missed.err.find("required cost.usd_per_hour<=0.01 of the plan, found "), std::string::npos)
      << missed.err;
  EXPECT_EQ(missed.err.find("token_hit_rate"), std::string::npos) << missed.err;
  EXPECT_NE(missed.out, "");
  EXPECT_EQ(required("cost.usd_per_hour<=+2%").exit_code, 2);
}

TEST_F(PlanCommand, NamesWhatALossyAnswerLoses) {
  const auto said = [&](const std::string& policy) {
    return kvcap(
               {"plan",
                write_plan("{\"policy.name\": [\"" + policy + "\"]}", R"({"token_hit_rate": {"min": 0.1}})"),
                "--draws", "0"})
        .out;
  };
  EXPECT_NE(said("hyperinfer").find("Answers of hyperinfer differ: 25 % of a prefix's"), std::string::npos);
  EXPECT_EQ(said("hcache").find("differ:"), std::string::npos);
}

TEST_F(PlanCommand, IsNotClearAfterOneSeed) {
  std::string plan = read_file(write_plan(kSearch, kMeet));
  const std::string many = "\"max_replications\": 6";
  plan.replace(plan.find(many), many.size(), "\"max_replications\": 1");
  write("plan.json", plan);
  EXPECT_NE(kvcap({"plan", path("plan.json")}).out.find("One seed, so chance is not excluded"),
            std::string::npos);
  EXPECT_EQ(Json::parse(kvcap({"plan", path("plan.json"), "--json"}).out)["clear"], false);
}

TEST_F(PlanCommand, SearchesTheSizesOfDramWithoutAFile) {
  const std::vector<std::string> ask = {"plan",   "--model",  "llama-3.1-8b",
                                        "--gpu",  "h100-sxm", "--workload",
                                        "chat",   "--rate",   "25",
                                        "--gpus", "1",        "--draws",
                                        "0",      "--meet",   "p99_ttft_ms<=2000",
                                        "--json", "--dram",   "20GB,100GB"};
  const Outcome outcome = kvcap(ask);
  const Json answer = Json::parse(outcome.out);
  EXPECT_EQ(answer.at("configurations"), 3) << "the engine alone, and with each size";
  std::vector<std::string> policies;
  for (const Json& one : answer.at("judged"))
    for (const Json& change : one.at("changes"))
      if (change.get<std::string>().starts_with("policy")) policies.push_back(change);
  std::sort(policies.begin(), policies.end());
  const auto offload = [](const std::string& bytes) {
    return R"(policy={"name":"vllm_offload","tiers":[{"kind":"dram","capacity_bytes":)" + bytes + "}]}";
  };
  EXPECT_EQ(policies, (std::vector<std::string>{R"(policy={"name":"recompute"})", offload("100000000000.0"),
                                                offload("20000000000.0")}));
  EXPECT_NE(answer.at("notes").back().get<std::string>().find("vllm_offload (dram=20GB, dram=100GB)"),
            std::string::npos)
      << answer.at("notes");
  std::vector<std::string> other = ask;
  other[other.size() - 2] = "--ssd";
  other.insert(other.end(), {"--engine", "trtllm"});
  EXPECT_EQ(
      kvcap(other).err,
      "kvcap: --dram, --ssd: found ssd=20GB, and recompute and trtllm_offload cannot store there; a plan "
      "file can search other policies\n");
  EXPECT_EQ(kvcap({"plan", "--help"}).out.find("--save"), std::string::npos) << "it saves no scenario";
}

TEST_F(PlanCommand, ExitsWith2AndOneLineForABadPlan) {
  struct Case {
    std::string search, meet, rest, message;
  };
  const std::vector<Case> cases = {
      {kSearch, kMeet, R"(, "minimise": "x")", "minimise: unknown key; did you mean \"minimize\"?"},
      {"{}", kMeet, "", "search: found an object, allowed: at least one field to choose"},
      {R"({"hardware.ssd.count": {"min": 4, "max": 1, "step": 1}})", kMeet, "",
       "search.hardware.ssd.count.max: found 1, allowed: a number of at least min"},
      {R"({"policy.name": ["hcache"], "hardware.ssd.conut": [1]})", kMeet, "",
       "search.hardware.ssd.conut: --set hardware.ssd.conut=1: unknown key; did you mean \"count\"?"},
      {kSearch, R"({"p99_ttft": {"max": 1}})", "",
       "meet.p99_ttft: found the metric \"p99_ttft\", allowed: a metric of the result; did you mean "
       "\"p99_ttft_ms\"?"},
      {kSearch, R"({"p99_ttft_ms": {"min": 2, "max": 1}})", "",
       "meet.p99_ttft_ms.min: found 2, allowed: at most max"},
      {kSearch, kMeet, R"(, "minimize": "cost.usd_per_hours")",
       "minimize: found the metric \"cost.usd_per_hours\", allowed: a metric of the result; did you mean "
       "\"cost.usd_per_hour\"?"},
  };
  for (const Case& one : cases) {
    const Outcome outcome = kvcap({"plan", write_plan(one.search, one.meet, one.rest)});
    EXPECT_EQ(outcome.exit_code, 2) << one.message;
    EXPECT_EQ(outcome.err, "kvcap: " + path("plan.json") + ": " + one.message + "\n");
    EXPECT_EQ(outcome.out, "");
  }
}

TEST_F(PlanCommand, ExitsWith130AndLeavesNothingBehindWhenInterrupted) {
  const std::string plan = write_plan(kSearch, kMeet, "", 200'000);
  const pid_t pid = start({"plan", plan, "--json"}, [] { setpgid(0, 0); });
  wait_for_worker_of(pid);
  kill(pid, SIGINT);
  const Outcome outcome = finish(pid);
  EXPECT_EQ(outcome.exit_code, 130);
  EXPECT_EQ(outcome.err, "kvcap: interrupted\n");
  EXPECT_EQ(outcome.out, "");
  // No process of its group is left, and no file but those of this test.
  EXPECT_EQ(kill(-pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 4);
}

}  // namespace
}  // namespace kvcap::plan_command_test
