// Tests kvcap fit: the settings that it reads, the profile that it writes and the inputs that it refuses.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "fit/fit_run.h"
#include "scenario/load.h"
#include "unit/cli.h"

namespace kvcap::fit_command_test {
namespace {

using Json = nlohmann::json;

TEST(FitRun, HostTimesThatTheCommandStatesAreStatedAndNotFitted) {
  const auto stated = [](std::vector<std::string> overrides) {
    const FitRunOptions options{
        .base = "h100-sxm", .model = "llama-3.1-8b", .overrides = std::move(overrides)};
    return read_fit_run(KVCAP_SOURCE_DIR "/traces/bench-sample.json", options).stated;
  };
  EXPECT_TRUE(stated({}).empty());
  for (const std::string name : {"step_overhead_s", "step_overhead_per_sequence_s", "request_overhead_s"})
    EXPECT_EQ(stated({"serving." + name + "=0.001"}), std::vector<std::string>{name});
}

TEST(HardwareFile, KeepsWhatDoesNotChangeAndReadsBack) {
  HardwareProfile changed = load_hardware("h100-sxm");
  changed.gpu.gemm.constant_s *= 2;
  changed.engine = {.name = "vllm", .version = "0.15.1", .request_overhead_s = 0.02};
  const std::string text = hardware_file_with("h100-sxm", changed, {"a note"});
  EXPECT_NE(text.find("\"a note\""), std::string::npos);
  EXPECT_NE(text.find("measured: fitted to 308 GEMMs"), std::string::npos);  // a note of the base
  const std::filesystem::path path = std::filesystem::temp_directory_path() /
                                     ("kvcap_fit_test_profile_" + std::to_string(getpid()) + ".json");
  std::ofstream(path) << text;
  const HardwareProfile read = load_hardware(path.string());
  std::filesystem::remove(path);
  EXPECT_EQ(read.gpu.gemm.constant_s, changed.gpu.gemm.constant_s);
  EXPECT_EQ(read.engine->request_overhead_s, 0.02);
  EXPECT_FALSE(read.engine->step_overhead_s.has_value());
  EXPECT_EQ(read.pcie.h2d_curve.size(), changed.pcie.h2d_curve.size());
}

class FitCommand : public Cli {
 protected:
  std::string sample() const { return std::string(KVCAP_SOURCE_DIR) + "/traces/bench-sample.json"; }
  Outcome fit_to(const std::string& log, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {
        "fit", log, "--base", "h100-sxm", "--set", "serving.host_times=none", "--out", path("mine.json")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return kvcap(arguments);
  }
};

// The sample was made with 9 ms before the queue and GEMMs at 0.87 of the memory bandwidth; 0.927 in the
// profile.
TEST_F(FitCommand, WritesAProfileThatRunsTakeTheirHostTimesFrom) {
  const Outcome outcome = fit_to(sample(), {"--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["schema"], "kvcap.fit/1");
  EXPECT_EQ(json["runs"][0]["requests"], 200);
  for (const Json& one : json["parameters"]) {
    if (one["name"] == "gemm_few_rows") {
      EXPECT_NEAR(one["fitted"].get<double>(), 0.927 / 0.87, 0.03);
    }
    if (one["name"] != "request_overhead_s") continue;
    EXPECT_NEAR(one["fitted"].get<double>(), 0.009, 0.001);
    EXPECT_EQ(one["unit"], "s");
    EXPECT_TRUE(one["identified"]);
  }
  const HardwareProfile profile = load_hardware(path("mine.json"));
  EXPECT_EQ(profile.name, "mine");
  EXPECT_EQ(profile.provenance_kind, "measured");
  EXPECT_NEAR(*profile.engine->request_overhead_s, 0.009, 0.001);
  EXPECT_LT(profile.errors.gemm_few_rows->sigma, load_hardware("h100-sxm").errors.gemm_few_rows->sigma);
  const Outcome used = kvcap({"run", path("chat.json"), "--set", "hardware=" + path("mine.json"), "--json"});
  EXPECT_EQ(used.exit_code, 0) << used.err;
  EXPECT_NE(used.out.find("from the hardware profile, measured with vllm"), std::string::npos) << used.out;
  // Its own file may be written over, and be the base of another fit, from wherever it is given.
  EXPECT_EQ(fit_to(sample()).exit_code, 0);
  const Outcome again =
      kvcap({"fit", sample(), "--base", std::filesystem::relative(path("mine.json")).string(), "--out",
             path("again.json"), "--json"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_NE(again.out.find("request_overhead_s"), std::string::npos);
}

TEST_F(FitCommand, TakesMeansWhereNoRequestsAreTold) {
  Json summary = Json::parse(read_file(sample()));
  for (const char* key : {"input_lens", "output_lens", "start_times", "ttfts", "latencies", "errors"}) {
    summary.erase(key);
  }
  write("summary.json", summary.dump());
  const Outcome outcome = fit_to(path("summary.json"), {"--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["judged_requests"], 0);
  bool has_mean = false;
  for (const Json& one : json["errors"]) {
    EXPECT_FALSE(one["metric"].get<std::string>().starts_with("p99")) << one["metric"];
    if (one["metric"] != "mean_e2el_ms") continue;
    has_mean = true;
    EXPECT_FALSE(one["kept_aside"]);
    EXPECT_LT(std::abs(one["fitted_error"].get<double>()), std::abs(one["base_error"].get<double>()));
  }
  EXPECT_TRUE(has_mean);
  EXPECT_NE(json["runs"][0]["notes"].dump().find("only means and medians are fitted"), std::string::npos);
}

TEST_F(FitCommand, NotesWhatNeitherTheLogNorTheScenarioStates) {
  write("run.json", R"({"schema": "kvcap.scenario/1", "model": "llama-2-7b", "hardware": "a100-40g-4x-pm9a3",
      "serving": {"max_num_seqs": 8}, "policy": {"name": "recompute"},
      "workload": {"source": {"kind": "vllm_bench", "path": ")" KVCAP_SOURCE_DIR
                    R"(/traces/bench-sample.json"}}})");
  const auto assumed = [&](FitRunOptions options) {
    options.base = "a100-40g-4x-pm9a3";
    for (const std::string& note : read_fit_run(path("run.json"), options).notes) {
      if (note.starts_with("assumed")) return note;
    }
    return std::string();
  };
  EXPECT_EQ(
      assumed({}),
      "assumed (not given): serving.tensor_parallel_size 1, serving.max_num_batched_tokens 2048 (--set)");
  EXPECT_EQ(assumed({.overrides = {"serving.max_num_batched_tokens=4096"}}),
            "assumed (not given): serving.tensor_parallel_size 1 (--set)");
}

TEST_F(FitCommand, RefusesWhatItCannotUseBeforeAnythingRuns) {
  const auto refused = [&](const Outcome& outcome, const std::string& part) {
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(path("mine.json")));
  };
  refused(fit_to(path("chat.json")), "found a log without latencies (chat)");
  refused(fit_to(path("none.json")), "none.json: cannot be read");
  Json bench = Json::parse(read_file(sample()));
  bench["model_id"] = "somebody/else-7B";
  write("other.json", bench.dump());
  refused(fit_to(path("other.json")), "model_id: found \"somebody/else-7B\"");
  refused(fit_to(sample(), {"--set", "workload.sessions=300"}), "workload.sessions: found 300");
  refused(fit_to(sample(), {"--set", "serving.max_model_len=500"}), "do not fit on the simulated server");
  refused(fit_to(sample(), {"--judge", sample()}), "given twice");
  refused(fit_to(sample(), {"--set", "hardware.gpu.count=2"}), "--base names the profile");
  refused(kvcap({"fit", sample(), "--base", "h100-sxm", "--out", path("none/mine.json")}), "no such folder");
  for (const char* key : {"input_lens", "output_lens", "start_times", "ttfts", "latencies", "errors",
                          "completed", "num_prompts"}) {
    bench.erase(key);
  }
  bench["model_id"] = Json::parse(read_file(sample()))["model_id"];
  write("nothing.json", bench.dump());
  refused(fit_to(path("nothing.json")), " for 0 completed requests, allowed: at least as many");
  write("swapped.csv", "at_s,in,out,ttft_s,all_s\n0,10,5,2,1\n");
  refused(fit_to(path("swapped.csv"), {"--model", "llama-3.1-8b", "--columns",
                                       "arrival=at_s,input=in,output=out,ttft=ttft_s,e2el=all_s"}),
          "are the columns swapped?");
  write("precious.json", R"({"schema": "kvcap.hardware/1"})");
  const Outcome outcome = kvcap({"fit", sample(), "--base", "h100-sxm", "--out", path("precious.json")});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("was not written by kvcap"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace kvcap::fit_command_test
