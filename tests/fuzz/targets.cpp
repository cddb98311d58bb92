#include "fuzz/targets.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/input_error.h"
#include "launch/launch_line.h"
#include "observe/history.h"
#include "observe/log.h"
#include "observe/observation.h"
#include "observe/prometheus.h"
#include "plan/plan.h"
#include "plan/sweep/sweep.h"
#include "report/read_inputs.h"
#include "scenario/load.h"
#include "soak/edge_values.h"
#include "text/observation_text.h"
#include "workload/source.h"

namespace kvcap {
namespace {

// A temporary file in memory that contains the bytes.
class FileOf {
 public:
  explicit FileOf(std::string_view bytes, const char* ending = "") {
    const std::filesystem::path memory = "/dev/shm";
    const std::filesystem::path folder =
        std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
    path_ = folder / ("kvcap-fuzz-" + std::to_string(getpid()) + ending);
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~FileOf() { std::filesystem::remove(path_); }
  FileOf(const FileOf&) = delete;
  FileOf& operator=(const FileOf&) = delete;

  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

template <typename Read>
void read_or_refuse(const Read& read) {
  try {
    read();
  } catch (const InputError&) {
  }
}

void scenario(std::string_view bytes) {
  read_or_refuse([&] { parse_scenario(bytes, "scenario", {}); });
}
void model(std::string_view bytes) {
  const FileOf file(bytes);
  read_or_refuse([&] { load_model(file.path()); });
}

// Reads a downloaded model folder: its files are concatenated and separated by lines of three dashes.
void model_folder(std::string_view bytes) {
  const FileOf folder("", ".folder");
  std::filesystem::remove(folder.path());
  std::filesystem::create_directory(folder.path());
  constexpr std::string_view kBetween = "\n---\n";
  for (const char* name :
       {"config.json", "hf_quant_config.json", "model.safetensors.index.json", "generation_config.json"}) {
    const std::string_view part = bytes.substr(0, bytes.find(kBetween));
    bytes.remove_prefix(std::min(bytes.size(), part.size() + kBetween.size()));
    if (!part.empty()) std::ofstream(std::filesystem::path(folder.path()) / name, std::ios::binary) << part;
  }
  read_or_refuse([&] { load_model(folder.path()); });
  std::filesystem::remove_all(folder.path());
}
void hardware(std::string_view bytes) {
  const FileOf file(bytes);
  read_or_refuse([&] { load_hardware(file.path()); });
}
void sweep(std::string_view bytes) {
  read_or_refuse([&] { parse_sweep(std::string(bytes), "sweep"); });
}
void plan(std::string_view bytes) {
  const FileOf file(bytes);
  read_or_refuse([&] { load_plan(file.path()); });
}
void prices(std::string_view bytes) {
  const FileOf file(bytes);
  constexpr std::string_view kScenario =
      R"({"schema": "kvcap.scenario/1", "model": "llama-2-7b", "hardware": "l40s",
          "workload": {"source": {"kind": "chat"}}})";
  read_or_refuse([&] { parse_scenario(kScenario, "scenario", {"billing.prices=" + file.path()}); });
}
// Reads the bytes as a launch file of each engine.
void launch_file(std::string_view bytes) {
  const FileOf file(bytes, ".yaml");
  for (const char* line : {"vllm serve Qwen/Qwen3-8B --config ", "sglang serve Qwen/Qwen3-8B --config ",
                           "trtllm-serve Qwen/Qwen3-8B --extra_llm_api_options "}) {
    read_or_refuse([&] { read_launch_line(line + file.path()); });
  }
  read_or_refuse([&] {
    read_launch_line("LMCACHE_CONFIG_FILE=" + file.path() +
                     " vllm serve Qwen/Qwen3-8B --kv-transfer-config.kv_connector LMCacheConnectorV1");
  });
}
void manifest(std::string_view bytes) {
  const FileOf file(bytes, ".yaml");
  read_or_refuse([&] { read_from(file.path()); });
}
void report(std::string_view bytes) {
  const FileOf file(bytes, ".json");
  std::vector<std::string> skipped;
  read_or_refuse([&] { read_inputs({file.path()}, {}, skipped); });
}

void trace(std::string_view bytes, const char* kind) {
  const FileOf file(bytes);
  WorkloadOptions options;
  options.source.kind = kind;
  options.source.path = file.path();
  read_or_refuse([&] { open_source(options, 1); });
}

// Prints an observed log and its evaluation: the totals of one scrape and of two, whose counters may restart.
void print(const ObservedLog& log) {
  const Observation seen = observation_of(log);
  observation_table(seen);
  observation_json(seen);
}
void metrics(std::string_view bytes) {
  read_or_refuse([&] {
    const Snapshot one = snapshot_of(parse_metrics(bytes, "metrics"), 1e9, "metrics");
    print({.samples = {one}});
    Snapshot two = one;
    two.unix_s += 10;
    for (double& counter : two.counters) counter /= 2;
    print({.samples = {one, two}});
    print(parse_observed_log(log_header("metrics", 0, one) + log_line(one) + log_line(two), "log"));
  });
}
void observed(std::string_view bytes) {
  read_or_refuse([&] { print(parse_observed_log(bytes, "log")); });
}

void history(std::string_view bytes) {
  read_or_refuse([&] {
    QueryAnswer answer;
    add_query_answer(answer, bytes, "answer");
    print(history_of(answer, "answer"));
  });
}

void values(std::string_view bytes) {
  const soak::EdgeTally tally =
      soak::run_edges({std::string(bytes)}, {.at_once = 1, .reduces = false, .at_end = at_end_of_process});
  if (tally.findings.empty()) return;
  throw std::runtime_error(soak::edge_changes(bytes) + ": " + tally.findings.front().what);
}

constexpr FuzzTarget kTargets[] = {
    {"scenario", scenario},
    {"model", model},
    {"model_folder", model_folder},
    {"hardware", hardware},
    {"sweep", sweep},
    {"plan", plan},
    {"prices", prices},
    {"launch_file", launch_file, 200},
    {"manifest", manifest, 200},
    {"report", report},
    {"metrics", metrics},
    {"observed", observed},
    {"history", history},
    {"values", values, 20},
    {"sessions", [](std::string_view bytes) { trace(bytes, "sessions"); }},
    {"sharegpt", [](std::string_view bytes) { trace(bytes, "sharegpt"); }},
    {"leval", [](std::string_view bytes) { trace(bytes, "leval"); }},
    {"mooncake", [](std::string_view bytes) { trace(bytes, "mooncake"); }},
    {"weka", [](std::string_view bytes) { trace(bytes, "weka"); }},
    {"lmcache_agent", [](std::string_view bytes) { trace(bytes, "lmcache_agent"); }},
    {"azure", [](std::string_view bytes) { trace(bytes, "azure"); }},
    {"burstgpt", [](std::string_view bytes) { trace(bytes, "burstgpt"); }},
    {"vllm", [](std::string_view bytes) { trace(bytes, "vllm"); }},
    {"csv", [](std::string_view bytes) { trace(bytes, "csv"); }},
    {"jsonl", [](std::string_view bytes) { trace(bytes, "jsonl"); }},
    {"vllm_bench", [](std::string_view bytes) { trace(bytes, "vllm_bench"); }},
    {"guidellm", [](std::string_view bytes) { trace(bytes, "guidellm"); }},
    {"aiperf", [](std::string_view bytes) { trace(bytes, "aiperf"); }},
    {"genai_perf", [](std::string_view bytes) { trace(bytes, "genai_perf"); }},
    {"inference_perf", [](std::string_view bytes) { trace(bytes, "inference_perf"); }},
    {"multi_round_qa", [](std::string_view bytes) { trace(bytes, "multi_round_qa"); }},
    {"vidur", [](std::string_view bytes) { trace(bytes, "vidur"); }},
    {"splitwise", [](std::string_view bytes) { trace(bytes, "splitwise"); }},
    {"lmcache_lookup", [](std::string_view bytes) { trace(bytes, "lmcache_lookup"); }},
    {"bailian", [](std::string_view bytes) { trace(bytes, "bailian"); }},
    {"blis", [](std::string_view bytes) { trace(bytes, "blis"); }},
    {"otel", [](std::string_view bytes) { trace(bytes, "otel"); }},
};

}  // namespace

std::span<const FuzzTarget> fuzz_targets() { return kTargets; }

}  // namespace kvcap
