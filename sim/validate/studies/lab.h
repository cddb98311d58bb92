// Lab: runs the simulations that the checks of a study need and returns their numbers.
//
// Checks are evaluated twice. The first evaluation only collects the simulations and figures that the checks
// need; every figure is NaN. Then the simulations run in parallel workers, which return only these figures,
// and the second evaluation uses them. If a workload depends on figures of other simulations, there is a
// third evaluation.
#pragma once

#include <map>
#include <string>

#include "run/machine.h"
#include "scenario/scenario.h"
#include "validate/studies/study.h"
#include "workload/trace_stats.h"

namespace kvcap {

class Lab {
 public:
  // `is_shipped`: scenarios are files embedded in the binary.
  explicit Lab(bool is_shipped) : is_shipped_(is_shipped) {}

  // Returns a key that differs between different simulations.
  static std::string key_of(const StudySetting& setting);

  Scenario scenario(const StudySetting& setting) const;
  // Returns the machine of a setting's scenario, for closed forms. The policy chooses what to store for
  // contexts of contexts.tokens tokens.
  Machine machine(const StudySetting& setting) const;
  struct Trace {
    Workload workload;
    TraceStats stats;
  };
  const Trace& trace(const StudySetting& setting);

  // Returns a figure of a simulation (figures.h); NaN until the simulation has run.
  double of_run(const StudySetting& setting, const std::string& name);
  // Returns the seconds to restore one context of contexts.tokens on an idle machine: for recompute its
  // prefill, for other policies the time from the arrival of a request with one new token to the prefill of
  // that token.
  double restore_s(const StudySetting& setting);

  // Runs the collected simulations that have not run yet. Returns false if there were none.
  bool run_missing();

 private:
  struct Asked {
    StudySetting setting;
    std::string name;
    double value = 0;
    bool is_known = false;
  };
  struct Run {
    Scenario scenario;
    StudySetting setting;
    std::map<std::string, Asked> figures = {};
  };

  bool is_shipped_;
  std::map<std::string, Run> runs_;
  std::map<std::string, Trace> traces_;
};

}  // namespace kvcap
