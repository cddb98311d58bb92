// kvcap observe and kvcap validate --run from end to end: a simulated run is served as a real server's
// metrics, observed by HTTP and compared with simulations: of the same assumptions, and of others.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "plan/replicate.h"
#include "scenario/load.h"
#include "scenario/served_model.h"
#include "unit/cli.h"
#include "unit/exported_metrics.h"
#include "unit/metrics_server.h"
#include "unit/shared_data.h"
#include "validate/runs/run_setting.h"
#include "workload/logs/csv.h"

namespace kvcap::validate_run_test {
namespace {

using Json = nlohmann::json;

// Chats in a GPU memory that is too small to keep all of them.
constexpr const char* kChats =
    R"({"schema": "kvcap.scenario/1", "model": "llama-3.1-8b", "hardware": "h100-sxm",
  "serving": {"kv_capacity_tokens": 60000},
  "workload": {"source": {"kind": "chat"}, "arrivals": {"sessions_per_s": 0.4}, "sessions": 250},
  "policy": "recompute"})";

class ValidateRun : public Cli {
 protected:
  ValidateRun() { write("chats.json", kChats); }

  RunResult simulated(const std::string& scenario, const std::vector<std::string>& overrides = {}) const {
    return run_replications({load_scenario(path(scenario), overrides)}, {.keep_turns = true}).front().front();
  }

  // Observes the run by HTTP; its log is "log.jsonl".
  void observe(const ExportedRun& run) const {
    constexpr int kScrapes = 60;
    const double last_s = run.end_s() * (1 + 1e-9);
    MetricsServer server([&](int request) {
      return ServedPage{run.vllm(last_s * std::min(1.0, static_cast<double>(request) / (kScrapes - 1)))};
    });
    const pid_t pid = start({"observe", server.address(), "--every", "0.01", "--out", path("log.jsonl")});
    EXPECT_TRUE(server.wait_until_served(kScrapes + 1));
    kill(pid, SIGINT);
    const Outcome outcome = finish(pid);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  }

  Outcome validate(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"validate", "--run", path("log.jsonl")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return kvcap(arguments);
  }
  static std::vector<std::string> causes_of(const Outcome& outcome) {
    std::vector<std::string> ids;
    const Json object = Json::parse(outcome.out);
    for (const Json& one : object["causes"]) ids.push_back(one["id"]);
    return ids;
  }
};

TEST_F(ValidateRun, AgreesWithARunOfTheSameAssumptions) {
  observe(ExportedRun(simulated("chats.json"), {}));
  const Outcome outcome = validate({"--scenario", path("chats.json")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err << outcome.out;
  EXPECT_NE(outcome.out.find("agrees with the server in all of 9 judged figures"), std::string::npos)
      << outcome.out;
}

TEST_F(ValidateRun, NamesTheAssumptionThatIsWrong) {
  observe(ExportedRun(simulated("chats.json"), {}));
  std::string reason;  // of the hit rate
  const auto causes = [&](const std::string& change) {
    const Outcome outcome = validate({"--scenario", path("chats.json"), "--set", change, "--json"});
    const Json hit_rate = Json::parse(outcome.out)["checks"][0];
    reason = hit_rate["reason"].is_string() ? hit_rate["reason"].get<std::string>() : "";
    EXPECT_EQ(outcome.exit_code, 3) << change << "\n" << outcome.err << outcome.out;
    return causes_of(outcome);
  };
  using Ids = std::vector<std::string>;
  EXPECT_EQ(causes("serving.kv_capacity_tokens=30000"), (Ids{"kv_capacity"}));
  EXPECT_NE(reason.find("The KV capacity differs: "), std::string::npos) << reason;
  EXPECT_EQ(causes("serving.prefix_caching=false"), (Ids{"prefix_caching"}));
  EXPECT_EQ(causes("serving.step_overhead_s=0.02"), (Ids{"steps", "step_overhead"}));
  EXPECT_EQ(causes("serving.request_overhead_s=0.1"), (Ids{"request_overhead"}));
  EXPECT_EQ(causes("workload.arrivals.sessions_per_s=1.6"), (Ids{"rate"}));
}

// Requests that share nothing: all that the metrics do not tell is what they have in common.
TEST_F(ValidateRun, WithoutAScenarioItSimulatesWhatTheLogDescribes) {
  std::string sessions;
  for (int i = 0; i < 600; ++i) {
    sessions += "{\"id\": \"" + std::to_string(i) +
                "\", \"turns\": [{\"input_tokens\": " + std::to_string(300 + 37 * (i * i % 53)) +
                ", \"output_tokens\": " + std::to_string(40 + 11 * (i * 7 % 31)) + "}]}\n";
  }
  write("requests.jsonl", sessions);
  write("requests.json", R"({"schema": "kvcap.scenario/1", "model": "llama-3.1-8b", "hardware": "h100-sxm",
    "serving": {"kv_capacity_tokens": 200000}, "workload": {"source": {"kind": "sessions", "path": "requests.jsonl"},
    "arrivals": {"sessions_per_s": 6}}, "policy": "recompute"})");
  observe(ExportedRun(simulated("requests.json"), {}));
  const Outcome outcome = validate({"--hardware", "h100-sxm"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err << outcome.out;
  // With the requests themselves the hit rate is judged, too; what they are their file says.
  const Outcome given =
      validate({"--hardware", "h100-sxm", "--set", "workload.source.path=" + path("requests.jsonl")});
  EXPECT_NE(given.out.find("in all of 9 judged figures"), std::string::npos) << given.err << given.out;
  EXPECT_NE(outcome.out.find("agrees with the server in all of 8 judged figures"), std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("Not compared: token hit rate"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("Note: the metrics do not show max_num_seqs"), std::string::npos) << outcome.out;
}

TEST_F(ValidateRun, WithoutAScenarioSpeculationIsNotedAndHowToSimulateIt) {
  Observation observed;
  observed.models = {"meta-llama/Llama-3.1-8B-Instruct"};
  observed.counters.fill(NAN);
  observed.gauges.fill({NAN, NAN});
  observed.block_size = observed.kv_capacity_tokens = NAN;
  observed.scrapes = 2;
  observed.duration_s = 10;
  observed.arrivals = {{0, 10, 20}};
  const auto set = [&](Counter which, double value) {
    observed.counters[static_cast<std::size_t>(which)] = value;
  };
  set(Counter::requests, 20);
  set(Counter::prompt_tokens, 20'000);
  set(Counter::output_tokens, 2020);
  const auto setting = [&](const std::vector<std::string>& overrides) {
    return setting_of(observed, "h100-sxm", overrides, path("requests.jsonl")).scenario;
  };
  const auto note = [&](const std::vector<std::string>& overrides = {}) {
    for (const std::string& one : setting(overrides).notes)
      if (one.starts_with("the server speculates")) return one;
    return std::string();
  };
  EXPECT_EQ(note(), "");
  // 2,000 tokens of steps, 1,000 of them accepted: 1,000 steps, all of which draft.
  set(Counter::drafts, 1000);
  set(Counter::draft_tokens, 2000);
  set(Counter::accepted_tokens, 1000);
  set(Counter::accepted_at_1, 700);
  set(Counter::accepted_at_2, 300);
  const std::string speculative =
      R"(serving.speculative={"method": "layers", "draft_tokens": 2, "acceptance_by_position": [0.700, 0.300]})";
  EXPECT_EQ(note(),
            "the server speculates, with a mean acceptance length of 2.00 tokens, which is not simulated "
            "because the metrics do not name the drafter; --set '" +
                speculative + "' simulates additional layers (or ngram, draft_model)");
  EXPECT_EQ(note({speculative}), "");
  EXPECT_EQ(setting({speculative}).serving.speculative->acceptance_by_position,
            (std::vector<double>{0.7, 0.3}));
  // As n-grams do: the other half of the steps have no draft.
  set(Counter::output_tokens, 3020);
  EXPECT_TRUE(note().ends_with(
      "; these are shares of the steps that drafted, 50.0 % of all steps, so multiply them by it"))
      << note();
  // SGLang exports the mean alone.
  set(Counter::drafts, NAN);
  observed.gauges[static_cast<std::size_t>(Gauge::mean_acceptance_length)] = {2.5, 2.5};
  EXPECT_EQ(note(),
            "the server speculates, with a mean acceptance length of 2.50 tokens, which is not simulated "
            "because the metrics do not name the drafter; --set serving.speculative={...} describes it");
}

// Chats find their own history. Who shares what the log does not tell, but how much: the prompts are made up
// to be found as measured.
TEST_F(ValidateRun, WithoutAScenarioAsManyTokensAreFoundAsMeasured) {
  const std::string room = "serving.kv_capacity_tokens=200000";
  observe(ExportedRun(simulated("chats.json", {room}), {}));
  const Json given = Json::parse(validate({"--hardware", "h100-sxm", "--json"}).out);
  const Json& hits = given["checks"][0];
  EXPECT_GT(hits["reference"], 0.5);
  EXPECT_NEAR(hits["simulated"].get<double>(), hits["reference"].get<double>(), 0.02);
  EXPECT_EQ(hits["verdict"], "not comparable");
  EXPECT_EQ(hits["role"], "input");
  // With the sessions themselves it is a test.
  const Json tested =
      Json::parse(validate({"--hardware", "h100-sxm", "--json", "--set", "workload.source.kind=chat", "--set",
                            "workload.arrivals.sessions_per_s=0.4", "--set", "workload.sessions=250"})
                      .out);
  EXPECT_EQ(tested["checks"][0]["role"], "test");
  EXPECT_EQ(tested["checks"][0]["verdict"], "inside") << tested["checks"][0];
}

// The requests of a real run of vLLM 0.19 on an RTX 4090 as what the server would have counted meanwhile: a
// burst of ten a second that fills the GPU memory and queues for three minutes.
RunResult measured_burst(const std::string& csv) {
  static constexpr CsvColumn kColumns[] = {{"arrival_s"}, {"input_tokens"}, {"output_tokens"},
                                           {"ttft_s"},    {"e2e_s"},        {"queue_s"}};
  RunResult run;
  double end_s = 0;
  for_each_csv_row(csv, BadRow::error, kColumns, true, [&](const CsvRow& row) {
    const auto number = [&row](std::size_t i) {
      return std::strtod(std::string(row.text(i)).c_str(), nullptr);
    };
    TurnRecord turn;
    turn.arrival_s = number(0);
    turn.input_tokens = static_cast<uint32_t>(number(1));
    turn.output_tokens = static_cast<uint32_t>(number(2));
    turn.ttft_s = number(3);
    turn.e2el_s = number(4);
    turn.service_ttft_s = turn.ttft_s - number(5);
    run.turns.push_back(turn);
    end_s = std::max(end_s, turn.arrival_s + turn.e2el_s);
    return true;
  });
  run.metrics = {
      {"duration", end_s}, {"kv_capacity_tokens", int64_t{2588 * 16}}, {"preemptions", int64_t{0}}};
  return run;
}

TEST_F(ValidateRun, ARealServerIsPredictedFromItsCounters) {
  KVCAP_NEEDS_SHARED_DATA("vllm-real/rtx4090-llama3.1-8b-tp1.csv");
  observe(ExportedRun(measured_burst(shared_data("vllm-real/rtx4090-llama3.1-8b-tp1.csv")), {}));
  // As that server was started; its attention runs decodes beside prompts in one kernel.
  const Outcome outcome =
      validate({"--hardware", "rtx-4090", "--json", "--set", "serving.max_num_batched_tokens=2048", "--set",
                "serving.mixed_attention=one_call"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json checks = Json::parse(outcome.out)["checks"];
  EXPECT_EQ(checks[1]["id"], "run.ttft.mean");
  EXPECT_NEAR(checks[1]["reference"].get<double>(), 65460, 10);
  EXPECT_LT(checks[1]["error"], 0.08) << checks[1];
}

TEST_F(ValidateRun, WhatIsMissingIsSaid) {
  observe(ExportedRun(simulated("chats.json"), {.model = "somebody/else-7B"}));
  const auto refusal = [&](const std::vector<std::string>& more) {
    const Outcome outcome = validate(more);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
    return outcome.err;
  };
  EXPECT_NE(refusal({}).find("--hardware: required without --scenario"), std::string::npos);
  EXPECT_NE(refusal({"--hardware", "h100-sxm"}).find("model: found \"somebody/else-7B\" in the log"),
            std::string::npos);
  EXPECT_NE(refusal({"--suite", "theory"}).find("found with --suite"), std::string::npos);
  EXPECT_NE(refusal({"--twin", "x"}).find("found with --twin"), std::string::npos);
  EXPECT_NE(refusal({"--markdown"}).find("found --markdown"), std::string::npos);
  EXPECT_EQ(kvcap({"validate", "--scenario", path("chats.json")}).exit_code, 2);
  EXPECT_EQ(kvcap({"validate", "--set", "seed=2"}).exit_code, 2);
  EXPECT_EQ(kvcap({"validate", "--run", path("nothing")}).exit_code, 2);
}

TEST(CatalogueModel, IsFoundByItsNameOnHuggingFace) {
  EXPECT_EQ(catalogue_model("meta-llama/Llama-3.1-8B-Instruct"), "llama-3.1-8b");
  EXPECT_EQ(catalogue_model("meta-llama/Meta-Llama-3.1-8B"), "llama-3.1-8b");
  EXPECT_EQ(catalogue_model("meta-llama/Llama-2-7b-chat-hf"), "llama-2-7b");
  EXPECT_EQ(catalogue_model("Qwen/Qwen3-32B"), "qwen3-32b");
  EXPECT_EQ(catalogue_model("mistralai/Mixtral-8x7B-Instruct-v0.1"), "mixtral-8x7b");
  EXPECT_EQ(catalogue_model("llama-3.1-8b"), "llama-3.1-8b");
  EXPECT_EQ(catalogue_model("somebody/else-7B"), "");
  EXPECT_EQ(catalogue_model(""), "");
}

}  // namespace
}  // namespace kvcap::validate_run_test
