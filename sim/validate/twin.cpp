#include "validate/twin.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "base/embedded.h"
#include "base/files.h"
#include "base/input_error.h"
#include "base/json_document.h"
#include "metrics/format.h"
#include "metrics/quantiles.h"
#include "plan/workers.h"
#include "run/simulate.h"
#include "scenario/fields.h"
#include "scenario/load.h"
#include "workload/stored_contexts.h"

namespace kvcap {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFolder = "hwprofiles/twins/";
constexpr double kLeastNoise = 0.02;  // of a time, below which no two are said to differ

std::vector<double> errors_of(const std::vector<TwinOutcome>& outcomes, bool with_sign) {
  std::vector<double> errors;
  for (const TwinOutcome& one : outcomes) {
    errors.push_back(with_sign ? one.error() : std::abs(one.error()));
  }
  std::sort(errors.begin(), errors.end());
  return errors;
}

double quantile_of(const std::vector<double>& sorted, double q) {
  return sorted.empty() ? std::nan("") : quantile_of_sorted(sorted, q);
}

Check in_range(const std::string& id, const std::string& what, double value, double low, double high) {
  Check check;
  check.id = id;
  check.suite = "twin";
  check.what = what;
  check.claim = Claim::range;
  check.simulated = {value};
  check.reference = {low, high};
  check.absolute = true;
  check.tolerance = 0;
  check.promised = true;
  judge(check);
  return check;
}

Check remark(const std::string& id, const std::string& what, std::vector<double> numbers,
             const std::string& reason) {
  Check check;
  check.id = id;
  check.suite = "twin";
  check.what = what;
  check.simulated = std::move(numbers);
  check.reason = reason;
  return check;
}

std::string summary(const std::vector<TwinOutcome>& outcomes) {
  const std::vector<double> errors = errors_of(outcomes, false);
  return std::to_string(outcomes.size()) + " cases, error " + format_percent(quantile_of(errors, 0.5)) +
         " in the median, " + format_percent(quantile_of(errors, 0.9)) + " at the 90th percentile, bias " +
         format_percent(quantile_of(errors_of(outcomes, true), 0.5));
}

// ---- reading ----

// A row of the table: contexts restored at once.
struct TwinCase {
  Json policy;             // "policy" of a scenario
  std::string model_name;  // in the table
  Json model;              // of a scenario
  std::string tier;        // where contexts lie; empty for recomputation
  StoredContexts contexts;
  double measured_s = 0;  // mean TTFT
  double spread = 0;      // of its repeats
  std::string label;      // "hcache+kv"

  std::string setting() const {
    return model_name + "/" + std::to_string(contexts.tokens) + "/" + std::to_string(contexts.count) + "/" +
           tier;
  }
};

std::string label_of(const Json& policy) {
  std::string label = policy.at("name");
  if (policy.value("recomputed_layers", 0) > 0) label += "+recompute";
  if (policy.value("kv_layers", 0) > 0) label += "+kv";
  return label;
}

// Throws InputError, and nlohmann's where a field is missing or of another type.
double number_of(const Json& object, const char* key, double least, double most) {
  const double number = object.at(key).get<double>();
  if (number >= least && number <= most) return number;
  throw InputError(std::string(key) + ": found " + object.at(key).dump() + ", allowed: a number from " +
                   number_text(least) + " to " + number_text(most));
}

TwinCase read_case(const Json& table, const Json& one) {
  const auto count = [&](const char* key) { return static_cast<int64_t>(number_of(one, key, 1, 1e7)); };
  TwinCase read{
      .policy = {{"name", one.at("policy").get<std::string>()}},
      .model_name = one.at("model"),
      .model = table.at("models").at(one.at("model").get<std::string>()),
      .tier = one.at("policy") == "recompute" ? "" : one.at("tier"),
      .contexts = {.count = count("requests"), .tokens = count("tokens"), .new_tokens = count("new_tokens")},
      .measured_s = number_of(one.at("mean_ttft_s"), "minimum", 1e-9, 1e9),
      .spread = number_of(one.at("mean_ttft_s"), "spread", 0, 1e9)};
  if (!read.tier.empty() && read.tier != "dram" && read.tier != "ssd") {
    throw InputError("tier: found " + one.at("tier").dump() + ", allowed: dram, ssd");
  }
  read.policy.update(one.at("options"));
  read.label = label_of(read.policy);
  return read;
}

std::vector<TwinCase> read_cases(const Json& table) {
  std::vector<TwinCase> cases;
  for (const Json& one : table.at("cases")) {
    const std::string where = "cases[" + std::to_string(cases.size()) + "]: ";
    try {
      cases.push_back(read_case(table, one));
    } catch (const nlohmann::json::exception& error) {
      throw InputError(where + json_reason(error.what()));
    } catch (const InputError& error) {
      throw InputError(where + error.what());
    }
  }
  return cases;
}

// ---- predicting ----

double predicted_s(const TwinCase& one, const std::string& hardware) {
  const StoredContexts& contexts = one.contexts;
  const int64_t length = contexts.tokens + contexts.new_tokens;
  const Json text = {{"schema", "kvcap.scenario/1"},
                     {"name", "twin"},
                     {"model", one.model},
                     {"hardware", hardware},
                     {"serving",
                      {{"host_times", "none"},
                       {"max_num_batched_tokens", length},
                       {"max_model_len", length + 1},
                       {"kv_capacity_tokens", 2 * (contexts.count + 1) * (length + 16)}}},
                     {"workload", {{"source", {{"kind", "chat"}}}}},
                     {"policy", one.policy},
                     {"fidelity", "layer"}};
  Scenario scenario = parse_scenario(text.dump(), "twin", {});
  scenario.policy.tiers = {{.kind = one.tier == "ssd" ? Tier::ssd : Tier::dram}};
  const RunResult result = simulate(scenario, requests_at_once(contexts));
  double sum_s = 0;
  for (const TurnRecord& turn : result.turns) sum_s += turn.ttft_s;
  return sum_s / static_cast<double>(contexts.count);
}

std::vector<Check> checks_of_table(const std::string& text, const std::string& path,
                                   const std::string& hardware) {
  std::string name, profile, backend;
  std::vector<TwinCase> cases;
  const Json table = read_json<Json>(text, path);
  try {
    if (table.value("schema", "") != "kvcap.twin/1") {
      throw InputError("schema: found \"" + table.value("schema", "") + "\", allowed: kvcap.twin/1");
    }
    name = table.at("hardware");
    profile = hardware.empty() ? name : hardware;
    backend = table.at("backend");
    cases = read_cases(table);
  } catch (const nlohmann::json::exception& error) {
    throw InputError(path + ": " + json_reason(error.what()));
  } catch (const InputError& error) {
    throw InputError(path + ": " + error.what());
  }
  const std::vector<std::string> predictions =
      run_in_workers(cases.size(),
                     [&](std::size_t i, std::atomic<int64_t>& done) {
                       char number[40];
                       std::snprintf(number, sizeof number, "%.17g", predicted_s(cases[i], profile));
                       ++done;
                       return std::string(number);
                     },
                     {.total_units = static_cast<int64_t>(cases.size()), .label = "predicting"});
  std::vector<TwinOutcome> outcomes;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    outcomes.push_back({.policy = cases[i].label,
                        .setting = cases[i].setting(),
                        .measured_s = cases[i].measured_s,
                        .spread = cases[i].spread,
                        .predicted_s = std::stod(predictions[i])});
  }
  return judge_twin(name, outcomes, backend == "cpu" ? kCpuPromise : kGpuPromise);
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
      // What needs no tier, recomputation, stands beside those of every tier.
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
  const std::vector<double> errors = errors_of(quiet, false);
  std::vector<Check> checks;
  checks.push_back(in_range(name + ".median_error", "median of |predicted / measured - 1|",
                            quantile_of(errors, 0.5), 0, promise.median_error));
  checks.push_back(in_range(name + ".p90_error", "90th percentile of |predicted / measured - 1|",
                            quantile_of(errors, 0.9), 0, promise.p90_error));
  for (const auto& [policy, some] : by_policy) {
    checks.push_back(in_range(name + ".bias." + policy, "median of predicted / measured - 1",
                              quantile_of(errors_of(some, true), 0.5), -kMostBias, kMostBias));
  }
  const TwinRanking ranking = rank(quiet);
  checks.push_back(in_range(name + ".ranking",
                            "pairs of policies in the right order, of those that differ by more than noise",
                            ranking.share(), kRightlyRanked, 1));
  checks.push_back(in_range(name + ".cases", "cases that nothing disturbed",
                            static_cast<double>(quiet.size()), static_cast<double>(promise.least_cases),
                            static_cast<double>(outcomes.size())));
  for (const auto& [policy, some] : by_policy) {
    checks.push_back(remark(name + ".policy." + policy, "mean TTFT of " + policy + "'s cases, in seconds",
                            {static_cast<double>(some.size())}, summary(some)));
    for (const TwinOutcome& one : some) checks.back().cases.push_back({one.predicted_s, one.measured_s});
  }
  checks.push_back(remark(name + ".pairs", "pairs of policies compared", {static_cast<double>(ranking.pairs)},
                          std::to_string(ranking.right) + " of " + std::to_string(ranking.pairs) +
                              " pairs of policies are in the right order"));
  if (!noisy.empty()) {
    checks.push_back(remark(name + ".noisy", "cases whose repeats spread too far",
                            {static_cast<double>(noisy.size())},
                            "left out above, for their repeats spread by more than " +
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
