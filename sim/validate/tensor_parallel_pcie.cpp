// What a second GPU brings without NVLink: vLLM 0.19.0 with Qwen2.5-7B on one and on two A100-80GB-PCIe of
// two NUMA nodes (cssnoeasy/a100-vllm-benchmark-blog e4226b0f), a hundred random prompts at a closed-loop
// concurrency, three times. Nothing is fitted to them: GPUs that a CPU's socket link separates reach each
// other through the host. The benchmark draws the same prompts each time (--seed 0) and the server is not
// restarted, so that its prefix cache has them from the second time on: so do the simulated repeats.
// Judged is the throughput of two over that of one in these. The first repeat of a setting found a cold
// server (a TTFT of 8 s, once); means over all three contain it.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <tuple>
#include <utility>

#include "metrics/serialize.h"
#include "plan/workers.h"
#include "run/simulate.h"
#include "scenario/load.h"
#include "validate/measured.h"
#include "workload/csv.h"

namespace kvcap {
namespace {

constexpr uint32_t kRequests = 100, kRepeats = 3;

// Of one setting, on one or two GPUs.
struct Throughput {
  std::array<double, 2> warm_sum{}, cold_sum{};  // requests a second
  std::array<int, 2> warm{}, cold{};

  bool is_warm() const { return warm[0] > 0 && warm[1] > 0; }
  double of(std::size_t i) const { return is_warm() ? warm_sum[i] / warm[i] : cold_sum[i] / cold[i]; }
};
// Input and output tokens, concurrency.
using PcieLoad = std::tuple<int64_t, int64_t, int64_t>;

std::map<PcieLoad, Throughput> throughputs(const std::string& path) {
  static constexpr std::array kColumns = {CsvColumn{"isl"},    CsvColumn{"osl"},
                                          CsvColumn{"tp"},     CsvColumn{"max_concurrency"},
                                          CsvColumn{"repeat"}, CsvColumn{"req_s"}};
  std::map<PcieLoad, Throughput> all;
  for_each_csv_row(path, BadRow::error, kColumns, true, [&](const CsvRow& row) {
    const auto whole = [&](std::size_t i) {
      return std::strtoll(std::string(row.text(i)).c_str(), nullptr, 10);
    };
    Throughput& one = all[{whole(0), whole(1), whole(3)}];
    const std::size_t gpus = whole(2) == 2 ? 1 : 0;
    const bool is_warm = row.text(4) != "1" && row.text(4) != "mean3";
    (is_warm ? one.warm_sum : one.cold_sum)[gpus] += std::strtod(std::string(row.text(5)).c_str(), nullptr);
    ++(is_warm ? one.warm : one.cold)[gpus];
    return true;
  });
  return all;
}

Scenario scenario_of(int64_t gpus) {
  return parse_scenario(
      R"({"schema": "kvcap.scenario/1", "name": "tp-pcie", "model": "qwen2.5-7b", "policy": "recompute",
          "hardware": "a100-80g-pcie", "workload": {"source": {"kind": "chat"}},
          "serving": {"engine_version": "0.19.0", "sampling": {"temperature": 0}, "max_model_len": 4096,
                      "gpu_memory_utilization": 0.75, "tensor_parallel_size": )" +
          std::to_string(gpus) + "}}",
      "tp-pcie", {"hardware.gpu.count=2", "hardware.peer=host"});
}

Workload workload_of(const PcieLoad& load) {
  const auto [input, output, concurrency] = load;
  Workload workload;
  workload.concurrency = concurrency;
  workload.round_sessions = kRequests;
  workload.piece_begin = {0};
  for (uint32_t i = 0; i < kRepeats * kRequests; ++i) {
    workload.sessions.push_back({.first_turn = i, .turn_count = 1});
    workload.turns.push_back({static_cast<uint32_t>(input), static_cast<uint32_t>(output)});
    workload.pieces.push_back({1 + i % kRequests, static_cast<uint32_t>(input)});
    workload.piece_begin.push_back(workload.pieces.size());
  }
  return workload;
}

// Of the repeats but the first, or in the mean over all.
double requests_per_s(const RunResult& result, bool warm) {
  std::array<double, kRepeats> end_s{};
  for (const TurnRecord& turn : result.turns) {
    double& end = end_s[turn.session / kRequests];
    end = std::max(end, turn.arrival_s + turn.e2el_s);
  }
  const uint32_t first = warm ? 1 : 0;
  double sum = 0;
  for (uint32_t i = first; i < kRepeats; ++i) sum += kRequests / (end_s[i] - (i > 0 ? end_s[i - 1] : 0));
  return sum / (kRepeats - first);
}

Check check_of(const PcieLoad& setting, const Throughput& measured, const std::array<double, 2>& simulated) {
  const auto [input, output, concurrency] = setting;
  Check check{.id = "tp-pcie." + std::to_string(input) + "-" + std::to_string(output),
              .suite = "measured",
              .what = "two A100 PCIe over one, throughput of Qwen2.5-7B, " + std::to_string(input) + " + " +
                      std::to_string(output) + " tokens, " + std::to_string(concurrency) + " at once"};
  for (std::size_t i = 0; i < simulated.size(); ++i) check.cases.push_back({simulated[i], measured.of(i)});
  check.simulated = {simulated[1] / simulated[0]};
  check.reference = {measured.of(1) / measured.of(0)};
  if (measured.is_warm()) {
    check.promised = true;
    judge(check);
  } else {
    check.reason = "means of three repeats, the first on a cold server";
  }
  return check;
}

}  // namespace

std::vector<Check> tensor_parallel_pcie_checks(const std::string& data) {
  const std::string path = data + "/runs/user_runs_a100pcie_tp.csv";
  if (!std::filesystem::exists(path)) {
    return {{.id = "tp-pcie",
             .suite = "measured",
             .what = "two A100 PCIe over one",
             .reason = "no " + path + " (--data)"}};
  }
  const std::map<PcieLoad, Throughput> measured = throughputs(path);
  std::vector<std::pair<PcieLoad, int64_t>> runs;  // one and two GPUs of each setting
  for (const auto& [setting, one] : measured) {
    for (const int64_t gpus : {1, 2}) runs.emplace_back(setting, gpus);
  }
  const std::vector<std::string> results =
      run_in_workers(runs.size(), [&](std::size_t i, std::atomic<int64_t>& done) {
        const auto& [setting, gpus] = runs[i];
        return serialize(simulate(scenario_of(gpus), workload_of(setting), {.finished_turns = &done}));
      });
  std::vector<Check> checks;
  for (const auto& [setting, one] : measured) {
    const std::size_t first = 2 * checks.size();
    checks.push_back(check_of(setting, one,
                              {requests_per_s(deserialize(results[first]), one.is_warm()),
                               requests_per_s(deserialize(results[first + 1]), one.is_warm())}));
  }
  return checks;
}

}  // namespace kvcap
