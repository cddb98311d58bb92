#include "validate/theory/reduced.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/check.h"
#include "base/random.h"
#include "metrics/serialize.h"
#include "metrics/statistics/intervals.h"
#include "plan/workers.h"
#include "run/simulate.h"

namespace kvcap {
namespace {

constexpr double kReducedConfidence = 0.99;
constexpr double kIdentityTolerance = 1e-6;
constexpr uint32_t kReducedPieceTokens = 64;

std::string bytes_of(const std::vector<double>& numbers) {
  std::string bytes(numbers.size() * sizeof(double), '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

std::vector<double> numbers_of(const std::string& bytes) {
  std::vector<double> numbers(bytes.size() / sizeof(double));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

Check check_of(const std::string& suite, const Prediction& prediction) {
  Check check;
  check.id = suite + "." + prediction.id;
  check.suite = suite;
  check.what = prediction.what;
  check.promised = true;
  check.exact_tolerance = check.tolerance = prediction.theory ? 0 : kIdentityTolerance;
  return check;
}

// Of one prediction; runs[r][at] and behind it is what run r gave.
Check judged(const std::string& suite, const Prediction& prediction,
             std::span<const std::vector<double>> runs, std::size_t at, double confidence) {
  Check check = check_of(suite, prediction);
  if (prediction.theory) {
    std::vector<double> values;
    for (const std::vector<double>& run : runs) values.push_back(run[at]);
    const MeanInterval interval = mean_interval(values, confidence);
    check.what += "; interval of 99 % for all means of the suite together";
    check.simulated = {interval.mean};
    check.half_width = {interval.half_width};
    check.reference = {*prediction.theory};
  } else {
    const auto off = [at](const std::vector<double>& run) { return std::abs(run[at] - run[at + 1]); };
    const auto worst = std::max_element(
        runs.begin(), runs.end(), [&](const auto& one, const auto& other) { return off(one) < off(other); });
    check.simulated = {(*worst)[at]};
    check.reference = {(*worst)[at + 1]};
  }
  judge(check);
  return check;
}

}  // namespace

std::vector<RunResult> run_cases(const std::vector<Case>& cases, bool check_invariants) {
  const std::vector<std::string> results = run_in_workers(cases.size(), [&](std::size_t i,
                                                                            std::atomic<int64_t>&) {
    return serialize(simulate(cases[i].scenario, cases[i].workload, {.check_invariants = check_invariants}));
  });
  std::vector<RunResult> runs;
  runs.reserve(results.size());
  for (const std::string& bytes : results) runs.push_back(deserialize(bytes));
  return runs;
}

// ---- machines ----

Scenario reduced_scenario(const std::string& policy) {
  Scenario scenario;
  scenario.name = "reduced";
  scenario.model = {.name = "one-layer",
                    .num_hidden_layers = 1,
                    .hidden_size = 8192,
                    .num_attention_heads = 64,
                    .num_key_value_heads = 1,
                    .head_dim = 128,
                    .intermediate_size = 28672,
                    .vocab_size = 1024,
                    .max_position_embeddings = 1 << 20};
  HardwareProfile& hardware = scenario.hardware;
  hardware.name = "reduced";
  hardware.provenance_kind = "datasheet";
  hardware.gpu = {.name = "reduced",
                  .peak_flops = 1e21,
                  .memory_bytes = 1e13,
                  .memory_bandwidth_bytes_per_s = 1e18,
                  .sm_count = 1};
  hardware.pcie = {.h2d_bandwidth_bytes_per_s = 10e9, .d2h_bandwidth_bytes_per_s = 10e9};
  hardware.dram = Dram{.capacity_bytes = 1e15, .bandwidth_bytes_per_s = 1e15};
  hardware.ssd =
      Ssd{.capacity_bytes = 1e15, .read_bandwidth_bytes_per_s = 1e9, .write_bandwidth_bytes_per_s = 1e9};
  scenario.serving.max_model_len = 1 << 20;
  scenario.serving.prefix_caching = false;
  scenario.serving.async_scheduling = false;
  scenario.policy.name = policy;
  scenario.policy.tiers = {{.kind = Tier::ssd}};
  scenario.resolved_json = "{}";
  return scenario;
}

Scenario server_scenario(int servers) {
  Scenario scenario = reduced_scenario("recompute");
  // A step reads the weights once, whatever it computes.
  scenario.hardware.gpu.memory_bandwidth_bytes_per_s = scenario.model.weight_bytes() / 1e-3;
  scenario.serving.max_num_seqs = servers;
  return scenario;
}

Scenario cache_scenario(EvictionKind eviction, std::size_t pieces) {
  Scenario scenario = reduced_scenario("kv_offload");
  const double piece_bytes = kReducedPieceTokens * scenario.model.kv_bytes_per_token();
  scenario.policy.tiers = {{.kind = Tier::dram,
                            .capacity_bytes = static_cast<double>(pieces) * piece_bytes,
                            .eviction = eviction}};
  return scenario;
}

// ---- workloads ----

std::vector<double> poisson_arrivals_s(std::size_t count, double rate, uint64_t seed) {
  const RandomStream random(seed, "arrivals");
  std::vector<double> arrivals_s(count);
  double now_s = 0;
  for (std::size_t i = 0; i < count; ++i) arrivals_s[i] = now_s += random.exponential(i) / rate;
  return arrivals_s;
}

std::vector<double> seconds_apart(std::size_t count) {
  std::vector<double> arrivals_s(count);
  std::iota(arrivals_s.begin(), arrivals_s.end(), 0.0);
  return arrivals_s;
}

Workload turns_alone(std::span<const double> arrivals_s,
                     const std::function<uint32_t(uint64_t i)>& output_tokens) {
  Workload workload;
  for (std::size_t i = 0; i < arrivals_s.size(); ++i) {
    workload.sessions.push_back({.first_turn = static_cast<uint32_t>(i), .turn_count = 1});
    workload.turns.push_back({.input_tokens = 1, .output_tokens = output_tokens(i), .time_s = arrivals_s[i]});
  }
  return workload;
}

Workload stored_turns(std::span<const double> arrivals_s, const std::function<uint32_t(uint64_t i)>& tokens) {
  Workload workload = turns_alone(arrivals_s, [](uint64_t) { return 1; });
  for (std::size_t i = 0; i < arrivals_s.size(); ++i) {
    workload.sessions[i].context_tokens = tokens(i);
    workload.sessions[i].history_grows = false;
  }
  workload.warm_start = true;
  return workload;
}

Workload reference_workload(std::span<const double> arrivals_s, std::span<const uint64_t> keys) {
  KVCAP_CHECK(arrivals_s.size() == keys.size());
  Workload workload = turns_alone(arrivals_s, [](uint64_t) { return 1; });
  workload.piece_begin.push_back(0);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    workload.turns[i].input_tokens = kReducedPieceTokens + 1;
    workload.pieces.push_back({.key = keys[i], .tokens = kReducedPieceTokens});
    workload.piece_begin.push_back(i + 1);
  }
  return workload;
}

std::vector<uint64_t> draw_references(std::size_t count, std::span<const double> popularity, uint64_t seed) {
  std::vector<double> cumulated;
  double sum = 0;
  for (double p : popularity) cumulated.push_back(sum += p);
  const RandomStream random(seed, "references");
  std::vector<uint64_t> keys(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto drawn = std::upper_bound(cumulated.begin(), cumulated.end() - 1, sum * random.uniform(i));
    keys[i] = static_cast<uint64_t>(drawn - cumulated.begin());
  }
  return keys;
}

// ---- experiments ----

double mean_of(const RunResult& run, const std::function<double(const TurnRecord&)>& of) {
  double sum = 0, count = 0;
  for (const TurnRecord& turn : run.turns) {
    if (turn.warmup) continue;
    sum += of(turn);
    ++count;
  }
  return sum / count;
}

std::vector<Check> run_experiments(const std::string& suite, const std::vector<Experiment>& experiments,
                                   int replications) {
  const auto runs = static_cast<std::size_t>(replications);
  const std::vector<std::string> results =
      run_in_workers(experiments.size() * runs, [&](std::size_t job, std::atomic<int64_t>&) {
        const Experiment& one = experiments[job / runs];
        const Workload workload = one.workload(1 + job % runs);
        return bytes_of(one.measure(workload, simulate(one.scenario, workload)));
      });
  double means = 0;
  for (const Experiment& one : experiments) {
    means += static_cast<double>(std::count_if(one.predictions.begin(), one.predictions.end(),
                                               [](const Prediction& p) { return p.theory.has_value(); }));
  }
  std::vector<Check> checks;
  for (std::size_t e = 0; e < experiments.size(); ++e) {
    std::vector<std::vector<double>> measured;
    for (std::size_t r = 0; r < runs; ++r) measured.push_back(numbers_of(results[e * runs + r]));
    std::size_t at = 0;
    for (const Prediction& prediction : experiments[e].predictions) {
      checks.push_back(judged(suite, prediction, measured, at, 1 - (1 - kReducedConfidence) / means));
      at += prediction.theory ? 1 : 2;
    }
    KVCAP_CHECK(at == measured.front().size());
  }
  return checks;
}

Check exact_check(const std::string& suite, const std::string& id, const std::string& what,
                  std::vector<double> simulated, std::vector<double> reference, double tolerance) {
  Check check = check_of(suite, {.id = id, .what = what, .theory = std::nullopt});
  check.exact_tolerance = check.tolerance = tolerance;
  check.simulated = std::move(simulated);
  check.reference = std::move(reference);
  judge(check);
  return check;
}

}  // namespace kvcap
