// A run that a real server has served, as a fit sees it: the setting and the requests that a simulation
// replays, and what the server took for each of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fit/prompt_hits.h"
#include "scenario/scenario.h"
#include "workload/source.h"
#include "workload/workload.h"

namespace kvcap {

// One number of a log that tells no single request: a metric of results, "p99_ttft_ms".
struct MeasuredMetric {
  std::string name;
  double value = 0;
};

struct FitRun {
  std::string name;
  Scenario scenario;  // on the base profile
  Workload workload;
  std::vector<MeasuredTimes> measured;  // of Workload::turns; empty: only `metrics` are known
  std::vector<float> itls_s;            // all gaps between tokens; empty: only TPOT is known
  std::vector<MeasuredMetric> metrics;  // of a run whose requests are not known
  bool only_judged = false;             // not fitted to
  std::vector<std::string> stated;      // host times that the scenario or --set states: "request_overhead_s"
  std::string engine;                   // by the log; empty: it does not say
  std::vector<std::string> notes;       // on how the log was read
  PromptHits hits;                      // that `workload` does not tell
};

// How runs are described on the command line.
struct FitRunOptions {
  std::string base;     // hardware profile: a name or a path
  std::string model;    // of logs that do not name theirs; empty: none
  std::string columns;  // of logs in columns, as workload.source.columns; empty: as their kind has
  std::vector<std::string> overrides;  // "path=value", of all runs
  // Share of the prompts' tokens that the server found; absent: what TTFT says of it. Of logs that do not say
  // which prompts share text.
  std::optional<double> hit_share;
};

// Reads a run: a scenario (JSON with kvcap.scenario/1) whose source is a log with latencies, or such a log
// alone, of any format that workload.source reads. Of a result of `vllm bench serve` without --save-detailed
// only means and medians are taken: its requests are all of their mean lengths. Throws InputError, as
// well for a log without latencies.
FitRun read_fit_run(const std::string& path, const FitRunOptions& options);

}  // namespace kvcap
