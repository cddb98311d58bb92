#include "validate/studies/lab.h"

#include <algorithm>
#include <cmath>

#include "base/embedded.h"
#include "base/input_error.h"
#include "plan/values_in_workers.h"
#include "run/simulate.h"
#include "scenario/load.h"
#include "validate/studies/figures.h"
#include "workload/generators/named_workloads.h"

namespace kvcap {
namespace {

constexpr int64_t kUsualTokens = 1024;  // default length of a stored context, for closed forms of a machine

Workload workload_of(const Scenario& scenario, const StudySetting& setting) {
  const StoredContexts contexts = setting.stored_contexts();
  if (contexts.count > 0) return requests_at_once(contexts);
  if (!setting.workload.empty()) return named_workload(Json::parse(setting.workload));
  return make_workload(scenario.workload, scenario.seed);
}

std::string_view shipped_text(const std::string& path) {
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path == path) return file.text;
  }
  throw InputError(path + ": found no such file, allowed: a scenario that kvcap ships");
}

}  // namespace

std::string Lab::key_of(const StudySetting& setting) {
  std::string key = setting.scenario;
  for (const std::string& change : setting.changes) key.append("\n").append(change);
  key.append("\n").append(setting.workload);
  for (const auto& [field, value] : setting.contexts) {
    key.append("\n").append(field).append(" ").append(std::to_string(value));
  }
  return key;
}

Scenario Lab::scenario(const StudySetting& setting) const {
  if (setting.scenario.empty()) throw InputError("scenario: missing, required");
  if (setting.scenario.starts_with('{')) return parse_scenario(setting.scenario, "scenario", setting.changes);
  if (!is_shipped_) return load_scenario(setting.scenario, setting.changes);
  return parse_scenario(shipped_text(setting.scenario), setting.scenario, setting.changes);
}

const Lab::Trace& Lab::trace(const StudySetting& setting) {
  const std::string key = key_of(setting);
  const auto found = traces_.find(key);
  if (found != traces_.end()) return found->second;
  Trace trace{.workload = workload_of(scenario(setting), setting), .stats = {}};
  trace.stats = trace_stats(trace.workload);
  return traces_.emplace(key, std::move(trace)).first->second;
}

Machine Lab::machine(const StudySetting& setting) const {
  const auto tokens = setting.contexts.find("tokens");
  const int64_t known = tokens == setting.contexts.end() ? kUsualTokens : tokens->second;
  return {scenario(setting), known, known};
}

double Lab::of_run(const StudySetting& setting, const std::string& name) {
  const std::string key = key_of(setting);
  auto run = runs_.find(key);
  if (run == runs_.end()) run = runs_.emplace(key, Run{scenario(setting), setting}).first;
  std::string figure = name;
  for (const auto& [bound, value] : setting.turns) figure += " " + bound + "=" + std::to_string(value);
  const auto [asked, is_new] = run->second.figures.try_emplace(std::move(figure));
  if (is_new) asked->second = {.setting = setting, .name = name};
  return asked->second.is_known ? asked->second.value : std::nan("");
}

double Lab::restore_s(const StudySetting& setting) {
  setting.tokens();  // is required
  const Machine idle = machine(setting);
  if (idle.policy().traits().reuse == Reuse::nothing) {
    return idle.cost().prefill_s({setting.tokens(), 0});
  }
  return of_run(setting.with({.scenario = {}, .changes = {}, .contexts = {{"count", 1}}}),
                "mean_restore_ms") *
         1e-3;
}

bool Lab::run_missing() {
  std::vector<Run*> missing;
  WorkerOptions options{.label = "validating"};
  for (auto& [key, one] : runs_) {
    const auto is_known = [](const auto& figure) { return figure.second.is_known; };
    if (std::all_of(one.figures.begin(), one.figures.end(), is_known)) continue;
    missing.push_back(&one);
    options.total_units += static_cast<int64_t>(workload_of(one.scenario, one.setting).turns.size());
  }
  if (missing.empty()) return false;
  const std::vector<std::vector<double>> values = values_in_workers<double>(
      missing.size(),
      [&](std::size_t job, std::atomic<int64_t>& done_units) {
        const Run& one = *missing[job];
        const Workload workload = workload_of(one.scenario, one.setting);
        const RunResult result = simulate(one.scenario, workload, {.finished_turns = &done_units});
        std::vector<double> figures;
        for (const auto& [key, asked] : one.figures) {
          figures.push_back(figure({one.scenario, workload, result}, asked.setting, asked.name));
        }
        return figures;
      },
      options);
  for (std::size_t i = 0; i < missing.size(); ++i) {
    std::size_t at = 0;
    for (auto& [key, asked] : missing[i]->figures) {
      asked.value = values[i][at++];
      asked.is_known = true;
    }
  }
  return true;
}

}  // namespace kvcap
