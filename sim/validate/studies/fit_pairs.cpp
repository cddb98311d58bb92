#include "validate/studies/fit_pairs.h"

#include <array>
#include <cmath>
#include <cstdio>

#include "fit/distances.h"
#include "fit/fit.h"
#include "metrics/statistics/quantiles.h"
#include "plan/values_in_workers.h"
#include "run/simulate.h"
#include "validate/studies/lab.h"
#include "validate/studies/study_rows.h"
#include "workload/generators/named_workloads.h"

namespace kvcap {
namespace {

constexpr std::size_t kStages = 2;  // rates
constexpr double kStage_s = 600;    // duration of each rate
// The means of TTFT, TPOT and end-to-end latency at the first rate, then the same at the second rate.
using StageMeans = std::vector<double>;
constexpr std::size_t kMeans = kStages * kTimes.size();

StageMeans means_of(const FitRun& run, const std::vector<RequestTimes>& times) {
  StageMeans means(kMeans);
  std::array<double, kStages> requests{};
  for (std::size_t turn = 0; turn < times.size(); ++turn) {
    const std::size_t stage = run.workload.turns[turn].time_s < kStage_s ? 0 : 1;
    requests[stage] += 1;
    for (std::size_t k = 0; k < kTimes.size(); ++k)
      means[stage * kTimes.size() + k] += times[turn].*kTimes[k];
  }
  for (std::size_t i = 0; i < kMeans; ++i) means[i] /= requests[i / kTimes.size()];
  return means;
}

// The means of a measured run and of two simulations of it: with the unfitted profile, and with the
// parameters that were fitted to the other workload of the same model.
struct FitOutcome {
  StageMeans measured, untuned, fitted;

  double error(const StageMeans& simulated, std::size_t i) const {
    return std::abs(simulated[i] / measured[i] - 1);
  }
};

std::vector<FitOutcome> outcomes_of(const std::vector<FitRun>& runs, const std::vector<FitAnswer>& fits) {
  const std::vector<StageMeans> simulated =
      values_in_workers<double>(2 * runs.size(), [&](std::size_t job, std::atomic<int64_t>&) {
        const FitRun& run = runs[job / 2];
        const FitAnswer& answer = fits[job / 2];
        const Scenario scenario = job % 2 == 0 ? run.scenario : scenario_at(run, answer.parameters, answer.x);
        return means_of(run, simulated_times(run, simulate(scenario, run.workload)));
      });
  std::vector<FitOutcome> outcomes;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    outcomes.push_back({means_of(runs[i], measured_times(runs[i])), simulated[2 * i], simulated[2 * i + 1]});
  }
  return outcomes;
}

Check begin(const std::string& id, const std::string& what) {
  return {.id = "fit." + id,
          .suite = "fit",
          .what = what,
          .tuned = {"an engine's parameters to the same model's other workload"}};
}

// Returns a check that the median of the errors is at most `most`. The check is part of the accuracy that
// README states.
Check median_check(const std::string& id, const std::string& what, const std::vector<double>& errors,
                   double most) {
  Check check = begin(id, what);
  check.claim = Claim::at_most;
  check.promised = true;
  check.simulated = {quantile_of(errors, 0.5)};
  check.reference = {most};
  judge(check);
  return check;
}

// Like snprintf(), but returns the text.
template <class... Numbers>
std::string printed(const char* format, Numbers... numbers) {
  char text[96];
  std::snprintf(text, sizeof text, format, numbers...);
  return text;
}

Check stage_check(const FitRun& run, const std::string& other, std::size_t stage, const FitOutcome& outcome) {
  const std::string order = stage == 0 ? "lower" : "higher";
  const std::size_t first = stage * kTimes.size();
  const double* untuned = &outcome.untuned[first];
  Check check =
      begin(run.scenario.model.name + "." + run.name.substr(run.name.find(' ') + 1) + "." + order,
            run.name + ", the " + order + " rate, fitted to " + other +
                ": mean TTFT, TPOT and end to end, ms; untuned " +
                printed("%.1f / %.2f / %.0f", 1e3 * untuned[0], 1e3 * untuned[1], 1e3 * untuned[2]));
  check.exact_tolerance = 0.03;
  check.tolerance = 0.1;
  for (std::size_t i = first; i < first + kTimes.size(); ++i) {
    check.simulated.push_back(1e3 * outcome.fitted[i]);
    check.reference.push_back(1e3 * outcome.measured[i]);
    check.cases.push_back({check.simulated.back(), check.reference.back()});
  }
  judge(check);
  if (check.verdict != Agreement::inside && stage == 1 &&
      outcome.fitted[first] > 1.5 * outcome.measured[first]) {
    check.reason =
        "at this rate all sequence slots are taken at times, and an error of a few per cent in TPOT changes "
        "that queue";
  }
  return check;
}

// Returns the run as a log that does not record the texts of prompts would describe it.
FitRun without_texts(FitRun run) {
  run.workload.pieces.clear();
  run.workload.piece_begin.clear();
  run.hits = hits_in_ttft(run.scenario, run.workload, run.measured);
  return run;
}

// Returns a check of the first model. Each of its two workloads is fitted without the texts of its prompts,
// and the fit is evaluated on the other workload with the texts.
Check hits_check(const std::vector<FitRun>& runs) {
  const std::vector<FitRun> pair(runs.begin(), runs.begin() + 2);
  std::vector<FitAnswer> fits;
  std::string shares;
  for (std::size_t i = 0; i < pair.size(); ++i) {
    fits.push_back(fit({without_texts(pair[i ^ 1])}));
    for (const FitEstimate& one : fits.back().estimates) {
      if (one.parameter.of_run.empty()) continue;
      const auto [low, high] = one.interval();
      shares += printed(" %.2f (%.2f to %.2f)", one.parameter.value_of(one.x), low, high);
    }
  }
  std::vector<double> errors;
  for (const FitOutcome& outcome : outcomes_of(pair, fits)) {
    for (std::size_t stage = 0; stage < kStages; ++stage)
      errors.push_back(outcome.error(outcome.fitted, stage * kTimes.size()));
  }
  return median_check("hits",
                      pair[0].scenario.model.name +
                          " fitted to the other workload's log without its texts, hit shares" + shares +
                          ": TTFT, error of the mean, median over 4 stages",
                      errors, 0.12);
}

}  // namespace

// The runs of the study vllm_h100, two consecutive workloads per model.
std::vector<FitRun> vllm_h100_fit_runs(const std::string& data) {
  const auto log_time_s = [](const TableRow& row, const char* column) {
    return 1e-3 * column_number(row, column);
  };
  std::vector<FitRun> runs;
  for (const Study& study : shipped_studies("measured", {.data_folder = data})) {
    if (study.file.find("vllm_h100") == std::string::npos) continue;
    const Lab lab(study.is_shipped);
    for (const std::string model : {"llama_2_7b", "llama_2_70b", "mixtral_8x7b", "codellama_34b"}) {
      for (const std::string workload : {"codegen", "general"}) {
        const StudySetting setting = study.setting.with(study.settings.at(model + "_" + workload));
        if (!setting.missing.empty()) return {};
        const Json request = Json::parse(setting.workload);
        FitRun run{.name = "", .scenario = lab.scenario(setting), .workload = named_workload(request)};
        run.name = run.scenario.model.name + " " + workload;
        for (const TableRow& row : rows_of_table(request.at("path"))) {
          run.measured.push_back({log_time_s(row, "ttft_ms"), log_time_s(row, "e2e_ms")});
        }
        runs.push_back(std::move(run));
      }
    }
  }
  return runs;
}

std::vector<Check> fit_checks(const SuiteOptions& options) {
  const std::string& data = options.data_folder;
  std::vector<FitRun> runs = vllm_h100_fit_runs(data);
  if (options.quick && runs.size() > 2) runs.erase(runs.begin() + 2, runs.end());
  if (runs.empty()) {
    Check missing = begin("runs", "fits to runs of vLLM 0.15.1 on H100s");
    missing.reason = "no " + data + "/runs/vllm-h100 (--data)";
    return {missing};
  }
  std::vector<FitAnswer> fits;  // per run, fitted to the other workload of its model
  for (std::size_t i = 0; i < runs.size(); ++i) fits.push_back(fit({runs[i ^ 1]}));
  const std::vector<FitOutcome> outcomes = outcomes_of(runs, fits);

  std::vector<Check> checks;
  std::array<std::vector<double>, kTimes.size()> fitted, untuned;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (std::size_t stage = 0; stage < kStages; ++stage)
      checks.push_back(stage_check(runs[i], runs[i ^ 1].name, stage, outcomes[i]));
    for (std::size_t m = 0; m < kMeans; ++m) {
      untuned[m % kTimes.size()].push_back(outcomes[i].error(outcomes[i].untuned, m));
      fitted[m % kTimes.size()].push_back(outcomes[i].error(outcomes[i].fitted, m));
    }
  }
  struct Limit {
    const char* label;
    double most;
  };
  constexpr Limit kLimits[] = {{"TTFT", 0.06}, {"TPOT", 0.02}, {"end to end", 0.03}};  // order of kTimes
  for (std::size_t k = 0; k < kTimes.size(); ++k) {
    checks.push_back(
        median_check(kTimeNames[k],
                     "engine fitted to a model's other workload: " + std::string(kLimits[k].label) +
                         ", error of the mean, median over " + std::to_string(fitted[k].size()) + " stages" +
                         printed("; untuned %.2f %%", 100 * quantile_of(untuned[k], 0.5)),
                     fitted[k], kLimits[k].most));
    checks.back().promised = !options.quick;
  }
  checks.push_back(hits_check(runs));
  return checks;
}

}  // namespace kvcap
