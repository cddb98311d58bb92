// The only reader of plan files. Messages name the file, the field, what was found and what is allowed.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/files.h"
#include "base/input_error.h"
#include "metrics/quantity.h"
#include "plan/break_even.h"
#include "plan/plan.h"
#include "plan/plan_sizes.h"
#include "scenario/fields.h"
#include "scenario/json.h"
#include "scenario/load.h"

namespace kvcap {
namespace {

constexpr std::string_view kPlanSchema = "kvcap.plan/1";
constexpr std::size_t kMostRangeValues = 10'000;   // of one range
constexpr std::size_t kMostCombinations = 20'000;  // of list values, and of all ranges but the longest
constexpr std::string_view kPlanKeys[] = {"schema",     "name",  "base",     "search",
                                          "meet",       "notes", "minimize", "max_replications",
                                          "break_even", "sizes"};
constexpr std::string_view kSizes[] = {"searched", "profile"};
constexpr std::string_view kRangeKeys[] = {"min", "max", "step", "factor"};
constexpr std::string_view kTargetKeys[] = {"min", "max"};
constexpr std::string_view kBreakEvenKeys[] = {"policies", "across", "down", "set", "notes"};

// One object of the plan and where it stands.
class Reader {
 public:
  Reader(const Json& json, std::string file, std::string path)
      : json_(json), file_(std::move(file)), path_(std::move(path)) {
    if (!json.is_object()) fail("", json, "an object");
  }

  std::string at(std::string_view key) const {
    const std::string path = key.empty() ? path_ : below(path_, key);
    return path.empty() ? file_ : file_ + ": " + path;
  }
  [[noreturn]] void fail(std::string_view key, const Json& found, const std::string& allowed) const {
    throw InputError(at(key) + ": found " + shown(found) + ", allowed: " + allowed);
  }
  void know(std::span<const std::string_view> keys) const {
    for (const auto& [key, value] : json_.items()) {
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
      throw InputError(at(key) + ": unknown field, allowed: " + joined(keys) + suggestion(key, keys));
    }
  }
  const Json& required(std::string_view key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) throw InputError(at(key) + ": missing, required");
    return *found;
  }
  const Json* optional(std::string_view key) const {
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }
  double number(std::string_view key) const {
    const Json& found = required(key);
    if (!found.is_number() || !std::isfinite(found.get<double>())) fail(key, found, "a number");
    return found.get<double>();
  }
  double number(std::string_view key, double absent) const { return optional(key) ? number(key) : absent; }
  std::string text(std::string_view key, const std::string& absent) const {
    const Json* found = optional(key);
    if (!found) return absent;
    if (!found->is_string()) fail(key, *found, "a string");
    return found->get<std::string>();
  }
  Reader object(std::string_view key) const { return {required(key), file_, below(path_, key)}; }
  const Json& json() const { return json_; }

 private:
  const Json& json_;
  std::string file_, path_;
};

// As --set reads it back: texts bare, the rest as JSON.
std::string change_text(const Json& value) {
  if (value.is_number()) return number_text(value.get<double>());
  if (!value.is_string()) return value.dump();
  const auto& text = value.get_ref<const std::string&>();
  const bool ambiguous = !Json::parse(text, nullptr, false).is_discarded();
  return ambiguous ? value.dump() : text;
}

std::vector<double> range_values(const Reader& range) {
  range.know(kRangeKeys);
  const double low = range.number("min", NAN), high = range.number("max", NAN);
  range.required("min");
  range.required("max");
  const bool steps = range.optional("step") != nullptr;
  if (steps == (range.optional("factor") != nullptr)) {
    throw InputError(range.at("") + ": found " + range.json().dump() +
                     ", allowed: min and max with either step or factor");
  }
  const double by = range.number(steps ? "step" : "factor", NAN);
  if (!(high >= low)) range.fail("max", range.required("max"), "a number of at least min");
  if (steps && !(by > 0)) range.fail("step", range.required("step"), "a number greater than 0");
  if (!steps && !(by > 1)) range.fail("factor", range.required("factor"), "a number greater than 1");
  if (!steps && !(low > 0)) range.fail("min", range.required("min"), "a number greater than 0 with factor");
  constexpr double kRounding = 1e-6;
  std::vector<double> values;
  // The last step may fall short of max by rounding alone.
  for (std::size_t i = 0;; ++i) {
    const double value =
        steps ? low + static_cast<double>(i) * by : low * std::pow(by, static_cast<double>(i));
    if (value > high + kRounding * (steps ? by : high)) break;
    values.push_back(std::min(value, high));
    if (values.size() > kMostRangeValues) {
      throw InputError(range.at("") + ": found more than " + std::to_string(kMostRangeValues) +
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

Dimension read_dimension(const Reader& parent, const std::string& key, const Json& json) {
  Dimension dimension{.paths = split_paths(key), .values = {}, .numbers = {}};
  for (const std::string& path : dimension.paths) {
    if (path.empty()) throw InputError(parent.at("") + ": found the path \"" + key + "\", allowed: a field");
  }
  if (json.is_object()) {
    dimension.is_range = true;
    dimension.numbers = range_values(parent.object(key));
    for (double value : dimension.numbers) dimension.values.push_back(number_text(value));
    return dimension;
  }
  if (!json.is_array() || json.empty()) {
    parent.fail(key, json, "a list of values, or {\"min\", \"max\", \"step\"}");
  }
  for (const Json& value : json) {
    const std::string text = change_text(value);
    if (std::find(dimension.values.begin(), dimension.values.end(), text) != dimension.values.end()) {
      parent.fail(key, json, "each value once (" + text + " is there again)");
    }
    dimension.values.push_back(text);
    if (value.is_number()) dimension.numbers.push_back(value.get<double>());
  }
  if (dimension.numbers.size() < dimension.values.size()) dimension.numbers.clear();
  return dimension;
}

// Objects before what is set inside them.
std::ptrdiff_t depth(const Dimension& dimension) {
  std::ptrdiff_t most = 0;
  for (const std::string& path : dimension.paths) {
    most = std::max(most, std::count(path.begin(), path.end(), '.'));
  }
  return most;
}

void check_combinations(const Reader& search, const std::vector<Dimension>& dimensions) {
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
      search.at("") + ": found " + number_text(lines / longest) + " combinations besides the longest range" +
      (has_ladders ? " (with the sizes that it leaves open: \"sizes\": \"profile\" leaves them as they are)"
                   : "") +
      ", allowed: at most " + std::to_string(kMostCombinations));
}

std::vector<Dimension> read_search(const Reader& search) {
  std::vector<Dimension> dimensions;
  for (const auto& [key, value] : search.json().items()) {
    if (key != "notes") dimensions.push_back(read_dimension(search, key, value));
  }
  if (dimensions.empty()) search.fail("", search.json(), "at least one field to choose");
  std::stable_sort(dimensions.begin(), dimensions.end(),
                   [](const Dimension& a, const Dimension& b) { return depth(a) < depth(b); });
  check_combinations(search, dimensions);
  return dimensions;
}

void check_metric(const Reader& reader, std::string_view key, const std::string& metric) {
  const std::vector<std::string> metrics = metric_names();
  if (std::find(metrics.begin(), metrics.end(), metric) != metrics.end()) return;
  const std::vector<std::string_view> names(metrics.begin(), metrics.end());
  throw InputError(reader.at(key) + ": found the metric \"" + metric + "\", allowed: a number of the result" +
                   suggestion(metric, names));
}

std::vector<Target> read_targets(const Reader& meet) {
  std::vector<Target> targets;
  for (const auto& [metric, bounds] : meet.json().items()) {
    if (metric == "notes") continue;
    check_metric(meet, metric, metric);
    if (!bounds.is_object()) meet.fail(metric, bounds, "{\"min\": NUMBER}, {\"max\": NUMBER} or both");
    const Reader target = meet.object(metric);
    target.know(kTargetKeys);
    if (!target.optional("min") && !target.optional("max")) {
      target.fail("", bounds, "{\"min\": NUMBER}, {\"max\": NUMBER} or both");
    }
    Target read{.metric = metric};
    read.min = target.number("min", read.min);
    read.max = target.number("max", read.max);
    if (read.min > read.max) target.fail("min", target.required("min"), "at most max");
    targets.push_back(read);
  }
  return targets;
}

std::string read_base(const Reader& plan, const std::string& file) {
  const Json& base = plan.required("base");
  if (base.is_object()) return file + "#base";
  if (!base.is_string()) plan.fail("base", base, "a scenario, or the path of one");
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  return (folder / base.get<std::string>()).lexically_normal().string();
}

int64_t context_size_of(const Reader& reader, const std::string& key, const Json& found, double number) {
  constexpr double kMost = 1e8;
  if (!(number >= 1 && number <= kMost && number == std::floor(number))) {
    reader.fail(key, found, "integers from 1 to 100000000");
  }
  return static_cast<int64_t>(number);
}

BreakEven read_break_even(const Reader& reader) {
  reader.know(kBreakEvenKeys);
  BreakEven read;
  const Json& policies = reader.required("policies");
  if (!policies.is_array() || policies.size() < 2) reader.fail("policies", policies, "two policies or more");
  for (const Json& policy : policies) {
    if (!policy.is_string()) reader.fail("policies", policies, "names of policies");
    read.policies.push_back(policy.get<std::string>());
  }
  const auto axis = [&](std::string_view key) {
    const Reader axis_reader = reader.object(key);
    if (axis_reader.json().size() != 1) axis_reader.fail("", axis_reader.json(), "one field and its values");
    const auto item = axis_reader.json().begin();
    Dimension dimension = read_dimension(axis_reader, item.key(), item.value());
    if (dimension.numbers.empty() && key == "across") {
      axis_reader.fail(item.key(), item.value(), "numbers");
    }
    if (!std::is_sorted(dimension.numbers.begin(), dimension.numbers.end())) {
      axis_reader.fail(item.key(), item.value(), "values in ascending order");
    }
    for (const std::string& path : dimension.paths) {
      if (!context_size(read.contexts, path)) continue;
      if (dimension.numbers.empty())
        axis_reader.fail(item.key(), item.value(), "integers from 1 to 100000000");
      for (double number : dimension.numbers) context_size_of(axis_reader, item.key(), item.value(), number);
    }
    return dimension;
  };
  read.across = axis("across");
  read.down = axis("down");
  if (const Json* set = reader.optional("set")) {
    const Reader changes = reader.object("set");
    for (const auto& [path, value] : set->items()) {
      if (int64_t* size = context_size(read.contexts, path)) {
        *size = context_size_of(changes, path, value, changes.number(path));
      } else {
        read.changes.push_back(path + "=" + change_text(value));
      }
    }
  }
  return read;
}

}  // namespace

// What is searched has no value that could be set.
static void refuse_searched(const Plan& plan) {
  for (const std::string& change : plan.set) {
    for (const Dimension& dimension : plan.search) {
      for (const std::string& path : dimension.paths) {
        if (!change.starts_with(path + "=")) continue;
        throw InputError("--set: found \"" + change + "\", allowed: a field that the plan does not search");
      }
    }
  }
}

Plan load_plan(const std::string& path, const Changes& set) {
  const Json json = parse_json(read_text(path), path);
  const Reader reader(json, path, "");
  if (reader.required("schema") != kPlanSchema) {
    throw InputError(reader.at("schema") + ": found " + shown(json["schema"]) + ", this version supports \"" +
                     std::string(kPlanSchema) + "\"" + other_reader(json["schema"]));
  }
  reader.know(kPlanKeys);
  Plan plan{.name = reader.text("name", std::filesystem::path(path).stem().string()),
            .base = read_base(reader, path),
            .set = set};
  load_scenario(plan.base, set);
  if (reader.optional("break_even")) {
    plan.break_even = read_break_even(reader.object("break_even"));
    plan.break_even->changes.insert(plan.break_even->changes.begin(), set.begin(), set.end());
  }
  if (plan.break_even && !reader.optional("search")) return plan;
  plan.search = read_search(reader.object("search"));
  refuse_searched(plan);
  plan.meet = read_targets(reader.object("meet"));
  plan.minimize = reader.text("minimize", plan.minimize);
  check_metric(reader, "minimize", plan.minimize);
  const double replications = reader.number("max_replications", static_cast<double>(plan.max_replications));
  if (!(replications >= 1 && replications <= 1000) || replications != std::floor(replications)) {
    reader.fail("max_replications", json["max_replications"], "an integer from 1 to 1000");
  }
  plan.max_replications = static_cast<int64_t>(replications);
  const std::string sizes = reader.text("sizes", std::string(kSizes[0]));
  if (std::find(std::begin(kSizes), std::end(kSizes), sizes) == std::end(kSizes)) {
    reader.fail("sizes", json["sizes"], joined(kSizes) + suggestion(sizes, kSizes));
  }
  if (sizes == kSizes[0]) add_size_ladders(plan);
  check_combinations(reader.object("search"), plan.search);
  return plan;
}

}  // namespace kvcap
