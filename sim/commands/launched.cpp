#include "commands/launched.h"

#include <cstdio>

#include "policy/table.h"
#include "scenario/load.h"
#include "scenario/names.h"

namespace kvcap {

std::vector<std::string> launched_overrides(const std::string& from, const std::string& scenario_path,
                                            const std::vector<std::string>& overrides) {
  if (from.empty()) return {};
  const LaunchLine line = read_launch_line(from);
  for (const std::string& note : line.notes) std::fprintf(stderr, "kvcap: --from: %s\n", note.c_str());
  // The scenario's own serving and policy are not the line's.
  std::vector<std::string> launched = {"serving={}", "policy={}"};
  launched.insert(launched.end(), line.overrides.begin(), line.overrides.end());
  std::vector<std::string> all = launched;
  all.insert(all.end(), overrides.begin(), overrides.end());
  const std::vector<std::string> defaults = defaults_on(line, load_scenario(scenario_path, all).hardware);
  launched.insert(launched.end(), defaults.begin(), defaults.end());
  return launched;
}

std::string launch_text(const Scenario& scenario) {
  const std::string line = launch_line_of(scenario);
  if (!line.empty()) return "Launch: " + line + "\n";
  return "Launch: no flags of " +
         std::string(kEngineNames[static_cast<std::size_t>(scenario.serving.engine)]) + " are " +
         scenario.policy.name + "\n";
}

}  // namespace kvcap
