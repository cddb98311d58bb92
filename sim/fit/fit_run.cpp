#include "fit/fit_run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "base/files.h"
#include "base/input_error.h"
#include "base/text/format.h"
#include "scenario/load.h"
#include "scenario/served_model.h"
#include "workload/logs/gz_file.h"
#include "workload/readers/vllm_bench.h"
#include "workload/sources_table.h"

namespace kvcap {
namespace {

using Json = nlohmann::ordered_json;

// True iff the file is a scenario. A scenario has its schema in the first lines, so a log need not be read
// completely.
bool is_scenario(const std::string& path) {
  refuse_read_once(path, "");
  std::string text(4096, '\0');
  GzFile file(path);
  text.resize(file.read(text));
  return text.find("\"kvcap.scenario/1\"") != std::string::npos;
}

// Returns the changes from the command line, which override the base and the log.
std::vector<std::string> overrides_of(const FitRunOptions& options) {
  std::vector<std::string> overrides = {"hardware=" + options.base};
  if (!options.model.empty()) overrides.push_back("model=" + options.model);
  overrides.insert(overrides.end(), options.overrides.begin(), options.overrides.end());
  return overrides;
}

// Returns the only result of a file of `vllm bench serve`; nothing for other logs.
std::optional<BenchRun> bench_of(const std::string& path, std::string_view kind) {
  if (kind != "vllm_bench") return std::nullopt;
  std::vector<BenchRun> runs = read_bench_runs(path, BadRow::skip);
  if (runs.size() != 1) {
    throw InputError(path + ": found " + std::to_string(runs.size()) +
                     " results of vllm bench serve, allowed: one (--append-result writes one per line)");
  }
  return std::move(runs.front());
}

std::string model_of(const std::string& path, const FitRunOptions& options,
                     const std::optional<BenchRun>& bench) {
  if (!options.model.empty()) return options.model;
  const std::string known = bench ? catalogue_model(bench->model_id) : "";
  if (!known.empty()) return known;
  if (bench && !bench->model_id.empty()) {
    throw InputError(
        path + ": model_id: found \"" + bench->model_id +
        "\", which is not in the catalogue; give --model with a name of kvcap show models or the path of "
        "the model's config.json");
  }
  throw InputError(path +
                   ": the log does not name the served model; give --model, or a scenario whose "
                   "workload.source is this log");
}

// Returns workload.arrivals for a benchmark: a closed loop, a rate, or the recorded times.
Json arrivals_of(const std::optional<BenchRun>& bench) {
  if (!bench) return {{"process", "trace"}};
  const bool has_starts = !bench->requests.empty() && !std::isnan(bench->requests.front().start_s);
  if (bench->max_concurrency && (!bench->request_rate || !has_starts)) {
    return {{"process", "closed_loop"}, {"concurrency", *bench->max_concurrency}};
  }
  if (!bench->requests.empty()) return {{"process", "trace"}};
  if (!bench->request_rate)
    return {{"process", "closed_loop"}, {"concurrency", bench->num_prompts.value_or(1)}};
  if (bench->burstiness == 1) return {{"process", "poisson"}, {"requests_per_s", *bench->request_rate}};
  return {{"process", "gamma"},
          {"requests_per_s", *bench->request_rate},
          {"cv", 1 / std::sqrt(bench->burstiness)}};
}

Scenario scenario_of_log(const std::string& path, std::string_view kind, const FitRunOptions& options,
                         const std::optional<BenchRun>& bench) {
  // Paths on the command line are relative to the working folder, not to the log.
  FitRunOptions settings = options;
  settings.model = model_of(path, options, bench);
  const Json text = {
      {"schema", "kvcap.scenario/1"},
      {"name", std::filesystem::path(path).stem().string()},
      {"policy", "recompute"},
      {"workload",
       {{"source",
         {{"kind", kind}, {"path", std::filesystem::absolute(path).string()}, {"columns", options.columns}}},
        {"arrivals", arrivals_of(bench)}}}};
  return parse_scenario(text.dump(-1, ' ', false, Json::error_handler_t::replace), path,
                        overrides_of(settings));
}

bool has_latencies(const MeasuredTimes& one) {
  return std::isfinite(one.ttft_s) || std::isfinite(one.e2el_s);
}

void refuse_impossible(const std::string& log, std::size_t request, const MeasuredTimes& one) {
  if (!(one.ttft_s > one.e2el_s)) return;
  throw InputError(log + ": request " + std::to_string(request + 1) + ": its TTFT of " +
                   format_number(one.ttft_s) + " s exceeds its end-to-end latency of " +
                   format_number(one.e2el_s) + " s; are the columns swapped?");
}

bool sets(const std::vector<std::string>& overrides, const std::string& path) {
  return std::any_of(overrides.begin(), overrides.end(),
                     [&](const std::string& one) { return one.starts_with(path + "="); });
}

// Returns which of the `names`, fields of `serving`, are set by the scenario's file or by --set.
std::vector<std::string> stated_of(const std::string& scenario_path,
                                   const std::vector<std::string>& overrides,
                                   std::span<const char* const> names) {
  Json serving;
  if (!scenario_path.empty()) {
    const Json file = Json::parse(read_text(scenario_path), nullptr, false);
    if (file.is_object()) serving = file.value("serving", Json());
  }
  std::vector<std::string> stated;
  for (const std::string name : names) {
    const bool in_file = serving.is_object() && serving.contains(name);
    if (in_file || sets(overrides, "serving." + name) || sets(overrides, "serving")) stated.push_back(name);
  }
  return stated;
}

// Adds a note on values that the simulation needs but the log does not contain.
void note_assumptions(const std::string& scenario_path, const FitRunOptions& options, FitRun& run) {
  static constexpr std::array kNames = {"tensor_parallel_size", "max_num_seqs", "max_num_batched_tokens"};
  const std::vector<std::string> stated = stated_of(scenario_path, options.overrides, kNames);
  const ServingOptions& serving = run.scenario.serving;
  const std::array values = {serving.tensor_parallel_size, serving.max_num_seqs,
                             serving.max_num_batched_tokens};
  std::string assumed;
  std::size_t i = 0;
  for (const std::string name : kNames) {
    const int64_t value = values[i++];
    if (std::find(stated.begin(), stated.end(), name) != stated.end()) continue;
    assumed += (assumed.empty() ? "serving." : ", serving.") + name + " " + std::to_string(value);
  }
  if (!assumed.empty()) run.notes.push_back("assumed (not given): " + assumed + " (--set)");
}

void take_requests(FitRun& run) {
  const WorkloadOptions& workload = run.scenario.workload;
  Source source = open_source(workload, run.scenario.seed);
  if (std::none_of(source.measured.begin(), source.measured.end(), has_latencies)) {
    throw InputError(run.name + ": workload.source: found a log without latencies (" + workload.source.kind +
                     "), allowed: a log with the latencies of requests; --columns "
                     "...,ttft=COLUMN,e2el=COLUMN names their columns");
  }
  const auto lines = static_cast<int64_t>(source.sessions.size());
  if (workload.sessions.value_or(lines) > lines) {
    throw InputError(run.name + ": workload.sessions: found " + std::to_string(*workload.sessions) +
                     ", allowed: at most " + std::to_string(lines) + ", as many as the log has");
  }
  for (std::size_t i = 0; i < source.measured.size(); ++i) refuse_impossible(run.name, i, source.measured[i]);
  run.workload = arrange(source, workload, run.scenario.seed);
  for (const std::string& note : run.workload.notes) {
    // A closed loop sends the requests in the order of the log, so this note does not apply.
    if (!note.starts_with("arrival_s of the source is not used")) run.notes.push_back(note);
  }
  run.measured = std::move(source.measured);
  run.measured.resize(run.workload.turns.size());
  run.itls_s = std::move(source.measured_itls_s);
}

// Sets the prefix-cache hits that the log does not show.
void take_hits(const FitRunOptions& options, FitRun& run) {
  if (says_shared_text(run.workload)) {
    if (!options.hit_share) return;
    throw InputError("--hit-share: " + run.name +
                     " shows which prompts share text; allowed: only with logs that do not");
  }
  if (!run.scenario.serving.prefix_caching) return;
  run.hits = hits_in_ttft(run.scenario, run.workload, run.measured);
  run.hits.given = options.hit_share;
  if (options.hit_share && run.hits.shared == SharedText::nothing)
    run.hits.shared = SharedText::share_of_each_prompt;
}

// Builds the requests of a bench result that has only their number and mean lengths.
void take_summary(const BenchRun& bench, FitRun& run) {
  const int64_t requests = bench.completed.value_or(bench.num_prompts.value_or(0));
  const auto mean = [&](const char* field, const std::optional<int64_t>& total) {
    if (requests > 0 && total && *total >= requests) {
      return static_cast<uint32_t>(std::min<int64_t>(
          std::llround(static_cast<double>(*total) / static_cast<double>(requests)), 10'000'000));
    }
    throw InputError(run.name + ": " + field + ": found " + (total ? std::to_string(*total) : "none") +
                     " for " + std::to_string(requests) + " completed requests, allowed: at least as many");
  };
  const Turn turn{mean("total_input_tokens", bench.total_input_tokens),
                  mean("total_output_tokens", bench.total_output_tokens)};
  Source source;
  for (int64_t i = 0; i < requests; ++i) source.add({}, {turn});
  run.workload = arrange(source, run.scenario.workload, run.scenario.seed);
  for (const auto& [name, value] : bench.metrics) {
    // Higher percentiles depend on long prompts and answers, whose lengths are unknown.
    const bool is_central = name.starts_with("mean_") || name.starts_with("median_");
    const bool is_latency = name.ends_with("_ttft_ms") || name.ends_with("_tpot_ms") ||
                            name.ends_with("_itl_ms") || name.ends_with("_e2el_ms");
    if (is_latency && is_central && value > 0) run.metrics.push_back({name, value});
  }
  run.notes.push_back(
      "the file does not list single requests (--save-detailed): each is assumed to have the mean lengths, " +
      std::to_string(turn.input_tokens) + " input tokens and " + std::to_string(turn.output_tokens) +
      " output tokens, and only means and medians are fitted");
  if (run.metrics.empty()) {
    throw InputError(run.name + ": found no latencies (mean_ttft_ms, median_tpot_ms, ...)");
  }
}

}  // namespace

FitRun read_fit_run(const std::string& path, const FitRunOptions& options) {
  static constexpr std::array kHostTimes = {"step_overhead_s", "step_overhead_per_sequence_s",
                                            "request_overhead_s"};
  if (is_scenario(path)) {
    FitRun run{.name = path, .scenario = load_scenario(path, overrides_of(options))};
    run.stated = stated_of(path, options.overrides, kHostTimes);
    take_requests(run);
    note_assumptions(path, options, run);
    take_hits(options, run);
    return run;
  }
  const std::string_view kind = options.columns.empty() ? guess_source(path).name : "csv";
  const std::optional<BenchRun> bench = bench_of(path, kind);
  FitRun run{.name = path, .scenario = scenario_of_log(path, kind, options, bench)};
  run.stated = stated_of("", options.overrides, kHostTimes);
  if (bench && (bench->backend == "vllm" || bench->backend == "sglang")) run.engine = bench->backend;
  if (bench && bench->max_concurrency && run.scenario.workload.arrivals.concurrency) {
    run.notes.push_back(
        std::to_string(*bench->max_concurrency) +
        " requests are active at a time (max_concurrency); a request starts when another ends");
  }
  if (bench && bench->requests.empty() && bench->requests_failed == 0) {
    take_summary(*bench, run);
  } else {
    take_requests(run);
  }
  note_assumptions("", options, run);
  take_hits(options, run);
  return run;
}

}  // namespace kvcap
