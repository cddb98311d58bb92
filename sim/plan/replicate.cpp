#include "plan/replicate.h"

#include "base/files.h"
#include "base/memory.h"
#include "metrics/serialize.h"
#include "metrics/trace_events.h"
#include "metrics/write.h"
#include "plan/sources.h"
#include "plan/workers.h"
#include "simulate.h"

namespace kvcap {

std::vector<std::vector<RunResult>> run_replications(const std::vector<Scenario>& scenarios,
                                                     const ReplicationOptions& options) {
  struct Run {
    std::size_t scenario;
    uint64_t seed;
  };
  constexpr double kBytesOfResult = 90'000;  // with its curves
  int64_t count = 0;
  for (const Scenario& scenario : scenarios) count += scenario.replications;
  refuse_beyond_memory(scenarios.size() > 1 ? "replications of all settings" : "replications", count,
                       kBytesOfResult);
  std::vector<Run> runs;
  Sources sources;
  WorkerOptions workers{.label = "simulating"};
  for (std::size_t s = 0; s < scenarios.size(); ++s) {
    // Bad rows are found before anything runs, and the bar knows its end.
    sources.read(scenarios[s]);
    const Workload workload = sources.workload(scenarios[s]);
    for (int64_t r = 0; r < scenarios[s].replications; ++r) {
      runs.push_back({s, scenarios[s].seed + static_cast<uint64_t>(r)});
      workers.total_units += static_cast<int64_t>(workload.turns.size());
    }
  }
  const std::vector<std::string> results = run_in_workers(
      runs.size(),
      [&](std::size_t job, std::atomic<int64_t>& done_units) {
        Scenario scenario = scenarios[runs[job].scenario];
        scenario.seed = runs[job].seed;
        const Workload workload = sources.workload(scenario);
        SimulateHooks hooks{.finished_turns = &done_units, .check_invariants = options.check_invariants};
        TraceEvents trace;
        const bool traced = job == 0 && options.timeline;
        if (traced) hooks.trace = &trace;
        RunResult result = simulate(scenario, workload, hooks);
        if (traced) options.timeline->append(trace.json(scenario.name, result.turns));
        if (job == 0 && options.requests) {
          requests_csv(result.turns, [&](std::string_view piece) { options.requests->append(piece); });
        }
        if (!options.keep_turns || scenario.seed != scenarios[runs[job].scenario].seed) result.turns = {};
        return serialize(result);
      },
      workers);
  std::vector<std::vector<RunResult>> grouped(scenarios.size());
  for (std::size_t i = 0; i < runs.size(); ++i) grouped[runs[i].scenario].push_back(deserialize(results[i]));
  return grouped;
}

}  // namespace kvcap
