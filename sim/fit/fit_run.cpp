#include "fit/fit_run.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/input_error.h"
#include "scenario/load.h"
#include "workload/gz_file.h"
#include "workload/sources_table.h"

namespace kvcap {
namespace {

// A scenario says so in its first lines; a log is not read as a whole to find out.
bool is_scenario(const std::string& path) {
  refuse_read_once(path, "");
  std::string text(4096, '\0');
  GzFile file(path);
  text.resize(file.read(text));
  return text.find("\"kvcap.scenario/1\"") != std::string::npos;
}

// Settings of the command line come last, so that they go before what the base and the log say.
std::vector<std::string> overrides_of(const FitRunOptions& options) {
  std::vector<std::string> overrides = {"hardware=" + options.base};
  if (!options.model.empty()) overrides.push_back("model=" + options.model);
  overrides.insert(overrides.end(), options.overrides.begin(), options.overrides.end());
  return overrides;
}

Scenario scenario_of_log(const std::string& path, const FitRunOptions& options) {
  const SourceRow& kind = guess_source(path);
  if (options.model.empty()) {
    throw InputError(path +
                     ": a log does not say which model was served; give --model, or a scenario whose "
                     "workload.source is this log");
  }
  const nlohmann::ordered_json text = {
      {"schema", "kvcap.scenario/1"},
      {"name", std::filesystem::path(path).stem().string()},
      {"model", options.model},
      {"hardware", options.base},
      {"policy", "recompute"},
      {"workload",
       {{"source", {{"kind", kind.name}, {"path", std::filesystem::absolute(path).string()}}},
        {"arrivals", {{"process", "trace"}}}}}};
  return parse_scenario(text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), path,
                        overrides_of(options));
}

bool has_latencies(const MeasuredTimes& one) {
  return std::isfinite(one.ttft_s) || std::isfinite(one.e2el_s);
}

}  // namespace

FitRun read_fit_run(const std::string& path, const FitRunOptions& options) {
  FitRun run{.name = path,
             .scenario = is_scenario(path) ? load_scenario(path, overrides_of(options))
                                           : scenario_of_log(path, options)};
  const Scenario& scenario = run.scenario;
  Source source = open_source(scenario.workload, scenario.seed);
  if (std::none_of(source.measured.begin(), source.measured.end(), has_latencies)) {
    throw InputError(path + ": workload.source: found a log without latencies (" +
                     scenario.workload.source.kind +
                     "), allowed: one that says how long requests took (TTFT, end-to-end), or --set "
                     "workload.source.columns=...,ttft=COLUMN,e2el=COLUMN");
  }
  const auto lines = static_cast<int64_t>(source.sessions.size());
  if (scenario.workload.sessions.value_or(lines) > lines) {
    throw InputError(path + ": workload.sessions: found " + std::to_string(*scenario.workload.sessions) +
                     ", allowed: at most " + std::to_string(lines) + ", as the log has");
  }
  run.workload = arrange(source, scenario.workload, scenario.seed);
  run.measured = std::move(source.measured);
  run.measured.resize(run.workload.turns.size());
  run.itls_s = std::move(source.measured_itls_s);
  return run;
}

}  // namespace kvcap
