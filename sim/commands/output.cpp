#include "commands/output.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/files.h"
#include "base/input_error.h"
#include "base/outputs.h"
#include "base/text/format.h"
#include "base/text/plain_text.h"
#include "base/text/print.h"
#include "commands/show/support.h"
#include "cost/prices.h"
#include "metrics/write.h"
#include "plan/sweep/finished_runs.h"
#include "plan/workers.h"
#include "scenario/pools.h"
#include "text/comparison.h"

namespace kvcap {
namespace {

const std::vector<std::string> kRunFiles = {"result.json", "requests.csv", "run.log"};

// Returns the load of a scenario: ", 0.1 sessions/s".
std::string load_of(const ArrivalOptions& arrivals) {
  if (arrivals.process == ArrivalProcess::trace) return "";
  if (arrivals.process == ArrivalProcess::closed_loop) {
    return ", " + format_count(arrivals.concurrency.value()) + " at a time";
  }
  if (!arrivals.rates.empty()) return ", " + format_count(std::ssize(arrivals.rates), "rate");
  char rate[40];
  if (arrivals.requests_per_s) {
    std::snprintf(rate, sizeof rate, ", %g requests/s", *arrivals.requests_per_s);
  } else {
    std::snprintf(rate, sizeof rate, ", %g sessions/s",
                  arrivals.sessions_per_s.value_or(kDefaultSessions_per_s));
  }
  return rate;
}

// Returns ": 2 of 8 GPUs, billed 8" if a node is billed for more GPUs than its engines use; "" otherwise.
std::string bill_of(const Scenario& scenario) {
  const ServingOptions& serving = scenario.serving;
  const int64_t used = serving.gpus() * serving.data_parallel_size;
  const int64_t billed = billed_gpus(scenario.hardware.gpu, scenario.billing.whole_servers);
  if (billed <= used) return "";
  return ": " + format_count(used) + " of " + format_count(billed, "GPU") + ", billed " +
         format_count(billed);
}

// Returns "2 nodes of 4x H100 (measured)".
std::string machines_of(const Scenario& scenario, int64_t nodes) {
  const int64_t ranks = scenario.serving.data_parallel_size;
  return (nodes > 1 ? format_count(nodes) + " nodes of " : "") +
         (ranks > 1 ? format_count(ranks) + " ranks of " : "") + std::to_string(scenario.serving.gpus()) +
         "x " + scenario.hardware.gpu.name + " (" + evidence_word(scenario) + ")" + bill_of(scenario);
}

// Describes the machines of a fleet, whose prefill and decode pools may differ.
std::string machines_of(const Scenario& scenario) {
  const int64_t nodes = scenario.fleet.replicas;
  if (!scenario.fleet.disaggregation) return machines_of(scenario, nodes);
  const Scenario prefill = prefill_scenario(scenario), decode = decode_scenario(scenario);
  if (machines_of(prefill, 1) == machines_of(decode, 1)) return machines_of(prefill, nodes);
  const int64_t first = scenario.fleet.disaggregation->prefill_replicas;
  return machines_of(prefill, first) + " for prompts and " + machines_of(decode, nodes - first) +
         " for answers";
}

}  // namespace

std::string scenario_line(const Scenario& scenario, const RunResult& result) {
  std::string line = scenario.name + "   " + scenario.model.name + " on " + machines_of(scenario) + "   " +
                     format_count(result.session_count, "session") + ", " +
                     format_count(result.turn_count, "turn");
  line += load_of(scenario.workload.arrivals);
  if (scenario.workload.source.stands_in) {
    line += "   STAND-IN DATA: " + std::filesystem::path(scenario.workload.source.path).filename().string();
  }
  line += "   seed " + std::to_string(scenario.seed);
  if (scenario.replications > 1) line += ", " + std::to_string(scenario.replications) + " replications";
  return message_line(line);  // names may be long
}

std::vector<std::string> with_prices(const std::string& prices, std::vector<std::string> overrides) {
  if (prices.empty()) return overrides;
  refuse_read_once(prices, ", and prices are read for every setting; allowed: a file");
  overrides.insert(overrides.begin(), "billing.prices=" + prices);
  return overrides;
}

MadeFolders::~MadeFolders() {
  std::error_code none;
  for (const std::filesystem::path& folder : made_) {
    if (std::filesystem::is_empty(folder, none)) std::filesystem::remove(folder, none);
  }
}

MadeFolders prepare_folder(const std::string& folder, const std::string& option) {
  if (folder.empty()) return {};
  refuse_root_folder(option, folder);
  std::error_code error;
  std::vector<std::filesystem::path> missing;
  for (std::filesystem::path one = folder; !one.empty() && !std::filesystem::exists(one, error);
       one = one.parent_path()) {
    missing.push_back(one);
  }
  error.clear();
  MadeFolders made(std::move(missing));
  std::filesystem::create_directories(folder, error);
  if (!error && !std::filesystem::is_directory(folder))
    error = std::make_error_code(std::errc::not_a_directory);
  if (!error && access(folder.c_str(), W_OK) != 0) error = std::make_error_code(std::errc::permission_denied);
  if (error) throw InputError(option + ": " + folder + " cannot be written: " + error.message());
  return made;
}

std::vector<std::string> files_of(const Scenario& scenario) {
  const SourceOptions& source = scenario.workload.source;
  return {scenario.file, scenario.prices_file, source.path, source.token_counts, source.hash_ids};
}

void run_resumable(const std::string& out, const std::function<void()>& run) {
  struct Resumable : Interrupted {
    const char* what() const noexcept override {
      return "interrupted; the same command with --resume continues from the finished runs";
    }
  };
  try {
    run();
  } catch (const Interrupted&) {
    if (FinishedRuns(out, true).has_some()) throw Resumable();
    throw;
  }
}

void refuse_resume_without_folder(const std::string& command, bool resume, const std::string& out) {
  if (resume && out.empty())
    throw InputError(command + ": --resume needs --out, the folder with the finished runs");
}

void refuse_to_replace_run(const std::string& folder, const std::vector<std::string>& inputs) {
  if (folder.empty()) return;
  refuse_to_replace_in("--out", folder, kRunFiles, inputs);
}

std::vector<std::filesystem::path> files_of_run(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const std::string& name : kRunFiles) files.push_back(std::filesystem::path(folder) / name);
  return files;
}

void tell_longer_run(const std::vector<RunResult>& results, double wall_s) {
  const bool is_short = std::any_of(results.begin(), results.end(), [](const RunResult& result) {
    return Setting{"", &result}.is_undecided();
  });
  constexpr double kShort_s = 5;  // no estimate for runs that take less
  const double longer_s = std::ceil(kLongerRun * wall_s);
  if (!is_short || longer_s < kShort_s) return;
  tell("kvcap: " + format_count(std::llround(kLongerRun)) + " times the sessions would take about " +
       format_count(std::llround(longer_s)) + " s here");
}

void add_run_files(const std::string& folder, const std::string& line, const RunResult& result,
                   NewFiles& files) {
  const std::filesystem::path path(folder);
  std::filesystem::create_directories(path);
  std::string log = line + "\npolicy " + result.policy + "\n";
  for (const std::string& note : result.notes) log += "note: " + plain_line(note) + "\n";
  if (!result.turns.empty()) {
    NewFile& requests = files.add(path / "requests.csv");
    requests_csv(result.turns, [&](std::string_view piece) { requests.append(piece); });
  }
  files.add(path / "run.log", log);
  files.add(path / "result.json", result_json(result));
}

std::string finished_text(std::size_t finished, int64_t replications) {
  if (static_cast<int64_t>(finished) == replications)
    return "Interrupted while longer runs were simulated: these are the shorter ones.\n\n";
  return "Interrupted: " + std::to_string(finished) + " of " + format_count(replications, "seed") +
         " finished.\n\n";
}

}  // namespace kvcap
