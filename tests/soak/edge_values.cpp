#include "soak/edge_values.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/input_error.h"
#include "base/random.h"
#include "metrics/serialize.h"
#include "metrics/write.h"
#include "plan/workers.h"
#include "run/machine.h"
#include "run/simulate.h"
#include "scenario/fields.h"
#include "scenario/json.h"
#include "scenario/load.h"
#include "soak/scenario_generator.h"
#include "soak/soak.h"
#include "text/result_sentences.h"
#include "text/result_table.h"

namespace kvcap::soak {
namespace {

constexpr std::size_t kBases = 4096;
constexpr std::size_t kMostChanges = 6;
constexpr int64_t kMostSessions = 6;
constexpr rlim_t kMostCpu_s = 60;       // allows for sanitizers
constexpr double kEdgeTimeout_s = 600;  // allows for a loaded machine
// Limits of a run. They are estimated before the run, so that a run that times out is a finding.
constexpr double kMostSteps = 50'000;
constexpr double kMostBlocks = 30'000;
constexpr double kMostLayers = 30'000;  // layers that restorations load and compute one by one
constexpr int64_t kMostReplicas = 100;  // each takes milliseconds to build
constexpr std::string_view kSkipped = "skipped";

// ---- which numbers there are ----

struct NumberField {
  std::string pointer;  // JSON's
  double min = 0, max = 0;
  bool is_integer = false;
};

// Collects the numeric fields of a scenario; of a list those of the first and last items.
class NumberFields : public FieldVisitor {
 public:
  std::vector<NumberField> found;

  void schema(std::string_view, bool) override {}
  void needs(std::string_view, std::string_view, std::string_view) override {}
  void flag(std::string_view, bool&, bool*, const FieldSpec&) override {}
  void text(std::string_view, std::string&, bool*, const FieldSpec&) override {}
  void integer(std::string_view name, int64_t&, bool*, const FieldSpec& spec) override {
    found.push_back({path_ + "/" + std::string(name), spec.min, spec.max, true});
  }
  void number(std::string_view name, double&, bool*, const FieldSpec& spec) override {
    found.push_back({path_ + "/" + std::string(name), spec.min, spec.max, false});
  }
  void object(std::string_view name, bool* present, const FieldSpec&, const Describe& describe) override {
    if (present && !*present) return;
    within(name, [&] { describe(*this); });
  }
  void list(std::string_view name, std::size_t size, bool* present, const FieldSpec&,
            const DescribeItem& describe_item) override {
    if (size == 0 || (present && !*present)) return;
    within(name, [&] {
      within("0", [&] { describe_item(*this, 0); });
      if (size > 1) within(std::to_string(size - 1), [&] { describe_item(*this, size - 1); });
    });
  }

 private:
  template <class Inside>
  void within(std::string_view name, const Inside& inside) {
    const std::size_t before = path_.size();
    path_ += "/" + std::string(name);
    inside();
    path_.resize(before);
  }

  std::string path_;
};

// ---- values ----

// Returns the value of a choice. The first two are just outside the range; then its edges, values just inside
// them, and numbers that are difficult for arithmetic. Other choices are log-uniform.
constexpr std::size_t kEdges = 22;
double value_of(const NumberField& field, uint8_t choice) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (choice == 0) return field.is_integer ? field.min - 1 : std::nextafter(field.min, -kInfinity);
  if (choice == 1) return field.is_integer ? field.max + 1 : std::nextafter(field.max, kInfinity);
  const double edges[kEdges - 2] = {field.min,
                                    field.max,
                                    std::nextafter(field.min, kInfinity),
                                    std::nextafter(field.max, -kInfinity),
                                    field.min + 1,
                                    field.max - 1,
                                    2 * field.min,
                                    field.max / 2,
                                    std::numeric_limits<double>::denorm_min(),
                                    std::numeric_limits<double>::min(),
                                    -0.0,
                                    1e-300,
                                    1e-9,
                                    0.1,
                                    2.0 / 3,
                                    1.0,
                                    3.0,
                                    7919.0,
                                    1e15,
                                    1e18};
  double value = 0;
  if (choice < kEdges) {
    value = edges[choice - 2];
  } else {
    const double least = std::max(field.min, 1e-12), most = std::max(least, field.max);
    const double share = static_cast<double>(choice - kEdges) / static_cast<double>(255 - kEdges);
    value = std::exp(std::log(least) + share * (std::log(most) - std::log(least)));
  }
  if (field.is_integer) value = std::round(value);
  return std::clamp(value, field.min, field.max);
}

struct Change {
  std::string pointer;
  Json value;
};

struct Edge {
  std::size_t base = 0;
  std::vector<std::pair<std::size_t, uint8_t>> changes;  // number of the field, choice
};

Edge edge_of(std::string_view bytes) {
  const auto byte = [&](std::size_t i) -> std::size_t {
    return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0;
  };
  Edge edge{.base = 1 + (byte(0) + 256 * byte(1)) % kBases, .changes = {}};
  for (std::size_t i = 2; i + 3 <= bytes.size() && edge.changes.size() < kMostChanges; i += 3) {
    edge.changes.emplace_back(byte(i) + 256 * byte(i + 1), static_cast<uint8_t>(byte(i + 2)));
  }
  return edge;
}

struct Changed {
  Json scenario;
  std::vector<Change> changes;
};

Changed changed(std::string_view bytes) {
  const Edge edge = edge_of(bytes);
  Scenario base = parse_scenario(scenario_json(edge.base), "edge", {});
  NumberFields fields;
  describe(fields, base);
  Changed result{parse_json(base.resolved_json, "edge"), {}};
  for (const auto& [number, choice] : edge.changes) {
    const NumberField& field = fields.found[number % fields.found.size()];
    const double value = value_of(field, choice);
    const bool is_whole = field.is_integer && std::abs(value) <= kMaxInteger;
    const Json json = is_whole ? Json(static_cast<int64_t>(value)) : Json(value);
    result.scenario[Json::json_pointer(field.pointer)] = json;
    result.changes.push_back({field.pointer, json});
  }
  Json& sessions = result.scenario["workload"]["sessions"];
  if (sessions.is_null() || sessions > kMostSessions) sessions = kMostSessions;
  return result;
}

// ---- runs ----

// True iff the run is within the budget, not counting work that preemptions and failures repeat.
bool is_within_budget(const Scenario& scenario, const Workload& workload) {
  double steps = 0, longest = 0;
  const auto budget_tokens = static_cast<double>(scenario.serving.max_num_batched_tokens);
  for (const Session& session : workload.sessions) {
    const std::vector<int64_t> histories = workload.histories_of(session);
    for (std::size_t i = 0; i < session.turn_count; ++i) {
      const Turn& turn = workload.turns[session.first_turn + i];
      const double tokens = static_cast<double>(histories[i]) + turn.input_tokens + turn.output_tokens;
      steps += turn.output_tokens + tokens / budget_tokens;
      longest = std::max(longest, tokens);
    }
  }
  const auto turns = static_cast<double>(workload.turns.size());
  return steps < kMostSteps &&
         turns * longest < kMostBlocks * static_cast<double>(scenario.serving.block_size) &&
         turns * static_cast<double>(scenario.model.num_hidden_layers) < kMostLayers &&
         scenario.fleet.replicas <= kMostReplicas;
}

// Runs the scenario in its own process; returns the broken law or failure, empty if none.
std::string run(std::string_view bytes) {
  const rlimit cpu{kMostCpu_s, kMostCpu_s};
  setrlimit(RLIMIT_CPU, &cpu);
  const uint64_t base = edge_of(bytes).base;
  const Scenario scenario = parse_scenario(edge_scenario(bytes), "edge", {});
  Workload workload = make_workload(scenario.workload, scenario.seed);
  vary(workload, scenario.policy, base);
  if (!is_within_budget(scenario, workload)) return std::string(kSkipped);
  const RunResult result = simulate(scenario, workload, {.check_invariants = true});
  requests_csv(result.turns, [](std::string_view) {});
  if (result_table({result.policy}, {result}, {}, "").empty()) return "the table is empty";
  sentences({{{result.policy, &result}}, {}});
  if (!nlohmann::json::accept(result_json(result))) return "the result is no JSON";
  if (serialize(deserialize(serialize(result))) != serialize(result))
    return "the result is not read as it was written";
  return broken_law(result);
}

// Returns the finding without the changes that it does not need.
EdgeFinding reduced(EdgeFinding finding, const EdgeOptions& options) {
  const EdgeOptions once{.at_once = 1, .reduces = false, .at_end = options.at_end};
  for (std::size_t i = 2; i + 3 <= finding.bytes.size();) {
    std::string less = finding.bytes;
    less.erase(i, 3);
    const EdgeTally tally = run_edges({less}, once);
    if (tally.findings.empty()) {
      i += 3;
    } else {
      finding = tally.findings.front();
    }
  }
  return finding;
}

}  // namespace

std::string edge_scenario(std::string_view bytes) { return changed(bytes).scenario.dump(2); }

std::string edge_bytes(uint64_t number) {
  const RandomStream random(number, "edge values");
  const auto below = [&](uint64_t i, std::size_t n) {
    return static_cast<std::size_t>(random.uniform(i) * static_cast<double>(n));
  };
  std::string bytes(2 + 3 * (1 + below(0, 4)), '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(below(i + 1, 256));
  // Half of the values are chosen to be edges.
  for (std::size_t i = 4; i < bytes.size(); i += 3) {
    if (below(i + 100, 2) == 0) bytes[i] = static_cast<char>(below(i + 200, kEdges));
  }
  return bytes;
}

std::string edge_changes(std::string_view bytes) {
  std::string text = "scenario " + std::to_string(edge_of(bytes).base);
  for (const Change& change : changed(bytes).changes)
    text += " " + change.pointer + "=" + change.value.dump();
  return text;
}

EdgeTally run_edges(const std::vector<std::string>& all_bytes, const EdgeOptions& options) {
  EdgeTally tally;
  const auto job = [&](std::size_t i, std::atomic<int64_t>&) {
    std::string what;
    std::optional<InputError> refusal;
    try {
      what = run(all_bytes[i]);
    } catch (const InputError& error) {
      refusal = error;
    }
    if (options.at_end) options.at_end();
    if (refusal) throw *refusal;
    return what;
  };
  const auto ended = [&](const std::vector<JobOutcome>& outcomes) {
    for (const JobOutcome& outcome : outcomes) {
      if (outcome.end == JobEnd::bad_input) {
        ++tally.refused;
        if (outcome.text.empty() || outcome.text.find('\n') != std::string::npos) {
          tally.findings.push_back({all_bytes[outcome.job], "a refusal of several lines: " + outcome.text});
        }
      } else if (outcome.end == JobEnd::done && outcome.text == kSkipped) {
        ++tally.skipped;
      } else if (outcome.end == JobEnd::done && outcome.text.empty()) {
        ++tally.ran;
      } else {
        tally.findings.push_back({all_bytes[outcome.job], outcome.text});
      }
    }
  };
  run_each_in_worker(all_bytes.size(), job, ended,
                     {.at_once = options.at_once, .timeout_s = kEdgeTimeout_s, .label = "soaking"});
  if (options.reduces) {
    for (EdgeFinding& finding : tally.findings) finding = reduced(finding, options);
  }
  return tally;
}

}  // namespace kvcap::soak
