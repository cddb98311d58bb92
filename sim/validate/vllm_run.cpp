#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/check.h"
#include "base/embedded.h"
#include "metrics/quantiles.h"
#include "metrics/serialize.h"
#include "plan/workers.h"
#include "run/simulate.h"
#include "scenario/load.h"
#include "validate/measured.h"
#include "validate/measured_run.h"
#include "workload/csv.h"

namespace kvcap {
namespace {

constexpr const char* kScenario = "scenarios/measured/vllm-rtx-4090.json";

// Of each request, in order of the file.
struct Latencies {
  std::vector<double> ttft_s, tpot_s, e2el_s;
  double output_tokens = 0;
  double end_s = 0;  // of the last request, from the first second of the trace
};

Latencies measured_latencies(const std::string& path) {
  static constexpr std::array<CsvColumn, 5> kColumns = {CsvColumn{"arrival_s"}, CsvColumn{"output_tokens"},
                                                        CsvColumn{"ttft_s"}, CsvColumn{"tpot_s"},
                                                        CsvColumn{"e2e_s"}};
  Latencies run;
  for_each_csv_row(path, BadRow::error, kColumns, true, [&run](const CsvRow& row) {
    const auto number = [&row](std::size_t i) {
      return std::strtod(std::string(row.text(i)).c_str(), nullptr);
    };
    run.output_tokens += number(1);
    run.ttft_s.push_back(number(2));
    run.tpot_s.push_back(number(3));
    run.e2el_s.push_back(number(4));
    run.end_s = std::max(run.end_s, number(0) + number(4));
    return true;
  });
  return run;
}

// `blocks`: of the requests' prompts, which the prefix cache may find.
Scenario scenario_of(const std::string& path, const std::string& blocks) {
  const auto is_scenario = [](const EmbeddedFile& file) { return file.path == kScenario; };
  const auto file = std::find_if(embedded_files().begin(), embedded_files().end(), is_scenario);
  KVCAP_CHECK(file != embedded_files().end());
  return parse_scenario(file->text, kScenario,
                        {"workload.source.path=" + path, "workload.source.hash_ids=" + blocks});
}

RunResult simulated_run(const Scenario& scenario) {
  const std::vector<std::string> results = run_in_workers(1, [&](std::size_t, std::atomic<int64_t>& done) {
    return serialize(
        simulate(scenario, make_workload(scenario.workload, scenario.seed), {.finished_turns = &done}));
  });
  return deserialize(results[0]);
}

// TPOT = (last - first) / (output tokens - 1), as the measurements have it.
Latencies latencies_of(const RunResult& result) {
  Latencies run;
  for (const TurnRecord& turn : result.turns) {
    run.ttft_s.push_back(turn.ttft_s);
    run.e2el_s.push_back(turn.e2el_s);
    run.tpot_s.push_back(turn.output_tokens > 1 ? (turn.e2el_s - turn.ttft_s) / (turn.output_tokens - 1.0)
                                                : 0);
    run.output_tokens += turn.output_tokens;
    run.end_s = std::max(run.end_s, turn.arrival_s + turn.e2el_s);
  }
  return run;
}

// Pearson's.
double correlation(const std::vector<double>& x, const std::vector<double>& y) {
  KVCAP_CHECK(x.size() == y.size());
  const auto n = static_cast<double>(x.size());
  double x_sum = 0, y_sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    x_sum += x[i];
    y_sum += y[i];
  }
  double xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double dx = x[i] - x_sum / n, dy = y[i] - y_sum / n;
    xx += dx * dx;
    yy += dy * dy;
    xy += dx * dy;
  }
  return xy / std::sqrt(xx * yy);
}

constexpr const char* kShape =
    "an overloaded server's queue: who waits how long follows from the KV memory, which is derived 3 % short";

class VllmSheet {
 public:
  void compare(const std::string& id, const std::string& what, double simulated, double measured,
               const std::string& reason = "") {
    Check check = begin(id, what);
    check.simulated = {simulated};
    check.reference = {measured};
    check.promised = reason.empty();
    check.reason = reason;
    finish(std::move(check));
  }

  void latencies(const std::string& id, const std::string& what, std::vector<double> simulated,
                 std::vector<double> measured, double unit) {
    for (std::vector<double>* list : {&simulated, &measured}) {
      for (double& one : *list) one *= unit;
    }
    const double alike = correlation(simulated, measured);
    const Distribution ours = describe(simulated), theirs = describe(measured);
    compare(id + ".mean", "mean " + what, ours.mean, theirs.mean);
    compare(id + ".p50", "median " + what, ours.median, theirs.median, kShape);
    compare(id + ".p90", "p90 " + what, ours.p90, theirs.p90, kShape);
    compare(id + ".p99", "p99 " + what, ours.p99, theirs.p99, kShape);
    Check check = begin(id + ".correlation", "correlation of " + what + " over the requests");
    check.claim = Claim::range;
    check.simulated = {alike};
    check.reference = {0.95, 1};
    check.tolerance = 0;
    check.promised = id != "tpot";
    check.reason = "three of 300 requests that are preempted early, or not, by the last 3 % of the KV memory";
    finish(std::move(check));
  }

  std::vector<Check> take() { return std::move(checks_); }

 private:
  static Check begin(const std::string& id, const std::string& what) {
    return {
        .id = "vllm." + id, .suite = "measured", .what = "vLLM on an RTX 4090: " + what, .promised = true};
  }
  void finish(Check check) {
    judge(check);
    checks_.push_back(std::move(check));
  }

  std::vector<Check> checks_;
};

}  // namespace

namespace {

struct Files {
  std::string path, blocks;
};
Files files_of(const std::string& data) {
  return {std::filesystem::absolute(data + "/vllm-real/rtx4090-llama3.1-8b-tp1.csv").string(),
          std::filesystem::absolute(data + "/vllm-real/workload-sharegpt-llama3.1-8b.jsonl.gz").string()};
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double one : values) sum += one;
  return sum / static_cast<double>(values.size());
}

std::vector<double> means_of(const Latencies& run) {
  return {mean_of(run.ttft_s), mean_of(run.tpot_s), run.output_tokens / run.end_s};
}

}  // namespace

std::vector<MeasuredRun> vllm_runs(const std::string& data) {
  const auto [path, blocks] = files_of(data);
  if (!std::filesystem::exists(path) || !std::filesystem::exists(blocks)) return {};
  const Scenario scenario = scenario_of(path, blocks);
  return {{.family = "vllm-rtx-4090",
           .scenario = scenario,
           .workload = make_workload(scenario.workload, scenario.seed),
           .measured = means_of(measured_latencies(path)),
           .simulated = [](const RunResult& result) { return means_of(latencies_of(result)); },
           .gap = ""}};
}

std::vector<Check> vllm_run_checks(const std::string& data) {
  const auto [path, blocks] = files_of(data);
  for (const std::string& file : {path, blocks}) {
    if (std::filesystem::exists(file)) continue;
    return {
        {.id = "vllm", .suite = "measured", .what = "a real vLLM run", .reason = "no " + file + " (--data)"}};
  }
  const Latencies measured = measured_latencies(path);
  const Latencies simulated = latencies_of(simulated_run(scenario_of(path, blocks)));
  VllmSheet sheet;
  sheet.latencies("ttft", "TTFT, s", simulated.ttft_s, measured.ttft_s, 1);
  sheet.latencies("tpot", "TPOT, ms", simulated.tpot_s, measured.tpot_s, 1e3);
  sheet.latencies("e2el", "end to end, s", simulated.e2el_s, measured.e2el_s, 1);
  sheet.compare("makespan", "end of the last request, s", simulated.end_s, measured.end_s);
  sheet.compare("throughput", "output tokens a second", simulated.output_tokens / simulated.end_s,
                measured.output_tokens / measured.end_s);
  return sheet.take();
}

}  // namespace kvcap
