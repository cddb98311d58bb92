// FitRun: a measured run of a real server, as input of a fit: the scenario and the requests that a simulation
// replays, and the measured times of each request.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fit/prompt_hits.h"
#include "scenario/scenario.h"
#include "workload/source.h"
#include "workload/workload.h"

namespace kvcap {

// A metric of a log that does not list single requests. Its name is that of a metric in results, e.g.
// "p99_ttft_ms".
struct MeasuredMetric {
  std::string name;
  double value = 0;
};

struct FitRun {
  std::string name;
  Scenario scenario;  // scenario on the base profile
  Workload workload;
  std::vector<MeasuredTimes> measured;  // [index in Workload::turns]; empty: only `metrics` exist
  std::vector<float> itls_s;            // all inter-token latencies; empty: only TPOT is known
  std::vector<MeasuredMetric> metrics;  // metrics of a log without single requests
  bool only_judged = false;             // true: the run is not fitted, it only judges the fit
  std::vector<std::string> stated;      // host times set by the scenario or --set: "request_overhead_s"
  std::string engine;                   // engine named in the log; empty: unknown
  std::vector<std::string> notes;       // notes on reading the log
  PromptHits hits;                      // prefix-cache hits that `workload` does not contain
};

// Options of the command line for reading runs.
struct FitRunOptions {
  std::string base;     // hardware profile: a name or a path
  std::string model;    // model for logs that do not name one; empty: none
  std::string columns;  // columns of CSV logs, as workload.source.columns; empty: those of the log's kind
  std::vector<std::string> overrides;  // "path=value", for all runs
  // Share of the prompts' tokens that hit the server's cache, for logs that do not show which prompts share
  // text. If not given, it is derived from TTFT.
  std::optional<double> hit_share;
};

// Reads a run from a scenario (JSON with kvcap.scenario/1) whose source is a log with latencies, or from such
// a log alone, in any format that workload.source reads. For a result of `vllm bench serve` without
// --save-detailed, only means and medians are fitted, and all requests get the mean lengths. Throws
// InputError, for example for a log without latencies.
FitRun read_fit_run(const std::string& path, const FitRunOptions& options);

}  // namespace kvcap
