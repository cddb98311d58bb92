// Questions without a file: options in place of a scenario, and files that options override.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "unit/cli.h"

namespace kvcap::question_test {
namespace {

using Json = nlohmann::json;

class Question : public Cli {
 protected:
  // Returns the result of kvcap run with these arguments.
  Json run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "run");
    arguments.emplace_back("--json");
    const Outcome outcome = kvcap(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return outcome.exit_code == 0 ? Json::parse(outcome.out) : Json();
  }
  std::string refusal(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "run");
    const Outcome outcome = kvcap(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
    return outcome.err;
  }
  const std::vector<std::string> chat_ = {"--model", "Qwen/Qwen3-32B", "--gpu", "h100-sxm", "--gpus",
                                          "2",       "--workload",     "chat",  "--rate",   "0.5"};
  std::vector<std::string> chat_with(const std::vector<std::string>& more) const {
    std::vector<std::string> all = chat_;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

TEST_F(Question, WithoutAFileIsTheEngineAsInstalled) {
  const Json scenario = run(chat_).at("scenario");
  EXPECT_EQ(scenario.at("model").at("name"), "qwen3-32b");
  EXPECT_EQ(scenario.at("hardware").at("name"), "h100-sxm-8x") << "two of its GPUs";
  EXPECT_EQ(scenario.at("policy").at("name"), "recompute");
  const Json& serving = scenario.at("serving");
  EXPECT_EQ(serving.at("engine"), "vllm");
  EXPECT_EQ(serving.at("tensor_parallel_size"), 2);
  EXPECT_EQ(serving.at("prefix_caching"), true);
  EXPECT_EQ(serving.at("max_num_seqs"), 1024) << "vLLM's API server on GPUs of 70 GiB and more";
  EXPECT_EQ(serving.at("max_model_len"), 40960) << "the model's";
  EXPECT_EQ(scenario.at("workload").at("arrivals").at("requests_per_s"), 0.5);
}

// What nobody chose is as a server's users are: runs until the state is steady, and think times that differ.
TEST_F(Question, WithoutALengthRunsUntilTheStateIsSteady) {
  const std::vector<std::string> asked = {"--model",    "llama-3.1-8b", "--gpu",  "h100-sxm",
                                          "--workload", "chat",         "--rate", "2"};
  const Json workload = run(asked).at("scenario").at("workload");
  EXPECT_EQ(workload.at("run_length"), "steady");
  EXPECT_EQ(workload.at("think_time").at("distribution"), "exponential");
  std::vector<std::string> counted = asked;
  counted.insert(counted.end(),
                 {"--set", "workload.sessions=50", "--set", "workload.think_time.distribution=constant"});
  const Json own = run(counted).at("scenario").at("workload");
  EXPECT_EQ(own.at("run_length"), "fixed");
  EXPECT_EQ(own.at("think_time").at("distribution"), "constant");
}

TEST_F(Question, TakesTheLongestSequenceThatFitsAndSaysSo) {
  // Llama-3.1-8B allows 131,072 tokens; 128 KiB of KV each are 16 GiB, and a GPU of 24 GB with 16 GB of
  // weights holds fewer.
  const Json result =
      run({"--model", "llama-3.1-8b", "--gpu", "rtx-4090", "--workload", "chat", "--rate", "1"});
  const auto tokens = result.at("scenario").at("serving").at("max_model_len").get<int64_t>();
  EXPECT_GT(tokens, 10000);
  EXPECT_LT(tokens, 60000);
  bool is_said = false;
  for (const Json& note : result.at("notes")) {
    is_said = is_said || note.get<std::string>().find("the longest sequence that fits") != std::string::npos;
  }
  EXPECT_TRUE(is_said) << result.at("notes");
}

TEST_F(Question, IsSavedAsAScenarioWithTheSameAnswer) {
  const Json asked = run(chat_with({"--dram", "100GB", "--save", path("saved.json")}));
  const Json saved = run({path("saved.json")});
  EXPECT_EQ(asked.at("metrics"), saved.at("metrics"));
  const Json file = Json::parse(read_file(path("saved.json")));
  EXPECT_EQ(file.at("model"), "Qwen/Qwen3-32B") << "a name, not the model's contents";
  EXPECT_EQ(file.at("hardware"), "h100-sxm-8x");
  EXPECT_EQ(file.at("policy").at("tiers").at(0).at("capacity_bytes"), 1e11);
}

TEST_F(Question, IsSavedAgainOnlyWhereItIsTheSame) {
  run(chat_with({"--save", path("saved.json")}));
  run(chat_with({"--save", path("saved.json")}));
  EXPECT_NE(refusal(chat_with({"--dram", "100GB", "--save", path("saved.json")}))
                .find("already exists with different contents"),
            std::string::npos);
}

TEST_F(Question, SizesHaveUnitsAndPoliciesNames) {
  EXPECT_EQ(refusal(chat_with({"--dram", "200"})),
            "kvcap: --dram: found \"200\", allowed: a size such as 250GB or 2TiB, or 0GB for none, several "
            "separated by commas\n");
  std::vector<std::string> misspelt = chat_with({"--dram", "200GB", "--policies", "LMCache"});
  misspelt.insert(misspelt.begin(), "compare");
  const Outcome outcome = kvcap(misspelt);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("did you mean \"lmcache\"?"), std::string::npos) << outcome.err;
}

// A range of sizes may begin with none: the engine as installed.
TEST_F(Question, ZeroBytesAreNoTier) {
  std::vector<std::string> ask =
      chat_with({"--dram", "0GB,9GB", "--policies", "kv_offload", "--set", "workload.sessions=20", "--json"});
  ask.insert(ask.begin(), "compare");
  const Outcome outcome = kvcap(ask);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json results = Json::parse(outcome.out).at("results");
  EXPECT_EQ(results[0]["setting"], "kv_offload dram=0GB");
  EXPECT_EQ(results[0]["policy"], "recompute");
  EXPECT_EQ(results[1]["policy"], "kv_offload");
  const Json two = run(chat_with({"--set", "policy.name=kv_offload", "--set",
                                  R"(policy.tiers=[{"kind":"dram","capacity_bytes":0},{"kind":"ssd"}])"}));
  const Json& tiers = two.at("scenario").at("policy").at("tiers");
  ASSERT_EQ(tiers.size(), 1U);
  EXPECT_EQ(tiers[0]["kind"], "ssd");
  EXPECT_NE(refusal(chat_with({"--dram", "9TB"})).find("hardware.dram.capacity_bytes sets it"),
            std::string::npos);
}

TEST_F(Question, TakesAsManyGpusAsTheLaunchLineUses) {
  const Json scenario = run({"--from", "vllm serve Qwen/Qwen3-32B --tensor-parallel-size 2", "--gpu",
                             "h100-sxm", "--workload", "chat", "--rate", "0.5"})
                            .at("scenario");
  EXPECT_EQ(scenario.at("hardware").at("name"), "h100-sxm-8x");
  EXPECT_EQ(scenario.at("hardware").at("gpu").at("count"), 2);
}

TEST_F(Question, NamesTheFieldOrTheOptionThatIsMeant) {
  EXPECT_EQ(refusal(chat_with({"--set", "max_num_seqs=64"})),
            "kvcap: --set max_num_seqs=64: unknown key; did you mean serving.max_num_seqs?\n");
  EXPECT_NE(refusal(chat_with({"--qps", "3"})).find("did you mean \"--rate\"?"), std::string::npos);
  EXPECT_NE(refusal({"--model", "Llama-3.3-70B", "--gpu", "h200-sxm", "--workload", "chat", "--rate", "1"})
                .find("did you mean \"llama-3.3-70b"),
            std::string::npos);
  EXPECT_NE(refusal({"--model", "qwen3-32b", "--gpu", "H100", "--workload", "chat", "--rate", "1"})
                .find("did you mean \"h100-sxm\"?"),
            std::string::npos);
}

TEST_F(Question, EvenABriefAnswerSaysWhichVersionStandsForAnUnknownOne) {
  const std::string line = "simulated as another version: vLLM 0.99 as 0.30, the newest that was examined.\n";
  const auto said = [&](std::vector<std::string> arguments) {
    const Outcome outcome = kvcap(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const std::size_t at = outcome.out.find(line);
    return at != std::string::npos && outcome.out.find(line, at + 1) == std::string::npos;
  };
  std::vector<std::string> typed = chat_with({"--engine", "vllm@0.99", "--set", "workload.sessions=20"});
  write("filed.json", R"({"schema": "kvcap.scenario/1", "model": "llama-3.1-8b", "hardware": "h100-sxm",
        "workload": {"source": {"kind": "chat"}, "sessions": 20}, "serving": {"engine_version": "0.99"}})");
  for (const char* command : {"run", "compare"}) {
    std::vector<std::string> all = typed;
    all.insert(all.begin(), command);
    EXPECT_TRUE(said(all)) << command;
  }
  EXPECT_TRUE(said({"run", path("filed.json")}));
  EXPECT_TRUE(said({"run", path("filed.json"), "--explain"}));
  typed = chat_with({"--engine", "vllm@0.99", "--set", "workload.sessions=20", "--set",
                     "serving.max_num_seqs=4", "--meet", "p99_ttft_ms<=1000", "--seeds", "1"});
  typed.insert(typed.begin(), "capacity");
  EXPECT_TRUE(said(typed));
}

TEST_F(Question, KeepsTheNameOfTheCheckpointInLaunchLines) {
  const Outcome outcome =
      kvcap({"plan", "--model", "meta-llama/Llama-3.3-70B-Instruct", "--gpu", "h200-sxm", "--gpus", "2",
             "--workload", "chat", "--rate", "0.5", "--meet", "p90_ttft_ms<=10s", "--emit", "launch"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find("vllm serve meta-llama/Llama-3.3-70B-Instruct "), 0U) << outcome.out;
}

TEST_F(Question, NamesTheNearestProfileBeforeTheOthers) {
  const auto refused = [&](const std::string& gpu) {
    return refusal({"--model", "qwen3-32b", "--gpu", gpu, "--workload", "chat", "--rate", "1"});
  };
  const std::string begin = "kvcap: the command line: hardware: found \"";
  EXPECT_TRUE(refused("H200").starts_with(begin + "H200\"; did you mean \"h200-sxm\"? allowed: a100-"));
  EXPECT_TRUE(refused("l40").starts_with(begin + "l40\"; did you mean \"l40s\"? allowed: "));
  EXPECT_TRUE(
      refused("a40").starts_with(begin + "a40\"; did you mean one of a40-1tb, a40-2gpu-1tb? allowed: "));
  EXPECT_TRUE(refused("h200-smx").starts_with(begin + "h200-smx\"; did you mean \"h200-sxm\"? allowed: "));
  EXPECT_TRUE(refused("tpu-v6").starts_with(begin + "tpu-v6\", allowed: a100-"));
}

// The profile with the least memory is not the first of the list, whose default is another one.
TEST_F(Question, OfAPlanHasTheDefaultsOfEachMachine) {
  const Outcome outcome =
      kvcap({"plan", "--model", "llama-3.1-8b", "--gpus", "1", "--workload", "chat", "--rate", "0.2",
             "--meet", "p90_ttft_ms<=20s", "--set", "workload.sessions=10", "--draws", "0", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json plan = Json::parse(outcome.out);
  EXPECT_EQ(outcome.out.find("max_num_seqs"), std::string::npos) << "that of the first machine";
  for (const Json& one : plan.at("judged")) {
    const auto command = one.at("command").get<std::string>();
    const std::size_t gpu = command.find(" --gpu ");
    EXPECT_NE(gpu, std::string::npos) << command;
    EXPECT_EQ(command.find(" --gpu ", gpu + 1), std::string::npos) << command;
    EXPECT_EQ(command.find("hardware="), std::string::npos) << command;
  }
}

TEST_F(Question, KeepsTheNameOfTheCheckpointInFilesThatItWrites) {
  const std::string name = "meta-llama/Llama-3.3-70B-Instruct", line = "vllm serve " + name;
  const auto emitted = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "run");
    arguments.insert(arguments.end(), {"--emit", "launch"});
    const Outcome outcome = kvcap(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out.substr(0, outcome.out.find_first_of(" \n", line.size()));
  };
  const std::vector<std::string> asked = {"--gpu", "h200-sxm", "--gpus", "2",     "--workload",
                                          "chat",  "--rate",   "0.1",    "--set", "workload.sessions=5"};
  std::vector<std::string> by_name = asked, by_line = asked;
  by_name.insert(by_name.end(), {"--model", name, "--save", path("name.json")});
  by_line.insert(by_line.end(), {"--from", line + "-FP8", "--save", path("line.json")});
  write("result.json", run(by_name).dump());
  EXPECT_EQ(emitted({path("name.json")}), line);
  EXPECT_EQ(emitted({path("result.json#scenario")}), line);
  by_line.insert(by_line.begin(), {"run", "--json"});
  EXPECT_EQ(kvcap(by_line).exit_code, 0);
  EXPECT_EQ(emitted({path("line.json")}), line + "-FP8") << "a name that only lines have";
}

TEST_F(Question, OfGpuMemoryHasTheEnginesOwnDefaults) {
  const Outcome outcome =
      kvcap({"show", "memory", "--model", "qwen3-32b", "--hardware", "h100-sxm", "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json asked =
      run({"--model", "qwen3-32b", "--gpu", "h100-sxm", "--workload", "chat", "--rate", "0.1"});
  EXPECT_NE(outcome.out.find(asked.at("metrics").at("kv_capacity_tokens").dump()), std::string::npos)
      << outcome.out;
}

TEST_F(Question, CannotServeARateOfWhichTheAnswersAloneTakeTooMuch) {
  EXPECT_EQ(run({"--model", "qwen3-8b", "--gpu", "h100-sxm", "--workload", "chat", "--rate", "500"})
                .at("metrics")
                .at("stable")
                .at("verdict"),
            "saturated");
}

// Steps with a prompt alternate with steps without one, which read only the experts of their few rows. Here
// some 2.1 requests/s are the most that is served.
TEST_F(Question, OfExpertsIsOfferedNoMoreThanTheMachineServes) {
  const Json metrics =
      run({"--model", "gpt-oss-120b", "--gpu", "rtx-pro-6000", "--workload", "random", "--rate", "2", "--set",
           "workload.source.input_tokens=4000", "--set", "workload.source.prefix_tokens=4000", "--set",
           "workload.source.prefixes=20", "--set", "workload.source.output_tokens=300"})
          .at("metrics");
  EXPECT_EQ(metrics.at("stable").at("verdict"), "stable");
  EXPECT_GT(metrics.at("offered_load"), 0.9);
  EXPECT_LT(metrics.at("offered_load"), 1.02);
}

TEST_F(Question, StoresWithTheEnginesOwnOffloading) {
  const auto policy = [&](const std::string& engine) {
    return run(chat_with({"--dram", "100GB", "--engine", engine})).at("scenario").at("policy").at("name");
  };
  EXPECT_EQ(policy("vllm"), "vllm_offload");
  EXPECT_EQ(policy("sglang"), "hicache");
  EXPECT_EQ(policy("trtllm"), "trtllm_offload");
}

TEST_F(Question, OptionsOverrideAFile) {
  const Json scenario = run({path("chat.json"), "--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--rate", "2",
                             "--engine", "vllm@0.15", "--ssd", "1TB"})
                            .at("scenario");
  EXPECT_EQ(scenario.at("model").at("name"), "llama-3.1-8b");
  EXPECT_EQ(scenario.at("serving").at("engine_version"), "0.15");
  EXPECT_EQ(scenario.at("workload").at("arrivals").at("requests_per_s"), 2);
  EXPECT_TRUE(scenario.at("workload").at("arrivals").at("sessions_per_s").is_null());
  EXPECT_EQ(scenario.at("policy").at("name"), "hcache") << "the file's policy stores on the SSD";
  EXPECT_EQ(scenario.at("policy").at("tiers").at(0).at("capacity_bytes"), 1e12);
}

TEST_F(Question, ReadsATraceByItsBeginning) {
  write("log.csv", "arrival_s,input_tokens,output_tokens\n0,100,5\n1,200,5\n2,300,5\n");
  const Json result = run({"--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--workload", path("log.csv")});
  EXPECT_EQ(result.at("scenario").at("workload").at("arrivals").at("process"), "trace");
  EXPECT_EQ(result.at("metrics").at("completed"), 3);
}

TEST_F(Question, ReadsAnOwnLogByItsColumns) {
  write("own.csv", "Time,Prompt,Answer\n0,100,5\n1,200,5\n");
  const Json result = run({"--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--workload", path("own.csv"),
                           "--columns", "arrival=Time,input=Prompt,output=Answer"});
  EXPECT_EQ(result.at("metrics").at("completed"), 2);
}

TEST_F(Question, WithUnitsIsTheSameAsWithout) {
  const Json units = run(
      chat_with({"--set", "workload.think_time.mean_s=2min", "--set", "serving.max_num_batched_tokens=4K"}));
  const Json numbers = run(
      chat_with({"--set", "workload.think_time.mean_s=120", "--set", "serving.max_num_batched_tokens=4096"}));
  EXPECT_EQ(units.at("metrics"), numbers.at("metrics"));
}

TEST_F(Question, NamesWhatIsMissing) {
  const std::string allowed =
      ", allowed: a file, or --model, --gpu, --workload and --rate or --concurrency\n";
  EXPECT_EQ(refusal({"--gpu", "h100-sxm"}), "kvcap: found no scenario file and no --model" + allowed);
  EXPECT_EQ(refusal({"--model", "llama-3.1-8b"}), "kvcap: found no scenario file and no --gpu" + allowed);
  EXPECT_EQ(refusal({"--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--workload", "chat"}),
            "kvcap: found no scenario file and no --rate or --concurrency" + allowed);
}

TEST_F(Question, NamesTheOptionOfAWrongValue) {
  EXPECT_EQ(refusal({"--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--workload", "chats", "--rate", "1"}),
            "kvcap: --workload: found \"chats\", allowed: chat, long_context, agents, few_shot, rag, random, "
            "or a file; did you mean \"chat\"?\n");
  EXPECT_EQ(refusal(chat_with({"--dram", "much"})),
            "kvcap: --dram: found \"much\", allowed: a size such as 250GB or 2TiB, or 0GB for none, several "
            "separated by "
            "commas\n");
  EXPECT_EQ(refusal(chat_with({"--concurrency", "4"})),
            "kvcap: found --rate and --concurrency, allowed: one of them\n");
  EXPECT_EQ(
      refusal(chat_with({"--engine", "vllmm"})),
      "kvcap: --engine vllmm: found \"vllmm\", allowed: vllm, sglang, trtllm; did you mean \"vllm\"?\n");
}

TEST_F(Question, ComparesEveryStoringPolicyAtEverySize) {
  std::vector<std::string> command = chat_with({"--policies", "recompute,vllm_offload", "--dram", "1GB,2GB",
                                                "--json", "--draws", "0", "--set", "workload.sessions=20"});
  command.insert(command.begin(), "compare");
  const Outcome outcome = kvcap(command);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::string columns;
  const Json results = Json::parse(outcome.out).at("results");
  for (const Json& one : results) {
    columns += one.at("setting").get<std::string>() + "; ";
  }
  EXPECT_EQ(columns, "recompute; vllm_offload dram=1GB; vllm_offload dram=2GB; ");
}

TEST_F(Question, ComparesTheEnginesOwnPoliciesByDefault) {
  std::vector<std::string> command =
      chat_with({"--json", "--draws", "0", "--set", "workload.sessions=20", "--engine", "sglang"});
  command.insert(command.begin(), "compare");
  const Outcome outcome = kvcap(command);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json results = Json::parse(outcome.out).at("results");
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results.at(0).at("setting"), "recompute");
  EXPECT_EQ(results.at(1).at("setting"), "hicache");
}

TEST_F(Question, FindsACapacityWithoutALoad) {
  const Outcome outcome = kvcap({"capacity", "--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--workload",
                                 "chat", "--meet", "p90_ttft_ms<=0.5s", "--seeds", "1", "--set",
                                 "workload.run_length=fixed", "--set", "workload.sessions=300", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json answer = Json::parse(outcome.out);
  EXPECT_EQ(answer.at("meet").at("p90_ttft_ms").at("max"), 500);
  EXPECT_EQ(answer.at("policy"), "recompute");
  EXPECT_GT(answer.at("capacity").at("mean").get<double>(), 1);
}

TEST_F(Question, RefusesARateThatIsNoNumber) {
  for (const char* rate : {"nan", "inf"}) {
    const Outcome outcome =
        kvcap({"run", "--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--workload", "chat", "--rate", rate});
    EXPECT_EQ(outcome.exit_code, 2) << rate;
    EXPECT_NE(outcome.err.find(std::string("found \"") + rate + "\", allowed: a finite number"),
              std::string::npos)
        << outcome.err;
  }
}

TEST_F(Question, RefusesDrawsThatAreNoNumberBeforeAnythingRuns) {
  for (const char* command : {"compare", "plan"}) {
    const std::string out = path(std::string("out_") + command);
    const Outcome outcome =
        kvcap({command,
               std::string(command) == "plan" ? std::string(KVCAP_SOURCE_DIR) + "/scenarios/plans/demo.json"
                                              : path("chat.json"),
               "--draws", "many", "--out", out});
    EXPECT_EQ(outcome.exit_code, 2) << command;
    EXPECT_NE(outcome.err.find("found \"many\""), std::string::npos) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(out)) << command;
  }
}

TEST_F(Question, RefusesSizesThatNoPolicyUses) {
  const std::vector<std::string> ask = {"compare",
                                        "--model",
                                        "llama-3.1-8b",
                                        "--gpu",
                                        "h100-sxm",
                                        "--workload",
                                        "chat",
                                        "--rate",
                                        "1",
                                        "--set",
                                        "workload.sessions=5",
                                        "--draws",
                                        "0",
                                        "--dram",
                                        "0GB,100GB",
                                        "--policies"};
  std::vector<std::string> alone = ask, beside = ask;
  alone.emplace_back("recompute");
  beside.emplace_back("recompute,vllm_offload");
  const Outcome outcome = kvcap(alone);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("found dram=100GB, and recompute cannot store there"), std::string::npos)
      << outcome.err;
  EXPECT_EQ(kvcap(beside).exit_code, 0);
}

TEST_F(Question, FindsTheCapacityForTheRequestsOfABenchmark) {
  const Outcome outcome = kvcap({"capacity", "--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--workload",
                                 std::string(KVCAP_SOURCE_DIR) + "/traces/bench-sample.json", "--meet",
                                 "p99_ttft_ms<=2s", "--seeds", "1", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_GT(Json::parse(outcome.out).at("capacity").at("mean").get<double>(), 8)
      << "the benchmark's own rate";
}

// Llama-3.1-8B needs 16 GB for its weights: one GPU suffices for half a request a second.
TEST_F(Question, PlansWithoutAFile) {
  const Outcome outcome =
      kvcap({"plan", "--model", "llama-3.1-8b", "--gpu", "l40s", "--workload", "chat", "--rate", "0.5",
             "--meet", "p90_ttft_ms<=1s", "--set", "workload.sessions=200", "--draws", "0", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json plan = Json::parse(outcome.out);
  const Json& changes = plan.at("answer").at("changes");
  EXPECT_NE(std::find(changes.begin(), changes.end(), "serving.tensor_parallel_size=1"), changes.end())
      << changes;
  const auto command = plan.at("answer").at("command").get<std::string>();
  EXPECT_EQ(command.find("kvcap run --model llama-3.1-8b --gpu l40s-8x --workload chat --rate 0.5 --set "),
            0U)
      << command;
  EXPECT_EQ(plan.at("notes").back().get<std::string>().find(
                "Searched: l40s-8x, 1 to 8 GPUs of one of them, with recompute and vllm_offload. Left out: "),
            0U)
      << plan.at("notes").back();
}

// Qwen2.5-7B has 28 query heads, which eight GPUs do not divide. Under vLLM 0.28, four GPUs would cut the FP8
// blocks of the experts of Qwen3-30B-A3B, so they keep whole experts.
TEST_F(Question, PlansWithoutAFileOnlyGpusThatDivideTheModel) {
  const auto plan_of = [this](const std::string& model) {
    const Outcome outcome =
        kvcap({"plan", "--model", model, "--gpu", "h100-sxm", "--workload", "chat", "--rate", "0.5", "--meet",
               "p90_ttft_ms<=10s", "--set", "workload.sessions=50", "--set",
               "serving.engine_version=\"0.28\"", "--draws", "0", "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Json::parse(outcome.out);
  };
  const Json dense = plan_of("Qwen/Qwen2.5-7B-Instruct");
  EXPECT_EQ(dense.at("answer").at("changes").dump().find("serving.expert_parallel"), std::string::npos);
  const Json cut = plan_of("Qwen/Qwen3-30B-A3B-FP8");
  EXPECT_NE(cut.at("answer").at("command").get<std::string>().find("serving.expert_parallel=true"),
            std::string::npos);
  EXPECT_NE(cut.at("notes").back().get<std::string>().find("Experts are kept whole"), std::string::npos);
}

TEST_F(Question, APlanWithoutAFileNeedsTargets) {
  const Outcome outcome =
      kvcap({"plan", "--model", "llama-3.1-8b", "--gpu", "l40s", "--workload", "chat", "--rate", "0.5"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err,
            "kvcap: plan: found no plan file and no --meet, allowed: a file, or targets such as --meet "
            "'p90_ttft_ms<=1s'\n");
}

}  // namespace
}  // namespace kvcap::question_test
