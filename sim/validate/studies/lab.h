// Lab: runs the simulations of checks and returns their numbers.
//
// Checks are evaluated twice: the first time only collects the simulations that they need (metrics are NaN);
// then all of them run in parallel workers, and the second time returns their metrics.
#pragma once

#include <map>
#include <span>
#include <string>

#include "metrics/result.h"
#include "run/machine.h"
#include "scenario/scenario.h"
#include "validate/studies/study.h"
#include "workload/trace_stats.h"

namespace kvcap {

class Lab {
 public:
  // `is_shipped`: scenarios are files embedded in the binary.
  explicit Lab(bool is_shipped) : is_shipped_(is_shipped) {}

  // Returns a key that is different for different simulations.
  static std::string key_of(const StudySetting& setting);

  Scenario scenario(const StudySetting& setting) const;
  // Returns the machine of a scenario for closed forms; its stored forms are chosen for contexts.tokens.
  Machine machine(const StudySetting& setting) const;
  struct Trace {
    Workload workload;
    TraceStats stats;
  };
  const Trace& trace(const StudySetting& setting);

  // Returns a metric of a simulation; NaN before it has run.
  double metric(const StudySetting& setting, const std::string& name);
  // Returns all turns of a simulation; empty before it has run.
  std::span<const TurnRecord> turns(const StudySetting& setting);
  // Returns the seconds to restore one context of contexts.tokens on an idle machine: for recompute its
  // prefill, for other policies the time from the arrival of a request with one new token to the prefill of
  // that token.
  double restore_s(const StudySetting& setting);

  // Runs the collected simulations that have not run yet. False if there were none.
  bool run_missing();

 private:
  struct Run {
    Scenario scenario;
    StudySetting setting;
    bool done = false;
    bool keeps_turns = false;
    RunResult result;
  };
  Run& run(const StudySetting& setting);

  bool is_shipped_;
  std::map<std::string, Run> runs_;
  std::map<std::string, Trace> traces_;
};

}  // namespace kvcap
