// kvcap compare: the same workload through several settings, with paired differences against the first.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/input_error.h"
#include "commands/commands.h"
#include "commands/output.h"
#include "metrics/recorder.h"
#include "metrics/write.h"
#include "plan/replicate.h"
#include "policy/table.h"
#include "scenario/load.h"

namespace kvcap {
namespace {

struct CompareArgs {
  std::string scenario_path;
  std::vector<std::string> overrides;
  std::string policies;
  std::string over;
  bool bounds = false;
  std::string out;
  bool json = false;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// The settings to compare as a path and its values.
std::pair<std::string, std::vector<std::string>> settings_of(const CompareArgs& args) {
  if (args.policies.empty() == args.over.empty()) {
    throw InputError("compare: give either --policies a,b,c or --over PATH=v1,v2,...");
  }
  if (!args.policies.empty()) return {"policy.name", split(args.policies, ',')};
  const std::size_t equals = args.over.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == args.over.size()) {
    throw InputError("--over: found \"" + args.over +
                     "\", allowed: PATH=v1,v2,..., e.g. hardware.ssd.count=1,2,4");
  }
  return {args.over.substr(0, equals), split(args.over.substr(equals + 1), ',')};
}

// A value as part of a file name.
std::string folder_name(const std::string& path, const std::string& value) {
  std::string name = path == "policy.name" ? value : path + "=" + value;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-' && c != '.' && c != '=')
      c = '_';
  }
  return name;
}

// What the last setting that stores anything could gain: nothing kept, everything kept, and eviction that
// knows the future.
void add_bounds(std::vector<Scenario>& scenarios, std::vector<std::string>& labels) {
  const auto stores = [](const Scenario& scenario) { return policy_stores(scenario.policy.name); };
  const auto last = std::find_if(scenarios.rbegin(), scenarios.rend(), stores);
  if (last == scenarios.rend()) {
    throw InputError(
        "--bounds: found no policy that stores anything, allowed: at least one of them compared");
  }
  const Scenario base = *last;
  Scenario nothing = base, everything = base, belady = base;
  nothing.policy = {.name = "recompute", .tiers = std::vector<TierOptions>{}};
  everything.policy.unbounded = true;
  belady.policy.clairvoyant = true;
  belady.policy.look_ahead = false;
  if (belady.policy.tiers) {
    for (TierOptions& tier : *belady.policy.tiers) tier.eviction = EvictionKind::next_use;
  }
  belady.policy.eviction = EvictionKind::next_use;
  scenarios.insert(scenarios.end(), {nothing, everything, belady});
  labels.insert(labels.end(), {"no cache", "infinite", "belady"});
}

void compare(const CompareArgs& args) {
  auto [path, values] = settings_of(args);
  std::vector<Scenario> scenarios;
  for (const std::string& value : values) {
    std::vector<std::string> overrides = args.overrides;
    overrides.push_back(path);
    overrides.back().append("=").append(value);
    scenarios.push_back(load_scenario(args.scenario_path, overrides));
  }
  if (args.bounds) add_bounds(scenarios, values);
  prepare_folder(args.out);
  const std::vector<std::vector<RunResult>> runs = run_replications(scenarios, false);

  std::vector<RunResult> results;
  std::vector<Difference> differences;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    results.push_back(combine_replications(runs[i]));
    if (i == 0) continue;
    for (Difference difference : paired_differences(runs[0], runs[i])) {
      difference.setting = values[i];
      difference.against = values[0];
      differences.push_back(std::move(difference));
    }
  }
  const std::string line = scenario_line(scenarios[0], results[0]);
  const std::string table = result_table(values, results, differences, line);
  if (!args.out.empty()) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      write_run(args.out + "/" + folder_name(path, values[i]), line, results[i]);
    }
    write_file(args.out + "/table.txt", table);
    write_file(args.out + "/compare.json", compare_json(results, differences));
  }
  std::fputs(args.json ? compare_json(results, differences).c_str() : table.c_str(), stdout);
}

}  // namespace

void add_compare(CLI::App& app) {
  auto args = std::make_shared<CompareArgs>();
  CLI::App* command = app.add_subcommand("compare", "the same workload through several settings");
  command->add_option("scenario", args->scenario_path, "scenario file (JSON)")->required();
  command->add_option("--policies", args->policies, "policies to compare, separated by commas");
  command->add_option("--over", args->over, "any field to vary: PATH=v1,v2,...");
  command->add_flag("--bounds", args->bounds,
                    "also: nothing kept, everything kept, and eviction that knows the future (Belady)");
  command->add_option("--set", args->overrides, "override a field in all settings: path=value")
      ->type_size(1)
      ->allow_extra_args(false);
  command->add_option("--out", args->out, "folder for compare.json, table.txt and a folder a setting");
  command->add_flag("--json", args->json, "print the comparison as JSON");
  command->footer(
      "Examples: kvcap compare scenarios/demo.json --policies recompute,kv_offload,hcache,ideal\n"
      "          kvcap compare scenarios/demo.json --over hardware.ssd.count=1,2,4");
  command->callback([args] { compare(*args); });
}

}  // namespace kvcap
