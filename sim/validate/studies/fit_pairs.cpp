#include "validate/studies/fit_pairs.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>

#include "fit/distances.h"
#include "fit/fit.h"
#include "metrics/statistics/quantiles.h"
#include "plan/workers.h"
#include "run/simulate.h"
#include "validate/studies/lab.h"
#include "validate/studies/study_rows.h"
#include "validate/studies/workloads.h"

namespace kvcap {
namespace {

constexpr double kStage_s = 600;  // of one rate
using TimeMeans = std::array<double, kTimes.size()>;
using StageMeans = std::array<TimeMeans, 2>;

// Mean TTFT, TPOT and end-to-end latency of the requests of each rate.
StageMeans means_of(const FitRun& run, const std::vector<RequestTimes>& times) {
  StageMeans means{};
  std::array<double, 2> requests{};
  for (std::size_t turn = 0; turn < times.size(); ++turn) {
    const std::size_t stage = run.workload.turns[turn].time_s < kStage_s ? 0 : 1;
    requests[stage] += 1;
    for (std::size_t k = 0; k < kTimes.size(); ++k) means[stage][k] += times[turn].*kTimes[k];
  }
  for (std::size_t stage = 0; stage < means.size(); ++stage) {
    for (double& one : means[stage]) one /= requests[stage];
  }
  return means;
}

// Of each run on its profile as it is, then with what was fitted to its pair.
std::vector<StageMeans> simulate_all(const std::vector<FitRun>& runs, const std::vector<FitAnswer>& fits) {
  const std::vector<std::string> messages =
      run_in_workers(2 * runs.size(), [&](std::size_t job, std::atomic<int64_t>&) {
        const FitRun& run = runs[job / 2];
        const FitAnswer& answer = fits[job / 2];
        const Scenario scenario = job % 2 == 0 ? run.scenario : scenario_at(run, answer.parameters, answer.x);
        const StageMeans means = means_of(run, simulated_times(run, simulate(scenario, run.workload)));
        return std::string(reinterpret_cast<const char*>(&means), sizeof means);
      });
  std::vector<StageMeans> all(messages.size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    messages[i].copy(reinterpret_cast<char*>(&all[i]), sizeof(StageMeans));
  }
  return all;
}

Check begin(const std::string& id, const std::string& what) {
  return {.id = "fit." + id,
          .suite = "fit",
          .what = what,
          .tuned = {"an engine's parameters to the same model's other workload"}};
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return quantile_of_sorted(values, 0.5);
}

std::string triple(const TimeMeans& means) {
  char text[80];
  std::snprintf(text, sizeof text, "%.1f / %.2f / %.0f", 1e3 * means[0], 1e3 * means[1], 1e3 * means[2]);
  return text;
}

Check stage_check(const FitRun& run, const std::string& other, std::size_t stage, const TimeMeans& measured,
                  const TimeMeans& base, const TimeMeans& fitted) {
  const std::string order = stage == 0 ? "lower" : "higher";
  Check check = begin(run.scenario.model.name + "." + run.name.substr(run.name.find(' ') + 1) + "." + order,
                      run.name + ", the " + order + " rate, fitted to " + other +
                          ": mean TTFT, TPOT and end to end, ms; untuned " + triple(base));
  check.exact_tolerance = 0.03;
  check.tolerance = 0.1;
  for (std::size_t k = 0; k < kTimes.size(); ++k) {
    check.simulated.push_back(1e3 * fitted[k]);
    check.reference.push_back(1e3 * measured[k]);
    check.cases.push_back({check.simulated[k], check.reference[k]});
  }
  judge(check);
  if (check.verdict != Agreement::inside && stage == 1 && fitted[0] > 1.5 * measured[0]) {
    check.reason =
        "at this rate all places are taken at times, and a TPOT that is a few per cent off moves that queue";
  }
  return check;
}

Check median_check(std::size_t time, const std::vector<double>& fitted, const std::vector<double>& untuned,
                   double most) {
  static constexpr std::array<const char*, 3> kLabels = {"TTFT", "TPOT", "end to end"};
  char base[64];
  std::snprintf(base, sizeof base, "; untuned %.2f %%", 100 * median_of(untuned));
  Check check =
      begin(kTimeNames[time], "engine fitted to a model's other workload: " + std::string(kLabels[time]) +
                                  ", error of the mean, median over " + std::to_string(fitted.size()) +
                                  " stages" + base);
  check.claim = Claim::at_most;
  check.promised = true;
  check.simulated = {median_of(fitted)};
  check.reference = {most};
  judge(check);
  return check;
}

// As a log would have it that says nothing of its prompts' texts.
FitRun without_texts(FitRun run) {
  run.workload.pieces.clear();
  run.workload.piece_begin.clear();
  run.hits = hits_in_ttft(run.scenario, run.workload, run.measured);
  return run;
}

// Of the first model: fitted to one workload without its texts, judged by the other one with them.
Check hits_check(const std::vector<FitRun>& runs) {
  const std::vector<FitRun> pair(runs.begin(), runs.begin() + 2);
  std::vector<FitAnswer> fits;
  std::string shares;
  for (std::size_t i = 0; i < pair.size(); ++i) {
    fits.push_back(fit({without_texts(pair[i ^ 1])}));
    for (const FitEstimate& one : fits.back().estimates) {
      if (one.parameter.of_run.empty()) continue;
      char share[64];
      const auto [low, high] = one.interval();
      std::snprintf(share, sizeof share, " %.2f (%.2f to %.2f)", one.parameter.value_of(one.x), low, high);
      shares += share;
    }
  }
  const std::vector<StageMeans> simulated = simulate_all(pair, fits);
  std::vector<double> errors;
  for (std::size_t i = 0; i < pair.size(); ++i) {
    const StageMeans measured = means_of(pair[i], measured_times(pair[i]));
    for (std::size_t stage = 0; stage < 2; ++stage)
      errors.push_back(std::abs(simulated[2 * i + 1][stage][0] / measured[stage][0] - 1));
  }
  Check check = begin("hits", pair[0].scenario.model.name +
                                  " fitted to the other workload's log without its texts, hit shares" +
                                  shares + ": TTFT, error of the mean, median over 4 stages");
  check.claim = Claim::at_most;
  check.promised = true;
  check.simulated = {median_of(errors)};
  check.reference = {0.12};
  judge(check);
  return check;
}

}  // namespace

// The runs of the study vllm_h100, two workloads of a model after each other.
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
  std::vector<FitAnswer> fits;  // of each run, to the other workload of its model
  for (std::size_t i = 0; i < runs.size(); ++i) fits.push_back(fit({runs[i ^ 1]}));
  const std::vector<StageMeans> simulated = simulate_all(runs, fits);

  std::vector<Check> checks;
  std::array<std::vector<double>, kTimes.size()> fitted, untuned;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const StageMeans measured = means_of(runs[i], measured_times(runs[i]));
    for (std::size_t stage = 0; stage < 2; ++stage) {
      const TimeMeans& base = simulated[2 * i][stage];
      const TimeMeans& fit = simulated[2 * i + 1][stage];
      checks.push_back(stage_check(runs[i], runs[i ^ 1].name, stage, measured[stage], base, fit));
      for (std::size_t k = 0; k < kTimes.size(); ++k) {
        untuned[k].push_back(std::abs(base[k] / measured[stage][k] - 1));
        fitted[k].push_back(std::abs(fit[k] / measured[stage][k] - 1));
      }
    }
  }
  constexpr std::array kMost = {0.06, 0.02, 0.03};  // in the order of kTimes
  for (std::size_t k = 0; k < kTimes.size(); ++k) {
    checks.push_back(median_check(k, fitted[k], untuned[k], kMost[k]));
    checks.back().promised = !options.quick;
  }
  checks.push_back(hits_check(runs));
  return checks;
}

}  // namespace kvcap
