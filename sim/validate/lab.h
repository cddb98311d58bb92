// Lab: where checks get their simulated numbers. The files of scenarios/ are part of the binary; a check
// names one, changes fields, and asks for a metric or a restoration time.
//
// Checks are straight-line code that is evaluated twice: the first time every simulation they ask for is only
// noted (its metrics are NaN), then all of them run side by side in workers, and the second time the numbers
// are there.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "metrics/result.h"
#include "run/machine.h"
#include "scenario/scenario.h"
#include "workload/stored_contexts.h"

namespace kvcap {

using Overrides = std::vector<std::string>;

class Lab {
 public:
  // `folder`: below which files are named.
  explicit Lab(std::string folder) : folder_(std::move(folder)) {}

  // `file`: without its suffix, e.g. "hcache/figure_9" in scenarios/papers/.
  Scenario scenario(const std::string& file, const Overrides& overrides) const;
  Workload workload(const std::string& file, const Overrides& overrides) const;
  // The machine of a scenario, for what needs no clock; its stored forms are chosen for `tokens`.
  Machine machine(const std::string& file, const Overrides& overrides, int64_t tokens) const;

  // A metric of a simulation; NaN as long as it has not run. Where `contexts` are any, they replace the
  // scenario's workload.
  double metric(const std::string& file, const Overrides& overrides, const std::string& name,
                const StoredContexts& contexts = {});
  // Seconds to bring one context back on an empty machine: of recompute its prefill, of others what a
  // request with one new token waits before that is prefilled.
  double restore_s(const std::string& file, const Overrides& overrides, int64_t tokens);

  // Runs what has been asked for and not run yet. False when there was nothing to run.
  bool run_missing();

 private:
  struct Run {
    Scenario scenario;
    StoredContexts contexts;
    bool done = false;
    RunResult result;
  };
  const Run& run(const std::string& file, const Overrides& overrides, const StoredContexts& contexts);

  std::string folder_;
  std::map<std::string, Run> runs_;
};

}  // namespace kvcap
