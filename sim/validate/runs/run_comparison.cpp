#include "validate/runs/run_comparison.h"

#include <stdlib.h>

#include <cerrno>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "base/input_error.h"
#include "base/text/format.h"
#include "metrics/recorder.h"
#include "observe/scrape.h"
#include "plan/replicate.h"
#include "scenario/load.h"
#include "validate/runs/run_setting.h"

namespace kvcap {
namespace {

constexpr double kComparisonDeviations = 1.96;

Check check_of(const std::string& id, const std::string& what) {
  return {.id = "run." + id, .suite = "run", .what = what, .verdict = Agreement::not_comparable};
}

Check hit_rate_check(const RunEvidence& e) {
  Check check = check_of("token_hit_rate", "token hit rate");
  check.absolute = true;
  check.exact_tolerance = check.tolerance = kHitRateTolerance;
  if (!e.token_hit_rate.known()) {
    check.reason = "the log does not count the tokens that were found";
    return check;
  }
  check.simulated = {e.token_hit_rate.simulated};
  check.reference = {e.token_hit_rate.measured};
  if (e.hits_are_given) {
    check.role = Role::input;
    check.reason =
        "the metrics do not show which requests share which prefix, so the prompts were constructed to have "
        "the "
        "measured hit rate; "
        "--set workload.source.path=REQUESTS makes it a test";
    return check;
  }
  judge(check);
  return check;
}

// Returns the half-width of the 95 % interval of the difference between the simulated and the measured mean,
// for these numbers of requests.
double half_width(const LatencyEvidence& latency, const Both& requests) {
  const double width = kComparisonDeviations * latency.simulated_std_ms *
                       std::sqrt(1 / requests.simulated + 1 / requests.measured);
  return std::isfinite(width) ? width : 0;
}

void add_latency(const std::string& id, const std::string& name, const LatencyEvidence& latency,
                 const Both& requests, std::vector<Check>& checks) {
  const auto add = [&](Check check) {
    check.exact_tolerance = check.tolerance = kLatencyTolerance;
    if (latency.is_measured) {
      judge(check);
      // A quantile outside its bucket, but within the tolerance, is inside.
      if (check.verdict == Agreement::near) check.verdict = Agreement::inside;
    } else {
      check.simulated.clear();
      check.reference.clear();
      check.reason = "the log has no histogram of this latency";
    }
    checks.push_back(std::move(check));
  };
  Check mean = check_of(id + ".mean", name + " mean, ms");
  mean.simulated = {latency.mean_ms.simulated};
  mean.reference = {latency.mean_ms.measured};
  mean.half_width = {half_width(latency, requests)};
  add(mean);
  for (std::size_t i = 0; i < latency.simulated_ms.size(); ++i) {
    const std::string percentile = "p" + std::to_string(std::lround(100 * kJudgedQuantiles[i]));
    Check check = check_of(id + "." + percentile, name + " " + percentile + ", ms");
    check.claim = Claim::range;
    check.simulated = {latency.simulated_ms[i]};
    check.reference = {latency.measured_ms[i].low, latency.measured_ms[i].high};
    add(check);
  }
}

// A temporary folder for the generated requests, used if no scenario is given. The destructor removes it.
class RequestsFolder {
 public:
  RequestsFolder() : path_((std::filesystem::temp_directory_path() / "kvcap-observed-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) throw std::system_error(errno, std::generic_category(), path_);
  }
  ~RequestsFolder() {
    std::error_code none;
    std::filesystem::remove_all(path_, none);
  }
  RequestsFolder(const RequestsFolder&) = delete;
  RequestsFolder& operator=(const RequestsFolder&) = delete;

  std::string file() const { return path_ + "/requests.jsonl"; }

 private:
  std::string path_;
};

std::string header_of(const Observation& observed, const Scenario& scenario) {
  std::string models;
  for (const std::string& one : observed.models) models += " " + one;
  return std::string(kObservedEngineNames[static_cast<std::size_t>(observed.engine)]) + models + ", " +
         format_count(observed.scrapes, "scrape") + " from " + utc_text(observed.from_unix_s) +
         " on, compared with " + scenario.model.name + " on " +
         std::to_string(scenario.serving.tensor_parallel_size) + "x " + scenario.hardware.gpu.name + " (" +
         scenario.hardware.provenance_kind + ")";
}

// Sets the likely cause as the reason of each check that is outside, for readers who see only the checks.
void give_reasons(const std::vector<Cause>& causes, std::vector<Check>& checks) {
  constexpr std::string_view kIds[] = {"run.token_hit_rate", "run.ttft", "run.itl"};
  for (const Cause& cause : causes) {
    for (const FigureGroup group : cause.groups) {
      for (Check& check : checks) {
        const bool is_of_group = check.id.starts_with(kIds[static_cast<std::size_t>(group)]);
        if (is_of_group && check.verdict == Agreement::outside) check.reason = cause.text;
      }
    }
  }
}

}  // namespace

std::vector<Check> run_checks(const RunEvidence& evidence) {
  std::vector<Check> checks = {hit_rate_check(evidence)};
  add_latency("ttft", "TTFT", evidence.ttft, evidence.requests, checks);
  add_latency("itl", "ITL", evidence.itl, evidence.requests, checks);
  return checks;
}

Outside outside_of(const std::vector<Check>& checks) {
  Outside outside;
  for (const Check& one : checks) {
    if (one.verdict != Agreement::outside) continue;
    if (one.id.starts_with("run.token_hit_rate")) outside.hit_rate = true;
    if (one.id.starts_with("run.ttft")) outside.ttft = true;
    if (one.id.starts_with("run.itl")) outside.itl = true;
  }
  return outside;
}

RunComparison compare_with_run(const std::string& log, const std::string& scenario_path,
                               const std::string& hardware, const std::vector<std::string>& overrides) {
  RunComparison comparison;
  comparison.observed = observation_of(read_scrapes({log}));
  const Observation& observed = comparison.observed;
  if (!(observed[Spread::ttft_s].count() > 0) && !(observed[Counter::requests] > 0))
    throw InputError(log + ": no request was served between its scrapes, so there is nothing to compare");
  const RequestsFolder requests;
  RunSetting setting;
  if (scenario_path.empty()) {
    setting = setting_of(observed, hardware, overrides, requests.file());
  } else {
    std::vector<std::string> all = overrides;
    if (!hardware.empty()) all.insert(all.begin(), "hardware=" + hardware);
    setting.scenario = load_scenario(scenario_path, all);
  }
  const RunResult result =
      combine_replications(run_replications({setting.scenario}, {.keep_turns = true}).front());
  comparison.header = header_of(observed, setting.scenario);
  comparison.evidence = evidence_of(observed, result, setting.scenario);
  comparison.evidence.hits_are_given = setting.hits_are_given;
  comparison.checks = run_checks(comparison.evidence);
  comparison.causes = likely_causes(comparison.evidence, outside_of(comparison.checks));
  give_reasons(comparison.causes, comparison.checks);
  comparison.notes = observed.notes;
  if (observed.requests_before > 0) {
    comparison.notes.push_back(
        "the simulation begins with an empty server; the observed server had already answered " +
        format_count(std::llround(observed.requests_before), "request"));
  }
  comparison.notes.insert(comparison.notes.end(), result.notes.begin(), result.notes.end());
  return comparison;
}

}  // namespace kvcap
