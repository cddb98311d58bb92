// kvcap compare as its users meet it: settings, labels, differences, and files of --out.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "unit/cli.h"

namespace kvcap::compare_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

TEST_F(Cli, ComparesAgainstTheFirstSetting) {
  const Outcome outcome = kvcap({"compare", path("chat.json"), "--policies", "recompute,hcache", "--json",
                                 "--set", "replications=3", "--out", path("compared")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json compared = Json::parse(outcome.out);
  EXPECT_EQ(compared["schema"], "kvcap.compare/1");
  ASSERT_EQ(compared["results"].size(), 2U);
  bool found = false;
  for (const Json& difference : compared["differences"]) {
    if (difference["metric"] != "mean_ttft_ms") continue;
    found = true;
    EXPECT_EQ(difference["setting"], "hcache");
    EXPECT_EQ(difference["against"], "recompute");
    EXPECT_NEAR(difference["difference"].get<double>(),
                compared["results"][1]["metrics"]["mean_ttft_ms"].get<double>() -
                    compared["results"][0]["metrics"]["mean_ttft_ms"].get<double>(),
                1e-9);
    EXPECT_LT(difference["difference"].get<double>(), 0);
  }
  EXPECT_TRUE(found);
  EXPECT_TRUE(compared["pairs"].empty());
  EXPECT_TRUE(fs::exists(folder_ / "compared/hcache/result.json"));
  EXPECT_TRUE(fs::exists(folder_ / "compared/table.txt"));
}

// (b - c) = (b - a) - (c - a), whatever the interval.
TEST_F(Cli, ComparesTheOthersWithEachOther) {
  const Outcome outcome = kvcap({"compare", path("chat.json"), "--policies", "recompute,kv_offload,hcache",
                                 "--json", "--set", "replications=2", "--set", "workload.sessions=20"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json compared = Json::parse(outcome.out);
  ASSERT_EQ(compared["pairs"].size(), 2U);
  for (const Json& pair : compared["pairs"]) {
    EXPECT_EQ(pair["setting"], "hcache");
    EXPECT_EQ(pair["against"], "kv_offload");
    double expected = 0;
    for (const Json& difference : compared["differences"]) {
      if (difference["metric"] != pair["metric"]) continue;
      expected += (difference["setting"] == "hcache" ? 1 : -1) * difference["difference"].get<double>();
    }
    EXPECT_NEAR(pair["difference"].get<double>(), expected, 1e-9);
    EXPECT_LT(pair["interval"][0], pair["interval"][1]);
  }
}

TEST_F(Cli, ComparesAnyField) {
  const Outcome outcome = kvcap({"compare", path("chat.json"), "--over", "hardware.ssd.count=1,4"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("\nTTFT mean "), std::string::npos);
}

TEST_F(Cli, ComparesEveryPolicyWithEveryValueOfAField) {
  const Outcome outcome = kvcap({"compare", path("chat.json"), "--policies", "recompute,hcache", "--over",
                                 "hardware.ssd.count=1,4", "--json", "--draws", "0"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json results = Json::parse(outcome.out)["results"];
  std::string settings;
  for (const Json& one : results) {
    settings += one["scenario"]["policy"]["name"].get<std::string>() + " " +
                std::to_string(one["scenario"]["hardware"]["ssd"]["count"].get<int>()) + "; ";
  }
  EXPECT_EQ(settings, "recompute 1; recompute 4; hcache 1; hcache 4; ");
}

TEST_F(Cli, ComparesPoliciesWithTheirTiers) {
  const Outcome outcome =
      kvcap({"compare", path("chat.json"), "--policies", "recompute,kv_offload:dram,kv_offload:dram+ssd",
             "--json", "--draws", "0", "--out", path("tiers")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json results = Json::parse(outcome.out)["results"];
  ASSERT_EQ(results.size(), 3U);
  const Json& one = results[1]["scenario"]["policy"]["tiers"];
  const Json& two = results[2]["scenario"]["policy"]["tiers"];
  ASSERT_EQ(one.size(), 1U);
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(one[0]["kind"], "dram");
  EXPECT_EQ(two[1]["kind"], "ssd");
  EXPECT_TRUE(fs::exists(folder_ / "tiers/kv_offload_dram_ssd/result.json"));
}

// The same arrivals on three machines that do both, and on one that computes prompts for two.
TEST_F(Cli, ComparesLayoutsOfTheSameMachines) {
  const std::string nic = R"(hardware.nic={"bandwidth_bytes_per_s":20e9})";
  const Outcome outcome = kvcap({"compare", path("chat.json"), "--layouts", "3,1+2", "--json", "--draws", "0",
                                 "--set", nic, "--set", "workload.sessions=20", "--out", path("layouts")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json results = Json::parse(outcome.out)["results"];
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0]["setting"], "3");
  EXPECT_EQ(results[1]["setting"], "1+2");
  EXPECT_TRUE(results[0]["scenario"]["fleet"]["disaggregation"].is_null());
  EXPECT_EQ(results[1]["scenario"]["fleet"]["disaggregation"]["prefill_replicas"], 1);
  for (const Json& result : results) EXPECT_EQ(result["scenario"]["fleet"]["replicas"], 3);
  EXPECT_EQ(results[0]["metrics"]["total_input_tokens"], results[1]["metrics"]["total_input_tokens"]);
  EXPECT_FALSE(results[0]["metrics"].contains("disaggregation"));
  EXPECT_EQ(results[1]["metrics"]["disaggregation"]["transfers"], results[1]["metrics"]["completed"]);
  EXPECT_TRUE(fs::exists(folder_ / "layouts/1_2/result.json"));
  for (const std::string layouts : {"0", "2+", "1+2+3", "x"}) {
    const Outcome refused = kvcap({"compare", path("chat.json"), "--layouts", layouts});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.err.find("--layouts: found \"" + layouts + "\", allowed: numbers of nodes"),
              std::string::npos)
        << refused.err;
  }
}

// Commas separate values, but not those inside a value.
TEST_F(Cli, ComparesFieldsThatAreLists) {
  const Outcome outcome = kvcap({"compare", path("chat.json"), "--json", "--over",
                                 R"(policy.tiers=[{"kind":"dram"},{"kind":"ssd"}], [{"kind":"ssd"}])"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json results = Json::parse(outcome.out)["results"];
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0]["scenario"]["policy"]["tiers"].size(), 2U);
  EXPECT_EQ(results[1]["scenario"]["policy"]["tiers"].size(), 1U);
}

// Every turn spends 100 ms more in the API server.
TEST_F(Cli, RequiresDifferencesAgainstTheFirstSetting) {
  const auto gate = [&](const std::string& condition, const std::string& replications) {
    return kvcap({"compare", path("chat.json"), "--over", "serving.request_overhead_s=0.1,0.2", "--draws",
                  "0", "--set", "serving.max_model_len=32768", "--set", "replications=" + replications,
                  "--require", condition});
  };
  EXPECT_EQ(gate("mean_ttft_ms<=+0.2s", "3").exit_code, 0);
  EXPECT_EQ(gate("mean_ttft_ms<=+900%", "3").exit_code, 0);
  EXPECT_EQ(gate("mean_ttft_ms>=+50", "3").exit_code, 0);
  const Outcome failed = gate("mean_ttft_ms<=+1%", "3");
  EXPECT_EQ(failed.exit_code, 3);
  EXPECT_EQ(failed.err.find("kvcap: required mean_ttft_ms<=+1%, found +"), 0U) << failed.err;
  EXPECT_NE(failed.err.find(" % from request_overhead_s=0.1 (the first setting) to request_overhead_s=0.2; "),
            std::string::npos)
      << failed.err;
  EXPECT_NE(failed.err.find(" +-"), std::string::npos) << failed.err;
  const Outcome alone = gate("p99_ttft_ms<=+900%", "1");
  EXPECT_EQ(alone.exit_code, 3);
  EXPECT_NE(alone.err.find("one run gives no interval: --set replications=5"), std::string::npos)
      << alone.err;
  EXPECT_EQ(gate("p99_ttft_ms<=90s", "1").exit_code, 0) << "a value of every setting";
  EXPECT_EQ(gate("kv_capacity_tokens<=+2%", "1").exit_code, 2) << "not compared";
}

// A setting replaces tiers; what --set says of a part of them holds all the same.
TEST_F(Cli, ComparesWithTiersAsSet) {
  const auto compare = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"compare", path("chat.json"), "--draws", "0", "--json"});
    return kvcap(more);
  };
  const auto bytes_of = [&](const std::vector<std::string>& more) {
    const Outcome outcome = compare(more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const Json tier = Json::parse(outcome.out)["results"].back()["scenario"]["policy"]["tiers"][0];
    return tier["kind"].get<std::string>() + " " + tier["capacity_bytes"].dump();
  };
  const std::string set = "policy.tiers.0.capacity_bytes=3e9";
  EXPECT_EQ(bytes_of({"--policies", "recompute,kv_offload:dram", "--set", set}), "dram 3000000000");
  EXPECT_EQ(bytes_of({"--policies", "kv_offload", "--dram", "9GB", "--set", set}), "dram 3000000000");
  EXPECT_EQ(bytes_of({"--policies", "kv_offload:dram", "--set", set, "--over",
                      "policy.tiers.0.capacity_bytes=4e9"}),
            "dram 4000000000");
  const Outcome bare = kvcap({"compare", "--model", "llama-3.1-8b", "--gpu", "a100-80g-sxm", "--workload",
                              "chat", "--rate", "1", "--policies", "kv_offload:dram", "--draws", "0",
                              "--json", "--set", "workload.sessions=20", "--set", set});
  ASSERT_EQ(bare.exit_code, 0) << bare.err;
  EXPECT_EQ(Json::parse(bare.out)["results"][0]["scenario"]["policy"]["tiers"][0]["capacity_bytes"], 3e9);
  EXPECT_EQ(compare({"--policies", "kv_offload:dram", "--set", "policy.tiers=[{\"kind\":\"ssd\"}]"}).err,
            "kvcap: --set policy.tiers=[{\"kind\":\"ssd\"}]: found with --policies, which also sets it, "
            "allowed: one of them; parts of a tier: policy.tiers.0.capacity_bytes=100GB\n");
  EXPECT_EQ(
      compare({"--policies", "kv_offload,hcache", "--set", "policy.name=ideal"}).err,
      "kvcap: --set policy.name=ideal: found with --policies, which also sets it, allowed: one of them\n");
}

TEST_F(Cli, SavesTheFirstSettingThatItCompares) {
  const auto saved = [&](const std::string& policies, const std::string& err) {
    const std::string file = path("saved-" + policies + ".json");
    const Outcome outcome = kvcap({"compare", "--model", "llama-3.1-8b", "--gpu", "a100-80g-sxm",
                                   "--workload", "chat", "--rate", "1", "--set", "workload.sessions=20",
                                   "--draws", "0", "--dram", "9GB", "--policies", policies, "--save", file});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, err.empty() ? "" : "kvcap: warning: --save: " + file + err);
    return Json::parse(read_file(file))["policy"];
  };
  const Json one = saved("kv_offload", "");
  EXPECT_EQ(one["name"], "kv_offload");
  EXPECT_EQ(one["tiers"][0]["capacity_bytes"], 9e9);
  EXPECT_EQ(saved("recompute,hcache", " contains only the first of 2 settings, recompute\n")["name"],
            "recompute");
}

// What a pull request changes: the file before and the file after, over five seeds unless a number is given.
TEST_F(Cli, ComparesFilesAndBoundsTheirDifference) {
  for (const char* seconds : {"0.1", "0.2"}) {
    const Outcome saved = kvcap({"run", path("chat.json"), "--set", "serving.max_model_len=32768", "--set",
                                 std::string("serving.request_overhead_s=") + seconds, "--save",
                                 path(std::string("after-") + seconds + ".json")});
    ASSERT_EQ(saved.exit_code, 0) << saved.err;
  }
  const std::vector<std::string> files = {"compare", path("after-0.1.json"), path("after-0.2.json"),
                                          "--draws", "0"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), files.begin(), files.end());
    return kvcap(more);
  };
  const Outcome failed = with({"--require", "mean_ttft_ms<=+1%"});
  EXPECT_EQ(failed.exit_code, 3);
  EXPECT_NE(failed.err.find(" % from after-0.1 (the first setting) to after-0.2"), std::string::npos)
      << failed.err;
  EXPECT_EQ(failed.out.find(" holds: "), std::string::npos) << failed.out;
  EXPECT_NE(failed.out.find("replications"), std::string::npos) << failed.out;
  const Outcome held = with({"--require", "mean_ttft_ms<=+900%", "--require", "mean_ttft_ms<=50s"});
  EXPECT_EQ(held.exit_code, 0);
  const std::size_t line = held.out.find("\n\nmean_ttft_ms<=+900% holds: +");
  ASSERT_NE(line, std::string::npos) << held.out;
  EXPECT_NE(held.out.find(" % from after-0.1 to after-0.2\nmean_ttft_ms<=50s holds: ", line),
            std::string::npos)
      << held.out;
  EXPECT_TRUE(held.out.ends_with(" ms of after-0.2\n")) << held.out;
  EXPECT_EQ(with({"--policies", "recompute"}).exit_code, 2);
  const Outcome alone =
      kvcap({"compare", files[1], "--policies", "recompute", "--require", "mean_ttft_ms<=+1%"});
  EXPECT_EQ(alone.err,
            "kvcap: --require: found a difference and one setting, allowed: two settings or more\n");
}

TEST_F(Cli, TheHeadingOfFilesNamesWhatDiffers) {
  const auto saved = [&](const char* name, const char* rate) {
    kvcap({"run", path("chat.json"), "--set", "serving.max_model_len=32768", "--set", "workload.sessions=20",
           "--rate", rate, "--save", path(name)});
    return path(name);
  };
  const auto heading = [&](const std::vector<std::string>& files) {
    std::vector<std::string> ask = {"compare", "--draws", "0"};
    ask.insert(ask.end(), files.begin(), files.end());
    const std::string out = kvcap(ask).out;
    return out.substr(0, out.find("\n\n"));
  };
  const std::string slow = saved("slow.json", "0.5"), same = saved("same.json", "0.5"),
                    fast = saved("fast.json", "0.75");
  const std::string shared = "llama-2-7b on 1x A100-40G SXM4 (paper), 20 sessions, 99 turns";
  EXPECT_EQ(heading({slow, same}), shared + ", 0.5 requests/s, seed 1");
  EXPECT_EQ(heading({slow, fast}), shared + ", seed 1   slow: 0.5 requests/s   fast:\n0.75 requests/s");
}

TEST_F(Cli, SaysInJsonWhichRequirementsHold) {
  const Outcome outcome = kvcap({"compare", path("chat.json"), "--over", "serving.request_overhead_s=0.1,0.2",
                                 "--draws", "0", "--set", "serving.max_model_len=32768", "--require",
                                 "mean_ttft_ms<=+900%", "--require", "mean_ttft_ms<=+1%", "--json"});
  EXPECT_EQ(outcome.exit_code, 3);
  const Json checked = Json::parse(outcome.out).at("requirements");
  ASSERT_EQ(checked.size(), 2U);
  EXPECT_EQ(checked[0].at("condition"), "mean_ttft_ms<=+900%");
  EXPECT_EQ(checked[0].at("holds"), true);
  EXPECT_EQ(checked[0].at("failure"), nullptr);
  EXPECT_EQ(checked[0].at("against"), "request_overhead_s=0.1");
  EXPECT_EQ(checked[1].at("setting"), "request_overhead_s=0.2");
  EXPECT_EQ(checked[1].at("holds"), false);
  EXPECT_EQ(checked[1].at("unit"), "%");
  EXPECT_GT(checked[1].at("found"), 1);
  EXPECT_GT(checked[1].at("half_width"), 0);
  EXPECT_EQ("kvcap: " + checked[1].at("failure").get<std::string>() + "\n", outcome.err);
  const Outcome run = kvcap({"run", path("chat.json"), "--require", "completed>=1"});
  const std::size_t held = run.out.find("\n\ncompleted>=1 holds: ");
  ASSERT_NE(held, std::string::npos) << run.out;
  EXPECT_TRUE(run.out.ends_with(" turns\n")) << run.out.substr(held);
}

// The tiers and sizes of every setting.
TEST_F(Cli, ChoosesTiersByThePolicysSuffixAndSizesByOptions) {
  const auto tiers = [&](const std::string& policies, std::vector<std::string> sizes) {
    std::vector<std::string> arguments = {
        "compare", "--model", "llama-3.1-8b",        "--gpu",   "l40s", "--workload", "chat",       "--rate",
        "1",       "--set",   "workload.sessions=5", "--draws", "0",    "--json",     "--policies", policies};
    arguments.insert(arguments.end(), sizes.begin(), sizes.end());
    const Outcome outcome = kvcap(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    std::string text;
    const Json compared = Json::parse(outcome.out);
    for (const Json& result : compared.at("results")) {
      text += result.at("setting").get<std::string>() + ":";
      for (const Json& tier : result.at("scenario").at("policy").at("tiers")) {
        text += " " + tier.at("kind").get<std::string>() + " " + tier.at("capacity_bytes").dump();
      }
      text += "\n";
    }
    return text;
  };
  EXPECT_EQ(tiers("lmcache,lmcache:dram,lmcache:ssd", {"--ssd", "1TB"}),
            "lmcache: dram 5368709120 ssd 1000000000000\n"
            "lmcache:dram: dram null\n"
            "lmcache:ssd: ssd 1000000000000\n");
  EXPECT_EQ(tiers("lmcache:dram,lmcache:dram+ssd", {"--dram", "50GB,60GB", "--ssd", "1TB"}),
            "lmcache:dram dram=50GB: dram 50000000000\n"
            "lmcache:dram dram=60GB: dram 60000000000\n"
            "lmcache:dram+ssd dram=50GB ssd=1TB: dram 50000000000 ssd 1000000000000\n"
            "lmcache:dram+ssd dram=60GB ssd=1TB: dram 60000000000 ssd 1000000000000\n");
  EXPECT_EQ(tiers("lmcache:ssd", {"--dram", "50GB,60GB", "--ssd", "1TB"}),
            "lmcache:ssd ssd=1TB: ssd 1000000000000\n");
  const Outcome refused = kvcap({"compare", "--model", "llama-3.1-8b", "--gpu", "l40s", "--workload", "chat",
                                 "--rate", "1", "--policies", "lmcache:dram+remote", "--dram", "50GB"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(
      refused.err,
      "kvcap: --policies, --dram, --ssd: policy.tiers.1.kind: found \"remote\", allowed: hbm, dram, ssd "
      "(what the hardware has)\n");
}

TEST_F(Cli, LeavesOutCombinationsThatCannotBe) {
  const auto compared = [&](const std::string& ranks, const std::string& gpus) {
    return kvcap({"compare", "--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--gpus", "8", "--workload",
                  "chat", "--rate", "1", "--set", "workload.sessions=5", "--draws", "0", "--over",
                  "serving.data_parallel_size=" + ranks, "--over", "serving.tensor_parallel_size=" + gpus});
  };
  const Outcome some = compared("1,8", "1,8");
  EXPECT_EQ(some.exit_code, 0) << some.err;
  EXPECT_NE(some.out.find(
                "\n\nLeft out because it is impossible: data_parallel_size=8 tensor_parallel_size=8 (--over "
                "serving.data_parallel_size=8: found 8, allowed: at most 1: "),
            std::string::npos)
      << some.out;
  EXPECT_EQ(some.out.find("Left out"), some.out.rfind("Left out"));
  EXPECT_EQ(compared("8", "8").exit_code, 2) << "all are impossible";
  const Outcome wrong = compared("1,x", "1,8");
  EXPECT_EQ(wrong.exit_code, 2) << "a value that never is";
  EXPECT_NE(wrong.err.find("serving.data_parallel_size=x: found \"x\""), std::string::npos) << wrong.err;
}

// Both settings have finished some of 4,000 seeds, and the table is of these.
TEST_F(Cli, ComparesTheSeedsThatCtrlCHasLeft) {
  const fs::path finished = fs::path(path("compared")) / ".finished";
  const pid_t pid =
      start({"compare", path("chat.json"), "--policies", "recompute,hcache", "--draws", "0", "--set",
             "serving.max_model_len=32768", "--set", "replications=4000", "--out", path("compared")});
  for (int i = 0; i < 3000; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::error_code none;
    if (std::distance(fs::directory_iterator(finished, none), {}) >= 12) break;
  }
  kill(pid, SIGINT);
  const Outcome outcome = finish(pid);
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_EQ(outcome.err,
            "kvcap: interrupted; the same command with --resume continues from the finished runs\n");
  EXPECT_EQ(outcome.out.find("Interrupted: "), 0U) << outcome.out;
  EXPECT_NE(outcome.out.find(" of 4,000 seeds finished.\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("TTFT mean"), std::string::npos) << outcome.out;
  EXPECT_FALSE(fs::exists(path("compared/compare.json")));
}

TEST_F(Cli, ADryRunChecksTheSettingsAndRunsNothing) {
  const std::vector<std::string> asked = {"compare",  path("chat.json"), "--policies", "recompute,hcache",
                                          "--set",    "replications=3",  "--out",      path("dry"),
                                          "--dry-run"};
  const Outcome outcome = kvcap(asked);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "Would run 6 simulations: recompute, hcache; 3 seeds each\n");
  EXPECT_FALSE(fs::exists(path("dry")));
  std::vector<std::string> as_json = asked;
  as_json.push_back("--json");
  EXPECT_EQ(Json::parse(kvcap(as_json).out),
            Json::parse(R"({"settings": ["recompute", "hcache"], "simulations": 6})"));
  // What only the machine refuses, too.
  as_json.insert(as_json.end(), {"--model", "llama-2-70b"});
  const Outcome refused = kvcap(as_json);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("llama-2-70b does not fit"), std::string::npos) << refused.err;
}

TEST_F(Cli, TellsProgramsOfItsProgress) {
  const std::vector<std::string> asked = {"compare", path("chat.json"), "--policies", "ideal,hcache",
                                          "--set",   "replications=2",  "--json"};
  std::vector<std::string> told = asked;
  told.push_back("--progress");
  const Outcome outcome = kvcap(told);
  EXPECT_EQ(outcome.out, kvcap(asked).out);
  std::istringstream lines(outcome.err);
  int finished = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('{')) continue;
    const Json json = Json::parse(line);
    if (json.contains("progress")) {
      EXPECT_LE(json["share"], 1) << line;
    }
    if (!json.contains("finished")) continue;
    ++finished;
    EXPECT_GT(json["metrics"]["mean_ttft_ms"], 0) << line;
    EXPECT_LE(json["seed"], 2) << line;
  }
  EXPECT_EQ(finished, 4) << outcome.err;
}

TEST_F(Cli, ARunBoundsValuesAlone) {
  const Outcome outcome = kvcap({"run", path("chat.json"), "--require", "p99_ttft_ms<=+2%"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err,
            "kvcap: --require: found \"p99_ttft_ms<=+2%\", allowed: a value without a sign; kvcap compare "
            "bounds differences\n");
}

TEST_F(Cli, ASaturatedRunMeetsNoBoundOfALatency) {
  const std::vector<std::string> late = {"run",   path("chat.json"),
                                         "--set", "serving.max_model_len=32768",
                                         "--set", "workload.arrivals={\"requests_per_s\":60}",
                                         "--set", "workload.run_length=steady",
                                         "--set", "policy.name=recompute"};
  std::vector<std::string> bounded = late;
  bounded.insert(bounded.end(), {"--require", "p99_ttft_ms<=1h"});
  const Outcome outcome = kvcap(bounded);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_NE(outcome.err.find("found a saturated machine"), std::string::npos) << outcome.err;
}

// 600 sessions at 7 requests/s end before the queue shows that the machine serves only some 5.5.
TEST_F(Cli, ARunThatIsTooShortToTellMeetsNoBoundAtALoadAboveTheMachines) {
  const std::vector<std::string> brief = {
      "run", "--model", "llama-3.1-8b",         "--gpu", "a100-80g-sxm", "--workload", "chat", "--rate",
      "7",   "--set",   "workload.sessions=600"};
  EXPECT_EQ(kvcap(brief).exit_code, 0);
  std::vector<std::string> bounded = brief;
  bounded.insert(bounded.end(), {"--require", "p99_ttft_ms<=1h"});
  const Outcome outcome = kvcap(bounded);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_NE(
      outcome.err.find("in a run that is too short to tell; lengthen it: --set workload.run_length=steady"),
      std::string::npos)
      << outcome.err;
}

}  // namespace
}  // namespace kvcap::compare_test
