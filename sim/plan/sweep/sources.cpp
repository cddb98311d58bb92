#include "plan/sweep/sources.h"

#include <nlohmann/json.hpp>

#include "workload/sources_table.h"

namespace kvcap {
namespace {

constexpr std::size_t kMost = 16;

bool is_generated(const Scenario& scenario) { return source_row(scenario.workload.source.kind).is_generated; }

std::string key_of(const Scenario& scenario) {
  const WorkloadOptions& workload = scenario.workload;
  const nlohmann::json resolved = nlohmann::json::parse(scenario.resolved_json);
  const nlohmann::json key = {
      resolved["workload"]["source"], workload.source.path,
      workload.source.token_counts,   workload.source.hash_ids,
      workload.sessions.value_or(-1), workload.arrivals.process == ArrivalProcess::trace};
  return key.dump();
}

}  // namespace

void Sources::read(const Scenario& scenario) {
  if (is_generated(scenario) || read_.size() >= kMost) return;
  std::string key = key_of(scenario);
  if (read_.contains(key)) return;
  Source source = open_source(scenario.workload, scenario.seed);
  warn_of(source, scenario.workload);
  read_.emplace(std::move(key), std::move(source));
}

Workload Sources::workload(const Scenario& scenario) const { return workload(scenario, scenario.workload); }

Workload Sources::workload(const Scenario& scenario, const WorkloadOptions& options) const {
  if (!is_generated(scenario)) {
    const auto found = read_.find(key_of(scenario));
    if (found != read_.end()) return arrange(found->second, options, scenario.seed);
  }
  return make_workload(options, scenario.seed);
}

}  // namespace kvcap
