// Plan: what may be bought and set, what has to be met, and what is to be small. A configuration is the base
// scenario with changes "path=value", as --set takes them, so that `kvcap run` repeats every one of them.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/tier.h"
#include "workload/generators/stored_contexts.h"

namespace kvcap {

using Changes = std::vector<std::string>;

// One thing to choose.
struct Dimension {
  std::vector<std::string> paths;   // all of them get the same value
  std::vector<std::string> values;  // as --set takes them
  std::vector<double> numbers;      // the same where all are numbers, else empty
  // Ascending, and a resource: more of it never makes a target missed that less of it met, and never costs
  // less. Bisected; every other dimension is searched.
  bool is_range = false;
  std::optional<Tier> size_of;  // a ladder of sizes of this tier (plan_sizes.h), and no field of a scenario

  // "hardware.ssd.count"
  std::string name() const;
};

struct Target {
  std::string metric;
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
};

// Where who wins: `policies` bring one context back on an otherwise idle machine, at every pair of values.
// A path is a scenario's, or tokens, new_tokens or contexts.
struct BreakEven {
  std::vector<std::string> policies;
  Dimension across, down;
  Changes changes;                                                        // on top of the base
  StoredContexts contexts{.count = 1, .tokens = 4096, .new_tokens = 64};  // asked for at once
};

class OpenSizes;

struct Plan {
  std::string name;
  std::string base;  // a scenario file, or "plan.json#base"
  Changes set;       // of every configuration, from the command line
  std::vector<Dimension> search;
  std::vector<Target> meet;
  std::string minimize = "cost.usd_per_hour";
  int64_t max_replications = 24;
  std::optional<BreakEven> break_even;
  std::shared_ptr<OpenSizes> open_sizes;  // null: every size is as the profile or the plan says
};

// `set`: "path=value", of every configuration. Throws InputError as load_scenario does.
Plan load_plan(const std::string& path, const Changes& set = {});

// Which value of each dimension.
using Point = std::vector<std::size_t>;

Changes changes_at(const std::vector<Dimension>& search, const Point& point);
// With what is set for all: objects before what is inside of them; sizes of ladders last.
Changes changes_at(const Plan& plan, const Point& point);

// "kvcap run base.json --set ...", as a shell takes it.
std::string run_command(const Plan& plan, const Changes& changes);

}  // namespace kvcap
