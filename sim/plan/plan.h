// Plan: the question of kvcap plan, i.e. the fields to choose, the targets to meet, and the metric to
// minimize. A configuration is the base scenario with changes "path=value" as for --set, so `kvcap run` can
// repeat it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/tier.h"
#include "metrics/result.h"
#include "scenario/load.h"
#include "workload/generators/stored_contexts.h"

namespace kvcap {

using Changes = std::vector<std::string>;

// One choice of a plan: fields and the values to try.
struct Dimension {
  std::vector<std::string> paths;   // fields that all get the same value
  std::vector<std::string> values;  // values in the form of --set
  std::vector<double> numbers;      // the values if all are numbers, otherwise empty
  // True: the values are ascending amounts of a resource, where a larger amount is assumed never to miss a
  // target that a smaller amount meets, and never to cost less. The search bisects the longest range.
  bool is_range = false;
  // If set, the dimension is a ladder of sizes of this tier (sizes.h), not a field of a scenario.
  std::optional<Tier> size_of;

  // Returns the paths, joined by commas: "hardware.ssd.count".
  std::string name() const;
};

struct Target {
  std::string metric;
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
};

enum class Judgement : uint8_t { cannot_run, misses, unclear, meets };

// Returns how far a value is beyond a target, as a share of the bound; 0 if the target is met, infinity for
// NaN.
double violation(const Target& target, double value);
// Returns the distance from a value to the bound, as a share of the bound; negative if the target is missed.
double slack(const Target& target, double value);

bool is_saturated(const RunResult& result);
// Returns a kind of unserved turns (metrics/unserved.h) that occurs in the run and that no target bounds;
// empty if there is none.
std::string_view unserved(const RunResult& result, const std::vector<Target>& meet);

// A request for a break-even map: every policy restores contexts on an otherwise idle machine at every pair
// of values. The path of an axis is a field of a scenario, or tokens, new_tokens or contexts.
struct BreakEven {
  std::vector<std::string> policies;
  Dimension across, down;
  Changes changes;                                                        // changes to the base
  StoredContexts contexts{.count = 1, .tokens = 4096, .new_tokens = 64};  // requested concurrently
};

class OpenSizes;

struct Plan {
  std::string name;
  BaseScenario base;  // a scenario file, "plan.json#base", or a text
  Changes set;        // changes from the command line, applied to every configuration
  std::vector<Dimension> search;
  std::vector<Target> meet;
  std::string minimize = "cost.usd_per_hour";
  int64_t max_replications = 24;
  std::optional<BreakEven> break_even;
  std::shared_ptr<OpenSizes> open_sizes;  // null: every size comes from the profile or the plan
};

// Reads a plan file. `set`: changes "path=value" for every configuration. Throws InputError as load_scenario
// does.
Plan load_plan(const std::string& path, const Changes& set = {});
// Reads the text of a plan. `base` replaces the plan's own base.
Plan parse_plan(const std::string& text, const BaseScenario& base, const Changes& set);
// Throws InputError for the first value that no configuration accepts, because no answer could contain it.
void check_values(const Plan& plan, const std::string& file);

// A configuration as the index of the chosen value in each dimension.
using Point = std::vector<std::size_t>;

using Varies = std::function<bool(std::size_t dimension)>;
// Advances to the next combination of the dimensions that vary; the last one varies fastest. Returns false
// after the last combination; `point` is then the first one again.
bool next_point(const Plan& plan, Point& point, const Varies& varies);

Changes changes_at(const std::vector<Dimension>& search, const Point& point);
// Returns the changes of a configuration, including `plan.set`: objects before their members, ladder sizes
// last.
Changes changes_at(const Plan& plan, const Point& point);

// Returns "kvcap run base.json --set ...", quoted for a shell.
std::string run_command(const Plan& plan, const Changes& changes);

// Returns the fields of a plan as a JSON Schema for editors.
std::string plan_json_schema();

}  // namespace kvcap
