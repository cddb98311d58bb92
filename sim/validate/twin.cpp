#include "validate/twin.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "base/embedded.h"
#include "base/files.h"
#include "base/input_error.h"
#include "base/read_fields.h"
#include "base/text/format.h"
#include "base/text/joined.h"
#include "base/text/json_document.h"
#include "metrics/statistics/quantiles.h"
#include "plan/values_in_workers.h"
#include "policy/key_table.h"
#include "run/simulate.h"
#include "scenario/load.h"
#include "spec/tiers.h"
#include "workload/generators/stored_contexts.h"

namespace kvcap {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFolder = "hwprofiles/twins/";
constexpr double kLeastNoise = 0.02;  // relative; smaller differences count as noise

// Returns a quantile of the errors' magnitudes, or of the signed errors.
double error_quantile(const std::vector<TwinOutcome>& outcomes, double q, bool with_sign = false) {
  std::vector<double> errors;
  for (const TwinOutcome& one : outcomes) errors.push_back(with_sign ? one.error() : std::abs(one.error()));
  return quantile_of(std::move(errors), q);
}

// Returns the check of a number that must lie in a range.
Check in_range(const std::string& id, const std::string& what, double value, double low, double high) {
  Check check{.id = id,
              .suite = "twin",
              .what = what,
              .claim = Claim::range,
              .simulated = {value},
              .reference = {low, high},
              .tolerance = 0,
              .absolute = true,
              .promised = true};
  judge(check);
  return check;
}

// Returns a check that only reports a number, without a verdict.
Check remark(const std::string& id, const std::string& what, double number, const std::string& reason) {
  return {.id = id, .suite = "twin", .what = what, .simulated = {number}, .reason = reason};
}

std::string summary(const std::vector<TwinOutcome>& outcomes) {
  return std::to_string(outcomes.size()) + " cases, error " + format_percent(error_quantile(outcomes, 0.5)) +
         " in the median, " + format_percent(error_quantile(outcomes, 0.9)) +
         " at the 90th percentile, bias " + format_percent(error_quantile(outcomes, 0.5, true));
}

}  // namespace

// The fields of a table in hwprofiles/twins/. The namespace has a name so that its describe() functions do
// not hide kvcap::describe().
namespace twin_file {

struct MeasuredTime {
  double minimum_s = 0, median_s = 0;
  double spread = 0;  // spread of the repeats
  std::vector<double> repeats_s;
};

// A row of the table: a measurement of contexts that were restored concurrently.
struct TwinCase {
  std::string policy, model;  // model: a key of the table's models
  std::string tier;           // tier of the stored contexts; not used by recompute
  StoredContexts contexts;
  MeasuredTime mean_ttft;
  Json options = Json::object();  // policy options
  PolicyOptions read_options;     // parsed `options`

  bool has_tier() const { return policy != "recompute"; }
  Tier stored_in() const { return has_tier() && tier == "ssd" ? Tier::ssd : Tier::dram; }
  std::string setting() const {
    return model + "/" + std::to_string(contexts.tokens) + "/" + std::to_string(contexts.count) + "/" +
           (has_tier() ? tier : "");
  }
  // Returns the policy with the division of its layers: "hcache+kv".
  std::string label() const {
    return policy + (read_options.recomputed_layers.value_or(0) > 0 ? "+recompute" : "") +
           (read_options.kv_layers.value_or(0) > 0 ? "+kv" : "");
  }
};

struct TwinOptions {
  PolicyOptions policy;
};

struct TwinTable {
  std::string hardware, backend, kind, source;
  int64_t repeats = 1;
  std::map<std::string, Json> models;
  std::vector<TwinCase> cases;
};

constexpr std::string_view kTwinTiers[] = {"dram", "ssd"};

FieldSpec time_spec(std::string_view meaning, bool required) {
  return {.meaning = meaning, .unit = "s", .min = 1e-9, .max = 1e9, .required = required};
}

void describe(FieldVisitor& v, MeasuredTime& o) {
  v.field("minimum", o.minimum_s, time_spec("minimum of the repeats, which is compared", true));
  v.field("median", o.median_s, time_spec("median of the repeats", false));
  v.field("spread", o.spread,
          {.meaning = "spread of the repeats, as a share of the minimum",
           .min = 0,
           .max = 1e9,
           .required = true});
  v.field("repeats", o.repeats_s, time_spec("time of each repeat", false));
}

void describe(FieldVisitor& v, TwinOptions& o) {
  for_each_policy_key([&](const auto& key) {
    if constexpr (!std::is_same_v<decltype(key.value), decltype(&PolicyOptions::tiers)>) {
      v.field(key.name, o.policy.*key.value, key.spec);
    }
  });
}

void describe(FieldVisitor& v, TwinCase& o) {
  const auto count = [](std::string_view meaning) {
    return FieldSpec{.meaning = meaning, .min = 1, .max = 1e7, .required = true};
  };
  v.field("policy", o.policy, {.meaning = "policy that restored the contexts", .required = true});
  v.field("options", o.options, {.meaning = "options of the policy", .required = true});
  v.field("model", o.model, {.meaning = "one of models", .required = true});
  v.field("tokens", o.contexts.tokens, count("tokens per context"));
  v.field("new_tokens", o.contexts.new_tokens, count("prompt tokens after the context"));
  v.field("tier", o.tier,
          {.meaning = "tier of the stored contexts", .required = true, .allowed = kTwinTiers});
  v.field("requests", o.contexts.count, count("concurrent requests"));
  v.field("mean_ttft_s", o.mean_ttft, {.meaning = "measured mean TTFT", .required = true});
}

void describe(FieldVisitor& v, TwinTable& o) {
  v.schema("kvcap.twin/1", true);
  v.field("hardware", o.hardware,
          {.meaning = "profile of the machine, used for predictions", .required = true});
  v.field("backend", o.backend, {.meaning = "cpu or cuda", .required = true});
  v.group("provenance", {.meaning = "where the times come from"}, [&o](FieldVisitor& in) {
    in.field("kind", o.kind, {.meaning = "measured"});
    in.field("source", o.source, {.meaning = "the program and the machine"});
  });
  v.field("repeats", o.repeats, {.meaning = "repeats per case", .min = 1, .max = 1e6});
  v.field("models", o.models, {.meaning = "by name", .required = true});
  v.field("cases", o.cases, {.meaning = "what was measured", .required = true});
}

}  // namespace twin_file

namespace {

using namespace twin_file;

TwinTable read_table(const std::string& text, const std::string& path) {
  auto table = read_fields<TwinTable>(read_json<Json>(text, path), path);
  std::vector<std::string_view> models;
  for (const auto& [name, model] : table.models) models.push_back(name);
  for (std::size_t i = 0; i < table.cases.size(); ++i) {
    TwinCase& one = table.cases[i];
    const std::string place = "cases." + std::to_string(i) + ".";
    if (!table.models.contains(one.model)) {
      refuse_field(path + ": " + place + "model", one.model, joined(models) + suggestion(one.model, models));
    }
    one.read_options = read_fields<TwinOptions>(one.options, path, place + "options").policy;
  }
  return table;
}

// Throws InputError if a case restores from a tier that the hardware does not have.
void require_tiers(const TwinTable& table, const std::string& path, const std::string& hardware) {
  const HardwareProfile profile = load_hardware(hardware);
  for (std::size_t i = 0; i < table.cases.size(); ++i) {
    const TwinCase& one = table.cases[i];
    if (!one.has_tier() || has_tier(profile, one.stored_in())) continue;
    refuse_field(path + ": cases." + std::to_string(i) + ".tier", one.tier, "the tiers of " + hardware);
  }
}

// ---- predicting ----

double predicted_s(const TwinCase& one, const Json& model, const std::string& hardware) {
  Json policy = {{"name", one.policy}};
  policy.update(one.options);
  const StoredContexts& contexts = one.contexts;
  const int64_t length = contexts.tokens + contexts.new_tokens;
  const Json text = {{"schema", "kvcap.scenario/1"},
                     {"name", "twin"},
                     {"model", model},
                     {"hardware", hardware},
                     {"serving",
                      {{"host_times", "none"},
                       {"max_num_batched_tokens", length},
                       {"max_model_len", length + 1},
                       {"kv_capacity_tokens", 2 * (contexts.count + 1) * (length + 16)}}},
                     {"workload", {{"source", {{"kind", "chat"}}}}},
                     {"policy", policy},
                     {"fidelity", "layer"}};
  Scenario scenario = parse_scenario(text.dump(), "twin", {});
  scenario.policy.tiers = {{.kind = one.stored_in()}};
  const RunResult result = simulate(scenario, requests_at_once(contexts));
  double sum_s = 0;
  for (const TurnRecord& turn : result.turns) sum_s += turn.ttft_s;
  return sum_s / static_cast<double>(contexts.count);
}

std::vector<Check> checks_of_table(const std::string& text, const std::string& path,
                                   const std::string& hardware) {
  const TwinTable table = read_table(text, path);
  const std::string& profile = hardware.empty() ? table.hardware : hardware;
  require_tiers(table, path, profile);
  const std::vector<std::vector<double>> predictions = values_in_workers<double>(
      table.cases.size(),
      [&](std::size_t i, std::atomic<int64_t>& done) {
        const TwinCase& one = table.cases[i];
        ++done;
        return std::vector{predicted_s(one, table.models.at(one.model), profile)};
      },
      {.total_units = static_cast<int64_t>(table.cases.size()), .label = "predicting"});
  std::vector<TwinOutcome> outcomes;
  for (std::size_t i = 0; i < table.cases.size(); ++i) {
    const TwinCase& one = table.cases[i];
    outcomes.push_back({.policy = one.label(),
                        .setting = one.setting(),
                        .measured_s = one.mean_ttft.minimum_s,
                        .spread = one.mean_ttft.spread,
                        .predicted_s = predictions[i].front()});
  }
  return judge_twin(table.hardware, outcomes, table.backend == "cpu" ? kCpuPromise : kGpuPromise);
}

}  // namespace

TwinRanking rank(const std::vector<TwinOutcome>& outcomes) {
  TwinRanking ranking;
  const auto noise_s = [](const TwinOutcome& one) {
    return one.measured_s * std::max(one.spread, kLeastNoise);
  };
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    for (std::size_t j = i + 1; j < outcomes.size(); ++j) {
      const TwinOutcome& a = outcomes[i];
      const TwinOutcome& b = outcomes[j];
      // A case of recompute has no tier; it is compared with the cases of every tier.
      const bool together =
          a.setting.ends_with("/")
              ? b.setting.starts_with(a.setting)
              : b.setting == a.setting || (b.setting.ends_with("/") && a.setting.starts_with(b.setting));
      if (!together || a.policy == b.policy) continue;
      const double difference_s = a.measured_s - b.measured_s;
      if (std::abs(difference_s) <= std::max(noise_s(a), noise_s(b))) continue;
      ++ranking.pairs;
      if ((difference_s > 0) == (a.predicted_s > b.predicted_s)) ++ranking.right;
    }
  }
  return ranking;
}

std::vector<Check> judge_twin(const std::string& name, const std::vector<TwinOutcome>& outcomes,
                              const TwinPromise& promise) {
  std::vector<TwinOutcome> quiet, noisy;
  std::map<std::string, std::vector<TwinOutcome>> by_policy;
  for (const TwinOutcome& one : outcomes) {
    (one.spread > kMostSpread ? noisy : quiet).push_back(one);
    if (one.spread <= kMostSpread) by_policy[one.policy].push_back(one);
  }
  std::vector<Check> checks = {in_range(name + ".median_error", "median of |predicted / measured - 1|",
                                        error_quantile(quiet, 0.5), 0, promise.median_error),
                               in_range(name + ".p90_error", "90th percentile of |predicted / measured - 1|",
                                        error_quantile(quiet, 0.9), 0, promise.p90_error)};
  for (const auto& [policy, some] : by_policy) {
    checks.push_back(in_range(name + ".bias." + policy, "median of predicted / measured - 1",
                              error_quantile(some, 0.5, true), -promise.most_bias, promise.most_bias));
  }
  const TwinRanking ranking = rank(quiet);
  checks.push_back(in_range(name + ".ranking",
                            "pairs of policies in the right order, of those that differ by more than noise",
                            ranking.share(), promise.rightly_ranked, 1));
  checks.push_back(in_range(name + ".cases", "undisturbed cases", static_cast<double>(quiet.size()),
                            static_cast<double>(promise.least_cases), static_cast<double>(outcomes.size())));
  for (const auto& [policy, some] : by_policy) {
    checks.push_back(remark(name + ".policy." + policy, "mean TTFT of " + policy + "'s cases, in seconds",
                            static_cast<double>(some.size()), summary(some)));
    checks.back().cases_of = policy;
    for (const TwinOutcome& one : some) checks.back().cases.push_back({one.predicted_s, one.measured_s});
  }
  checks.push_back(remark(name + ".pairs", "pairs of policies compared", ranking.pairs,
                          std::to_string(ranking.right) + " of " + std::to_string(ranking.pairs) +
                              " pairs of policies are in the right order"));
  if (!noisy.empty()) {
    checks.push_back(remark(name + ".noisy", "cases whose repeats spread too far",
                            static_cast<double>(noisy.size()),
                            "excluded above because their repeats spread by more than " +
                                format_percent(kMostSpread) + ": " + summary(noisy)));
  }
  return checks;
}

std::vector<Check> twin_checks() {
  std::vector<Check> checks;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with(kFolder)) continue;
    std::vector<Check> more = checks_of_table(std::string(file.text), std::string(file.path), "");
    checks.insert(checks.end(), more.begin(), more.end());
  }
  return checks;
}

std::vector<Check> twin_checks_of(const std::string& path, const std::string& hardware) {
  return checks_of_table(read_text(path), path, hardware);
}

}  // namespace kvcap
