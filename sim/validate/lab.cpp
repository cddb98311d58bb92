#include "validate/lab.h"

#include <limits>

#include "base/check.h"
#include "base/embedded.h"
#include "metrics/serialize.h"
#include "plan/workers.h"
#include "run/simulate.h"
#include "scenario/load.h"

namespace kvcap {
namespace {

Workload workload_of(const Scenario& scenario, const StoredContexts& contexts) {
  return contexts.count > 0 ? requests_at_once(contexts) : make_workload(scenario.workload, scenario.seed);
}

}  // namespace

Scenario Lab::scenario(const std::string& file, const Overrides& overrides) const {
  const std::string path = folder_ + file + ".json";
  for (const EmbeddedFile& embedded : embedded_files()) {
    if (embedded.path == path) return parse_scenario(embedded.text, path, overrides);
  }
  KVCAP_BUG(path.c_str());
}

Workload Lab::workload(const std::string& file, const Overrides& overrides) const {
  return workload_of(scenario(file, overrides), {});
}

Machine Lab::machine(const std::string& file, const Overrides& overrides, int64_t tokens) const {
  return {scenario(file, overrides), tokens, tokens};
}

const Lab::Run& Lab::run(const std::string& file, const Overrides& overrides,
                         const StoredContexts& contexts) {
  std::string key = file;
  for (const std::string& change : overrides) key.append("\n").append(change);
  for (int64_t number : {contexts.count, contexts.tokens, contexts.new_tokens, contexts.output_tokens}) {
    key.append("\n").append(std::to_string(number));
  }
  const auto found = runs_.find(key);
  if (found != runs_.end()) return found->second;
  return runs_.emplace(key, Run{.scenario = scenario(file, overrides), .contexts = contexts}).first->second;
}

double Lab::metric(const std::string& file, const Overrides& overrides, const std::string& name,
                   const StoredContexts& contexts) {
  const Run& asked = run(file, overrides, contexts);
  return asked.done ? asked.result.number(name) : std::numeric_limits<double>::quiet_NaN();
}

double Lab::restore_s(const std::string& file, const Overrides& overrides, int64_t tokens) {
  const Machine idle = machine(file, overrides, tokens);
  if (idle.policy().traits().reuse == Reuse::nothing) return idle.cost().prefill_s({tokens, 0});
  return metric(file, overrides, "mean_restore_ms", {.count = 1, .tokens = tokens}) * 1e-3;
}

bool Lab::run_missing() {
  std::vector<Run*> missing;
  WorkerOptions options{.label = "validating"};
  for (auto& [key, one] : runs_) {
    if (one.done) continue;
    missing.push_back(&one);
    options.total_units += static_cast<int64_t>(workload_of(one.scenario, one.contexts).turns.size());
  }
  if (missing.empty()) return false;
  const std::vector<std::string> results = run_in_workers(
      missing.size(),
      [&](std::size_t job, std::atomic<int64_t>& done_units) {
        const Run& one = *missing[job];
        const Workload workload = workload_of(one.scenario, one.contexts);
        RunResult result = simulate(one.scenario, workload, {.finished_turns = &done_units});
        result.turns.clear();
        return serialize(result);
      },
      options);
  for (std::size_t i = 0; i < missing.size(); ++i) {
    missing[i]->result = deserialize(results[i]);
    missing[i]->done = true;
  }
  return true;
}

}  // namespace kvcap
