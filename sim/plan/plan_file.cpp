// Reads and checks plan files.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/input_error.h"
#include "base/json_schema.h"
#include "base/read_fields.h"
#include "base/text/progress.h"
#include "metrics/quantity.h"
#include "plan/break_even.h"
#include "plan/plan.h"
#include "plan/sizes.h"
#include "scenario/json.h"
#include "scenario/load.h"

namespace kvcap {
namespace {

constexpr std::string_view kPlanSchema = "kvcap.plan/1";
constexpr std::size_t kMostRangeValues = 10'000;   // values of one range
constexpr std::size_t kMostCombinations = 20'000;  // combinations of all dimensions except the longest range
constexpr std::string_view kSizes[] = {"searched", "profile"};
constexpr double kMostNumber = 1e21;

struct RangeRow {
  double min = 0, max = 0;
  std::optional<double> step, factor;
};
struct TargetRow {
  std::optional<double> min, max;
};
struct BreakEvenRow {
  std::vector<std::string> policies;
  Members<Json> across, down, set;
};
struct PlanFile {
  std::string name;
  Json base;
  std::optional<Members<Json>> search, meet;
  std::string minimize = Plan().minimize;
  int64_t max_replications = Plan().max_replications;
  std::string sizes{kSizes[0]};
  std::optional<BreakEvenRow> break_even;
};

FieldSpec any_number(std::string_view meaning, bool required = false) {
  return {.meaning = meaning, .min = -kMostNumber, .max = kMostNumber, .required = required};
}

void describe(FieldVisitor& v, RangeRow& o) {
  v.field("min", o.min, any_number("the first value", true));
  v.field("max", o.max, any_number("the last value", true));
  v.field("step", o.step, any_number("difference between consecutive values"));
  v.field("factor", o.factor, any_number("ratio of consecutive values"));
}

void describe(FieldVisitor& v, TargetRow& o) {
  v.field("min", o.min, any_number("lower bound of the metric"));
  v.field("max", o.max, any_number("upper bound of the metric"));
}

void describe(FieldVisitor& v, BreakEvenRow& o) {
  const auto axis = [](std::string_view meaning) {
    return FieldSpec{.meaning = meaning, .required = true, .least = 1, .shape = "one field and its values"};
  };
  v.field("policies", o.policies,
          {.meaning = "policies to compare", .required = true, .least = 2, .shape = "two policies or more"});
  v.field("across", o.across, axis("columns of the map"));
  v.field("down", o.down, axis("rows of the map"));
  v.field("set", o.set, {.meaning = "fields of the scenario, and tokens, new_tokens, contexts"});
}

void describe(FieldVisitor& v, PlanFile& o) {
  v.schema(kPlanSchema, true);
  v.field("name", o.name, {.meaning = "name of the plan in the answer"});
  v.field("base", o.base, {.meaning = "a scenario, or the path of one", .required = true});
  v.field("search", o.search,
          {.meaning = "values to try, by field", .least = 1, .shape = "at least one field to choose"});
  v.field("meet", o.meet, {.meaning = "targets: bounds by metric"});
  v.field("minimize", o.minimize, {.meaning = "the metric to minimize"});
  v.field("max_replications", o.max_replications,
          {.meaning = "most seeds per configuration", .min = 1, .max = 1000});
  v.field("sizes", o.sizes, {.meaning = "sizes of tiers that the plan does not set", .allowed = kSizes});
  v.field("break_even", o.break_even, {.meaning = "map of the fastest policy over two fields"});
}

// One object of the plan file and its path in the file.
struct Part {
  const std::string& file;
  std::string path;
  const Members<Json>& members;

  std::string at(const std::string& key) const { return file + ": " + below(path, key); }
  std::string at() const { return file + ": " + path; }
};

// Returns a value in the form of --set: bare text, or JSON.
std::string change_text(const Json& value) {
  if (value.is_number()) return number_text(value.get<double>());
  if (!value.is_string()) return value.dump();
  const auto& text = value.get_ref<const std::string&>();
  const bool ambiguous = !Json::parse(text, nullptr, false).is_discarded();
  return ambiguous ? value.dump() : text;
}

std::vector<double> range_values(const Json& json, const Part& part, const std::string& key) {
  const auto range = read_fields<RangeRow>(json, part.file, below(part.path, key));
  const std::string place = part.at(key);
  if (range.step.has_value() == range.factor.has_value()) {
    throw InputError(place + ": found " + json.dump() + ", allowed: min and max with either step or factor");
  }
  const bool steps = range.step.has_value();
  const double by = steps ? *range.step : *range.factor;
  if (range.max < range.min) refuse_field(place + ".max", range.max, "a number of at least min");
  if (steps && !(by > 0)) refuse_field(place + ".step", by, "a number greater than 0");
  if (!steps && !(by > 1)) refuse_field(place + ".factor", by, "a number greater than 1");
  if (!steps && !(range.min > 0))
    refuse_field(place + ".min", range.min, "a number greater than 0 with factor");
  constexpr double kRounding = 1e-6;
  std::vector<double> values;
  // Rounding may put the last step slightly beyond max.
  for (std::size_t i = 0;; ++i) {
    const auto n = static_cast<double>(i);
    const double value = steps ? range.min + n * by : range.min * std::pow(by, n);
    if (value > range.max + kRounding * (steps ? by : range.max)) break;
    values.push_back(std::min(value, range.max));
    if (values.size() > kMostRangeValues) {
      throw InputError(place + ": found more than " + std::to_string(kMostRangeValues) +
                       " values, allowed: a larger " + (steps ? "step" : "factor"));
    }
  }
  return values;
}

std::vector<std::string> split_paths(const std::string& key) {
  std::vector<std::string> paths(1);
  for (char letter : key) {
    if (letter == ',') {
      paths.emplace_back();
    } else if (letter != ' ') {
      paths.back() += letter;
    }
  }
  return paths;
}

Dimension read_dimension(const Part& part, const std::string& key, const Json& json) {
  Dimension dimension{.paths = split_paths(key), .values = {}, .numbers = {}};
  for (const std::string& path : dimension.paths) {
    if (path.empty()) throw InputError(part.at() + ": found the path \"" + key + "\", allowed: a field");
  }
  if (json.is_object()) {
    dimension.is_range = true;
    dimension.numbers = range_values(json, part, key);
    for (double value : dimension.numbers) dimension.values.push_back(number_text(value));
    return dimension;
  }
  if (!json.is_array() || json.empty()) {
    refuse_field(part.at(key), json, "a list of values, or {\"min\", \"max\", \"step\"}");
  }
  for (const Json& value : json) {
    const std::string text = change_text(value);
    if (std::find(dimension.values.begin(), dimension.values.end(), text) != dimension.values.end()) {
      refuse_field(part.at(key), json, "each value once (" + text + " is repeated)");
    }
    dimension.values.push_back(text);
    if (value.is_number()) dimension.numbers.push_back(value.get<double>());
  }
  if (dimension.numbers.size() < dimension.values.size()) dimension.numbers.clear();
  return dimension;
}

// Returns the nesting depth of a dimension's fields. Sorting dimensions by depth sets objects before their
// members.
std::ptrdiff_t depth(const Dimension& dimension) {
  std::ptrdiff_t most = 0;
  for (const std::string& path : dimension.paths) {
    most = std::max(most, std::count(path.begin(), path.end(), '.'));
  }
  return most;
}

void check_combinations(const std::string& file, const std::vector<Dimension>& dimensions) {
  double lines = 1, longest = 1;
  bool has_ladders = false;
  for (const Dimension& dimension : dimensions) {
    const auto size = static_cast<double>(dimension.values.size());
    lines *= size;
    if (dimension.is_range) longest = std::max(longest, size);
    has_ladders = has_ladders || dimension.size_of;
  }
  if (lines / longest <= kMostCombinations) return;
  throw InputError(
      file + ": search: found " + number_text(lines / longest) + " combinations without the longest range" +
      (has_ladders ? " (including storage sizes; \"sizes\": \"profile\" keeps the profile's sizes)" : "") +
      ", allowed: at most " + std::to_string(kMostCombinations));
}

std::vector<Dimension> read_search(const Part& search) {
  std::vector<Dimension> dimensions;
  for (const auto& [key, value] : search.members) dimensions.push_back(read_dimension(search, key, value));
  std::stable_sort(dimensions.begin(), dimensions.end(),
                   [](const Dimension& a, const Dimension& b) { return depth(a) < depth(b); });
  check_combinations(search.file, dimensions);
  return dimensions;
}

void check_metric(const std::string& place, const std::string& metric) {
  const std::vector<std::string> metrics = metric_names();
  if (std::find(metrics.begin(), metrics.end(), metric) != metrics.end()) return;
  const std::vector<std::string_view> names(metrics.begin(), metrics.end());
  throw InputError(place + ": found the metric \"" + metric + "\", allowed: a metric of the result" +
                   suggestion(metric, names));
}

std::vector<Target> read_targets(const Part& meet) {
  constexpr const char* kBounds = "{\"min\": NUMBER}, {\"max\": NUMBER} or both";
  std::vector<Target> targets;
  for (const auto& [metric, bounds] : meet.members) {
    check_metric(meet.at(metric), metric);
    if (!bounds.is_object()) refuse_field(meet.at(metric), bounds, kBounds);
    const auto row = read_fields<TargetRow>(bounds, meet.file, below(meet.path, metric));
    if (!row.min && !row.max) refuse_field(meet.at(metric), bounds, kBounds);
    Target target{.metric = metric};
    target.min = row.min.value_or(target.min);
    target.max = row.max.value_or(target.max);
    if (target.min > target.max) refuse_field(meet.at(metric) + ".min", target.min, "at most max");
    targets.push_back(target);
  }
  return targets;
}

std::string base_path(const Json& base, const std::string& file) {
  if (base.is_object()) return file + "#base";
  if (!base.is_string()) refuse_field(file + ": base", base, "a scenario, or the path of one");
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  return (folder / base.get<std::string>()).lexically_normal().string();
}

int64_t context_size_of(const std::string& place, const Json& found, double number) {
  constexpr double kMost = 1e8;
  if (!(number >= 1 && number <= kMost && number == std::floor(number))) {
    refuse_field(place, found, "integers from 1 to 100000000");
  }
  return static_cast<int64_t>(number);
}

Dimension read_axis(const Part& part, StoredContexts& contexts, bool only_numbers) {
  const auto& [key, json] = part.members.front();
  if (part.members.size() > 1) refuse_field(part.at(), Json::object(), "one field and its values");
  Dimension dimension = read_dimension(part, key, json);
  if (dimension.numbers.empty() && only_numbers) refuse_field(part.at(key), json, "numbers");
  if (!std::is_sorted(dimension.numbers.begin(), dimension.numbers.end())) {
    refuse_field(part.at(key), json, "values in ascending order");
  }
  for (const std::string& path : dimension.paths) {
    if (!context_size(contexts, path)) continue;
    if (dimension.numbers.empty()) refuse_field(part.at(key), json, "integers from 1 to 100000000");
    for (double number : dimension.numbers) context_size_of(part.at(key), json, number);
  }
  return dimension;
}

BreakEven read_break_even(const BreakEvenRow& row, const std::string& file) {
  BreakEven read;
  read.policies = row.policies;
  read.across = read_axis({file, "break_even.across", row.across}, read.contexts, true);
  read.down = read_axis({file, "break_even.down", row.down}, read.contexts, false);
  for (const auto& [path, value] : row.set) {
    if (int64_t* size = context_size(read.contexts, path)) {
      const double number = value.is_number() ? value.get<double>() : NAN;
      *size = context_size_of(file + ": " + below("break_even.set", path), value, number);
    } else {
      read.changes.push_back(path + "=" + change_text(value));
    }
  }
  return read;
}

// Throws InputError if --set names a searched field.
void refuse_searched(const Plan& plan) {
  for (const std::string& change : plan.set) {
    for (const Dimension& dimension : plan.search) {
      for (const std::string& path : dimension.paths) {
        if (!change.starts_with(path + "=")) continue;
        throw InputError("--set: found \"" + change + "\", allowed: a field that the plan does not search");
      }
    }
  }
}

// Builds the plan. `path`: the name of the file in error messages.
Plan plan_of(const PlanFile& file, const std::string& path, const BaseScenario& base, const Changes& set) {
  Plan plan{.name = file.name.empty() ? std::filesystem::path(path).stem().string() : file.name,
            .base = base,
            .set = set};
  load_scenario(plan.base, set);
  if (file.break_even) {
    plan.break_even = read_break_even(*file.break_even, path);
    plan.break_even->changes.insert(plan.break_even->changes.begin(), set.begin(), set.end());
  }
  if (plan.break_even && !file.search) return plan;
  if (!file.search) throw InputError(path + ": search: missing, required");
  if (!file.meet) throw InputError(path + ": meet: missing, required");
  plan.search = read_search({path, "search", *file.search});
  refuse_searched(plan);
  plan.meet = read_targets({path, "meet", *file.meet});
  plan.minimize = file.minimize;
  check_metric(path + ": minimize", plan.minimize);
  plan.max_replications = file.max_replications;
  if (file.sizes == kSizes[0]) add_size_ladders(plan);
  check_combinations(path, plan.search);
  return plan;
}

// Throws the InputError for a value that no configuration accepts. If the error `why` is about the field of
// another dimension, the message names that field.
[[noreturn]] void refuse(const Plan& plan, const std::string& file, std::size_t d, std::size_t value,
                         const std::string& why) {
  for (const Dimension& dimension : plan.search) {
    for (const std::string& path : dimension.paths) {
      if (&dimension != &plan.search[d] && why.starts_with("--set " + path + "=")) {
        throw InputError(file + ": search." + dimension.name() + ": " + why);
      }
    }
  }
  throw InputError(file + ": search." + plan.search[d].name() + ": no configuration accepts " +
                   plan.search[d].values[value] + ": " + why);
}

}  // namespace

Plan load_plan(const std::string& path, const Changes& set) {
  const auto file = read_fields<PlanFile>(parse_json(read_text(path), path), path);
  return plan_of(file, path, base_path(file.base, path), set);
}

Plan parse_plan(const std::string& text, const BaseScenario& base, const Changes& set) {
  return plan_of(read_fields<PlanFile>(parse_json(text, base.path), base.path), base.path, base, set);
}

void check_values(const Plan& plan, const std::string& file) {
  std::vector<std::vector<bool>> accepted;
  for (const Dimension& dimension : plan.search) accepted.emplace_back(dimension.values.size(), false);
  // First advances all dimensions together, so that few configurations cover all values. Then tries each
  // value that was not accepted with every combination of list values. Of a range, tries only the two ends.
  std::string why;
  const auto try_at = [&](const Point& point) {
    try {
      load_scenario(plan.base, changes_at(plan, point));
      for (std::size_t d = 0; d < point.size(); ++d) accepted[d][point[d]] = true;
    } catch (const InputError& error) {
      why = error.what();
    }
  };
  std::size_t most = 1;
  for (const Dimension& dimension : plan.search) {
    if (!dimension.is_range) most = std::max(most, dimension.values.size());
  }
  Progress progress("checking");
  for (std::size_t i = 0; i < most; ++i) {
    progress.show(static_cast<double>(i) / static_cast<double>(most));
    Point point;
    for (const Dimension& dimension : plan.search) {
      const std::size_t end = dimension.values.size() - 1;
      point.push_back(dimension.is_range ? (i % 2) * end : i % (end + 1));
    }
    try_at(point);
  }
  for (std::size_t d = 0; d < plan.search.size(); ++d) {
    const std::size_t end = plan.search[d].values.size() - 1;
    for (std::size_t value = 0; value <= end;
         value += plan.search[d].is_range ? std::max<std::size_t>(end, 1) : 1) {
      std::string first_refusal;
      Point point(plan.search.size(), 0);
      point[d] = value;
      const auto varies = [&](std::size_t other) { return other != d && !plan.search[other].is_range; };
      for (bool more = true; more && !accepted[d][value]; more = next_point(plan, point, varies)) {
        try_at(point);
        if (first_refusal.empty()) first_refusal = why;
      }
      if (!accepted[d][value]) refuse(plan, file, d, value, first_refusal);
    }
  }
}

std::string plan_json_schema() {
  PlanFile plan;
  return json_schema(kPlanSchema, [&](FieldVisitor& v) { describe(v, plan); });
}

}  // namespace kvcap
