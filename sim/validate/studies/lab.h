// Lab: where checks get their simulated numbers.
//
// Checks are evaluated twice: the first time every simulation they ask for is only noted (its metrics are
// NaN), then all of them run side by side in workers, and the second time the numbers are there.
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
  // `is_shipped`: scenarios are files of the binary.
  explicit Lab(bool is_shipped) : is_shipped_(is_shipped) {}

  // What tells one simulation from another.
  static std::string key_of(const StudySetting& setting);

  Scenario scenario(const StudySetting& setting) const;
  // The machine of a scenario, for what needs no clock; its stored forms are chosen for contexts.tokens.
  Machine machine(const StudySetting& setting) const;
  struct Trace {
    Workload workload;
    TraceStats stats;
  };
  const Trace& trace(const StudySetting& setting);

  // A metric of a simulation; NaN as long as it has not run.
  double metric(const StudySetting& setting, const std::string& name);
  // All turns of it; none as long as it has not run.
  std::span<const TurnRecord> turns(const StudySetting& setting);
  // Seconds to bring one context of contexts.tokens back on an empty machine: of recompute its prefill, of
  // others what a request with one new token waits before that is prefilled.
  double restore_s(const StudySetting& setting);

  // Runs what has been asked for and not run yet. False when there was nothing to run.
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
