// Tests the program as its users meet it: exit codes, stdout and stderr, files of --out, requirements.
#include "unit/cli.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/table.h"

namespace kvcap::cli_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

TEST_F(Cli, PrintsTheResultOnStdoutAndNothingElse) {
  const Outcome outcome = kvcap({"run", path("chat.json"), "--json"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  const Json result = Json::parse(outcome.out);
  EXPECT_EQ(result["schema"], "kvcap.result/1");
  EXPECT_GT(result["metrics"]["completed"].get<int>(), 60);
}

TEST_F(Cli, WarnsOnceOfInputsThatLookLikeWholePrompts) {
  write("log.csv", "arrival_s,input_tokens,output_tokens,session\n0,100,20,a\n50,150,30,a\n90,200,10,a\n");
  const std::vector<std::string> compare = {
      "compare",    path("chat.json"),
      "--policies", "recompute,hcache",
      "--set",      R"(workload.source={"kind":"csv","path":")" + path("log.csv") + R"("})",
      "--set",      R"(workload.arrivals={"process":"trace"})",
      "--set",      "workload.sessions=null",
      "--json"};
  const Outcome outcome = kvcap(compare);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string warning =
      "kvcap: warning: inputs are read as new tokens, but they look like whole prompts";
  const std::size_t at = outcome.err.find(warning);
  ASSERT_NE(at, std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find(warning, at + 1), std::string::npos) << outcome.err;
}

TEST_F(Cli, RepeatsItselfByteForByte) {
  for (const std::string policy : {"recompute", "kv_offload", "hcache", "ideal"}) {
    const std::vector<std::string> command = {"run", path("chat.json"), "--json", "--set",
                                              "policy.name=" + policy};
    EXPECT_EQ(kvcap(command).out, kvcap(command).out) << policy;
  }
}

TEST_F(Cli, WritesTheFolderOfOut) {
  const Outcome outcome = kvcap({"run", path("chat.json"), "--out", path("results"), "--check"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json result = Json::parse(read_file(folder_ / "results/result.json"));
  const std::string csv = read_file(folder_ / "results/requests.csv");
  // a header and one row a turn
  const Json& metrics = result["metrics"];
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'),
            metrics["completed"].get<int>() + metrics["rejected"].get<int>() + 1);
  EXPECT_TRUE(fs::exists(folder_ / "results/run.log"));
  for (const auto& file : fs::directory_iterator(folder_ / "results")) {
    EXPECT_TRUE(file.path().extension() == ".json" || file.path().extension() == ".csv" ||
                file.path().extension() == ".log")
        << file.path();
  }
}

TEST_F(Cli, WritesATimelineWithATrackATurn) {
  const Outcome outcome = kvcap({"run", path("chat.json"), "--perfetto", path("trace.json"), "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json trace = Json::parse(read_file(path("trace.json")));
  int64_t open = 0, turns = 0, slices = 0, counters = 0;
  for (const Json& event : trace["traceEvents"]) {
    const std::string kind = event["ph"];
    if (kind == "b") ++open;
    if (kind == "e") --open;
    turns += kind == "b" && event["name"].get<std::string>().starts_with("session");
    slices += kind == "X";
    counters += kind == "C";
  }
  EXPECT_EQ(open, 0);
  EXPECT_EQ(turns, Json::parse(outcome.out)["metrics"]["completed"]);
  EXPECT_GT(slices, turns);
  EXPECT_GT(counters, turns);
  // A run with a timeline is the same run.
  EXPECT_EQ(kvcap({"run", path("chat.json"), "--json"}).out, outcome.out);
  const Outcome nowhere = kvcap({"run", path("chat.json"), "--perfetto", path("no/such/trace.json")});
  EXPECT_EQ(nowhere.exit_code, 2);
}

TEST_F(Cli, FindsAShippedScenarioByItsName) {
  const Outcome outcome = kvcap({"run", "demo", "--set", "workload.sessions=20", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out)["scenario"]["name"], "demo");
  const Outcome unknown = kvcap({"run", "dmeo"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_TRUE(
      unknown.err.starts_with("kvcap: scenario: found \"dmeo\", allowed: a file, agents-hicache, agents, "))
      << unknown.err;
  EXPECT_TRUE(unknown.err.ends_with("; did you mean \"demo\"?\n")) << unknown.err;
}

TEST_F(Cli, CallsAScenarioAfterItsFileAndAsItIsTold) {
  const auto name_of = [this](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"run", path("chat.json"), "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Json::parse(kvcap(arguments).out)["scenario"]["name"];
  };
  EXPECT_EQ(name_of({}), "chat");
  EXPECT_EQ(name_of({"--set", "name=2024"}), "2024");
}

TEST_F(Cli, ABoundsResultHoldsTheScenarioThatReproducesIt) {
  const std::pair<const char*, const char*> cases[] = {
      {"cached_attention", R"([{"kind": "dram", "capacity_bytes": 2e10, "eviction": "fifo"}])"},
      {"cached_attention", "null"},
      {"lmcache", "null"}};
  for (const auto& [policy, tiers] : cases) {
    write("tight.json", read_file(path("chat.json")));
    const Outcome outcome =
        kvcap({"compare", path("tight.json"), "--policies", std::string(policy) + ",ideal", "--bounds",
               "--set", std::string("policy.tiers=") + tiers, "--json"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Json results = Json::parse(outcome.out)["results"];
    ASSERT_EQ(results.size(), 5U);
    for (std::size_t i = 2; i < 5; ++i) {
      write("again.json", results[i]["scenario"].dump());
      const Outcome again = kvcap({"run", path("again.json"), "--json"});
      ASSERT_EQ(again.exit_code, 0) << again.err;
      EXPECT_EQ(Json::parse(again.out)["metrics"], results[i]["metrics"]) << i << " " << tiers;
    }
    EXPECT_EQ(results[2]["scenario"]["policy"]["name"], "recompute");
    EXPECT_EQ(results[3]["scenario"]["policy"]["unbounded"], true);
    EXPECT_EQ(results[4]["scenario"]["policy"]["eviction"], "belady");
  }
}

// Nobody can build a link that takes no time; recompute has nothing to load and stays what it is.
TEST_F(Cli, CallsFreeLoadsABound) {
  for (const auto& [policy, is_bound] : {std::pair("kv_offload", true), std::pair("recompute", false)}) {
    const Outcome outcome = kvcap({"run", path("chat.json"), "--json", "--set",
                                   std::string("policy.name=") + policy, "--set", "policy.ideal_load=true"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(Json::parse(outcome.out)["is_bound"], is_bound) << policy;
  }
}

// kv_offload stores in the given size, recompute in none; the load is so low that one seed is enough.
TEST_F(Cli, TheCapacityOfEachPolicyHasTheGivenSizeOfItsTier) {
  const std::vector<std::string> ask = {"capacity",   path("chat.json"),
                                        "--policies", "recompute,kv_offload",
                                        "--ssd",      "4GB",
                                        "--meet",     "p99_ttft_ms<=30s",
                                        "--seeds",    "1",
                                        "--json"};
  const Json both = Json::parse(kvcap(ask).out);
  ASSERT_EQ(both.size(), 2U);
  const Json alone = Json::parse(kvcap({"capacity", path("chat.json"), "--set", "policy.name=kv_offload",
                                        "--set", R"(policy.tiers=[{"kind":"ssd","capacity_bytes":4e9}])",
                                        "--meet", "p99_ttft_ms<=30s", "--seeds", "1", "--json"})
                                     .out);
  EXPECT_EQ(both[0]["policy"], "recompute");
  EXPECT_EQ(both[1]["capacity"], alone["capacity"]);
  EXPECT_EQ(both[1]["curve"], alone["curve"]);
}

// Prompts of 1,000 tokens and a history of 1,000 + 100 before the second: a mean of 1,550.
TEST_F(Cli, TheCapacityNamesTheLengthsOfPromptsAndAnswers) {
  std::string sessions;
  for (int i = 0; i < 20; ++i) {
    sessions += R"({"id": ")" + std::to_string(i) +
                R"(", "turns": [{"input_tokens": 1000, "output_tokens": 100}, {"input_tokens": 1000,)"
                R"( "output_tokens": 200}]})"
                "\n";
  }
  write("two.jsonl", sessions);
  const std::string page =
      kvcap({"capacity", "--model", "llama-2-7b", "--gpu", "l40s", "--workload", path("two.jsonl"), "--meet",
             "p99_ttft_ms<=2s", "--seeds", "1", "--out", path("answer")})
          .out;
  EXPECT_EQ(
      page.find("llama-2-7b-two: llama-2-7b, recompute; mean prompt with its history 1,550 tokens, mean "
                "answer 150\ntokens\n\n"),
      0U)
      << page;
  const Json answer = Json::parse(read_file(path("answer/capacity.json")));
  EXPECT_EQ(answer["mean_input_tokens"], 1550);
  EXPECT_EQ(answer["mean_output_tokens"], 150);
}

TEST_F(Cli, WarnsWhereArrivalsAreDrawnOverThoseOfALog) {
  write("log.csv", "arrival_s,input_tokens,output_tokens\n0,10,5\n3,10,5\n");
  write("log.json", R"({"schema": "kvcap.scenario/1", "model": "llama-2-7b", "hardware": "h100-sxm",
                        "workload": {"source": {"kind": "csv", "path": "log.csv"}}})");
  const Outcome drawn = kvcap({"run", path("log.json")});
  EXPECT_EQ(drawn.exit_code, 0);
  EXPECT_NE(drawn.err.find("log.csv has the arrivals of its requests, but arrivals are drawn"),
            std::string::npos)
      << drawn.err;
  for (const char* asked : {"workload.arrivals.process=trace", "workload.arrivals.sessions_per_s=2"}) {
    EXPECT_EQ(kvcap({"run", path("log.json"), "--set", asked}).err, "") << asked;
  }
}

TEST_F(Cli, ExitsWith2AndOneLineForBadInput) {
  std::string policies;
  for (std::string_view name : policy_names()) policies.append(policies.empty() ? "" : ", ").append(name);
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"run", path("chat.json"), "--set", "policy.name=hcahce"},
       "kvcap: --set policy.name=hcahce: found \"hcahce\", allowed: " + policies +
           "; did you mean \"hcache\"?\n"},
      {{"rum", path("chat.json")},
       "kvcap: found the command \"rum\", allowed: run, compare, restore, capacity, sweep, plan, fit, "
       "validate, "
       "observe, "
       "report, serve, whatif, trace, show, completion, man; did you mean \"run\"?\n"},
      {{"run", path("chat.json"), "--require", "p99_ttft_m<=5"},
       "kvcap: --require: found the metric \"p99_ttft_m\", allowed: a number of the result; did you mean "
       "\"p99_ttft_ms\"?\n"},
      {{"run", path("chat.json"), "--require", "p99_ttft_ms"},
       "kvcap: --require: found \"p99_ttft_ms\", allowed: METRIC RELATION NUMBER with <=, <, >=, > or ==, "
       "e.g. "
       "p99_ttft_ms<=500\n"},
      {{"compare", path("chat.json")},
       "kvcap: compare: give --policies a,b,c, --over PATH=v1,v2,... or both of them, or --layouts 4,1+3\n"},
      {{"compare", path("chat.json"), "--policies", "recompute,hcache", "--over", "hardware.ssd.count=1,x"},
       "kvcap: --over hardware.ssd.count=x: found \"x\", allowed: an integer from 1 to 1000000\n"},
      {{"compare", path("chat.json"), "--policies", "recompute,kv_offload:dran"},
       "kvcap: --policies: found tier \"dran\" in \"kv_offload:dran\", allowed: hbm, dram, cxl, ssd, "
       "remote, joined "
       "by +, as in kv_offload:dram+ssd; did you mean \"dram\"?\n"},
      {{"restore", "--model", "llama-2-7b", "--hardware", "a100-40g-4x-pm9a3", "--tokens", "9", "--policy",
        "hcach"},
       "kvcap: --policy: found \"hcach\", allowed: all, " + policies + "; did you mean \"hcache\"?\n"},
      {{"show", "modles"},
       "kvcap: show: found \"modles\", allowed: policies, models, hardware, workloads, fields, flags, "
       "memory, support, "
       "schema; did "
       "you mean "
       "\"models\"?\n"},
      {{"run", path("chat.json"), "--out", path("chat.json")},
       "kvcap: --out: " + path("chat.json") + " cannot be written: Not a directory\n"},
  };
  for (const auto& [arguments, message] : cases) {
    const Outcome outcome = kvcap(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << message;
    EXPECT_EQ(outcome.err, message);
    EXPECT_EQ(outcome.out, "");
  }
}

TEST_F(Cli, ExitsWith3WhenARequirementDoesNotHold) {
  const std::vector<std::string> whole = {"run", path("chat.json"), "--set", "serving.max_model_len=32768"};
  const auto require = [&](const std::string& condition, std::vector<std::string> args) {
    args.insert(args.end(), {"--require", condition});
    return kvcap(args);
  };
  EXPECT_EQ(require("mean_ttft_ms<=100000", whole).exit_code, 0);
  const Outcome failed = kvcap({"run", path("chat.json"), "--require", "utilization.gpu>=2"});
  EXPECT_EQ(failed.exit_code, 3);
  std::vector<std::string> longer = whole;
  longer.insert(longer.end(), {"--set", "workload.run_length=steady"});
  EXPECT_EQ(require("stable==true", longer).exit_code, 0);
  EXPECT_EQ(require("stable==false", longer).exit_code, 3);
  EXPECT_TRUE(failed.err.starts_with("kvcap: required utilization.gpu>=2, found 0.")) << failed.err;
}

// Chats that outgrow the model's 4,096 tokens.
TEST_F(Cli, RequirementsFailOnTruncatedTurnsUnlessTheyAreAllowed) {
  const Outcome cut = kvcap({"run", path("chat.json"), "--require", "mean_ttft_ms<=100000"});
  EXPECT_EQ(cut.exit_code, 3);
  EXPECT_NE(cut.err.find("truncated; to allow"), std::string::npos) << cut.err;
  EXPECT_NE(cut.out.find("truncated"), std::string::npos);  // a row of the table
  EXPECT_EQ(kvcap({"run", path("chat.json"), "--require", "mean_ttft_ms<=100000", "--require",
                   "truncated_share<=0.9"})
                .exit_code,
            0);
  EXPECT_EQ(kvcap({"run", path("chat.json")}).exit_code, 0);
}

// One session of one turn: `completed` is 1, and no turn has found anything, so that means over warm ones are
// not there.
TEST_F(Cli, HoldsRequirementsAtTheirBoundsAndNoneWithoutAValue) {
  write("one.jsonl", R"({"id": 1, "turns": [{"input_tokens": 50, "output_tokens": 5}]})"
                     "\n");
  const auto exit_code = [&](const std::string& requirement) {
    return kvcap({"run", path("chat.json"), "--set",
                  "workload.source={\"kind\": \"sessions\", \"path\": \"" + path("one.jsonl") + "\"}",
                  "--set", "workload.sessions=1", "--require", requirement})
        .exit_code;
  };
  EXPECT_EQ(exit_code("completed<=1"), 0);
  EXPECT_EQ(exit_code("completed>=1"), 0);
  EXPECT_EQ(exit_code("completed==1"), 0);
  EXPECT_EQ(exit_code("completed<1"), 3);
  EXPECT_EQ(exit_code("completed>1"), 3);
  EXPECT_EQ(exit_code("completed<=0"), 3);
  for (const char* relation : {"<=", "<", ">=", ">", "=="})
    EXPECT_EQ(exit_code(std::string("mean_warm_ttft_ms") + relation + "1"), 3) << relation;
}

// The same bytes, written to one drive and to four.
TEST_F(Cli, WearsEveryDriveByItsShare) {
  const auto worn = [&](const char* drives) {
    const Outcome outcome = kvcap({"run", path("chat.json"), "--set", "policy.name=kv_offload", "--set",
                                   std::string("hardware.ssd.count=") + drives, "--set",
                                   "hardware.ssd.endurance_bytes=1e15", "--json"});
    const nlohmann::json metrics = nlohmann::json::parse(outcome.out)["metrics"];
    return metrics["ssd_writes"]["rated_share"].get<double>();
  };
  EXPECT_NEAR(worn("1") / worn("4"), 4, 0.05);
}

TEST_F(Cli, ExitsWith130AndLeavesNoHalfResultWhenInterrupted) {
  const pid_t pid = start({"run", path("chat.json"), "--set", "workload.sessions=20000", "--set",
                           "fidelity=layer", "--out", path("late")});
  wait_for_worker_of(pid);
  kill(pid, SIGINT);
  const Outcome outcome = finish(pid);
  EXPECT_EQ(outcome.exit_code, 130);
  EXPECT_EQ(outcome.err, "kvcap: interrupted\n");
  EXPECT_FALSE(fs::exists(folder_ / "late"));
}

TEST_F(Cli, ExitsWith130WhereNoWorkersRun) {
  const pid_t pid = start({"trace", "generate", path("many.jsonl"), "--sessions", "20000000"});
  wait_until_it_catches(pid, SIGINT);
  kill(pid, SIGINT);
  const Outcome outcome = finish(pid);
  EXPECT_EQ(outcome.exit_code, 130);
  EXPECT_EQ(outcome.err, "kvcap: interrupted\n");
  EXPECT_FALSE(fs::exists(path("many.jsonl")));
}

TEST_F(Cli, SaysWhenAGivenKvCapacityHidesWeightsThatDoNotFit) {
  const Outcome outcome =
      kvcap({"run", path("chat.json"), "--json", "--set", "hardware.gpu.memory_bytes=1e9", "--set",
             "serving.kv_capacity_tokens=40000", "--set", "serving.allow_impossible=true"});
  EXPECT_NE(outcome.out.find("the weights of llama-2-7b (13.5 GB) leave no room for KV on this machine"),
            std::string::npos);
}

TEST_F(Cli, NamesTheFileOfWhatOnlyAMachineCanTell) {
  const Outcome outcome = kvcap({"run", path("chat.json"), "--set", "serving.kv_capacity_tokens=5"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err,
            "kvcap: " + path("chat.json") +
                ": serving.kv_capacity_tokens: found 5, allowed: at least serving.block_size = 16\n");
}

}  // namespace
}  // namespace kvcap::cli_test
