// Reduced scenarios: machines and workloads so simple that theory predicts their results, and experiments
// that compare results and theory.
//
// An experiment runs with seeds 1, 2, ..., each in a worker. For a prediction of a mean, the interval over
// the runs must contain it: Student's t at a confidence of 99 % for all means of a suite together (each of n
// at 1 - 0.01 / n: Bonferroni). For an identity, which holds in every run, the two sides must agree to 1e-6
// in the run in which they differ most. There is no verdict near: a check that is not inside is outside.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "metrics/result.h"
#include "scenario/scenario.h"
#include "validate/check.h"
#include "workload/workload.h"

namespace kvcap {

struct Case {
  Scenario scenario;
  Workload workload;
};
// Runs every case in a process of its own.
std::vector<RunResult> run_cases(const std::vector<Case>& cases, bool check_invariants = false);

// Returns a scenario with one GPU whose compute time is negligible, links of 10 GB/s (PCIe) and 1 GB/s (an
// SSD, for reads and writes), DRAM that is never the bottleneck, and a model of one layer with 512 bytes of
// KV per token.
Scenario reduced_scenario(const std::string& policy);
// Returns a scenario that serves `servers` requests concurrently. A decode step and the prefill of a short
// prompt both take about 1 ms, whatever the batch.
Scenario server_scenario(int servers);
// Returns a scenario with one DRAM tier that holds `pieces` prompts of reference_workload().
Scenario cache_scenario(EvictionKind eviction, std::size_t pieces);

// Returns the arrival times of a Poisson process.
std::vector<double> poisson_arrivals_s(std::size_t count, double rate, uint64_t seed);
// Returns arrival times far enough apart that every request and its saves end before the next request.
std::vector<double> seconds_apart(std::size_t count);
// Returns a workload of one turn per session with a prompt of one token; session i arrives at arrivals_s[i].
Workload turns_alone(std::span<const double> arrivals_s,
                     const std::function<uint32_t(uint64_t i)>& output_tokens);
// Returns a workload of one turn per session with an answer of one token; session i arrives at arrivals_s[i]
// with a stored context of tokens(i) tokens.
Workload stored_turns(std::span<const double> arrivals_s, const std::function<uint32_t(uint64_t i)>& tokens);
// Returns a workload of one prompt per reference: a shared piece of 64 tokens, and one more token.
Workload reference_workload(std::span<const double> arrivals_s, std::span<const uint64_t> keys);
// Returns indices drawn with the given probabilities.
std::vector<uint64_t> draw_references(std::size_t count, std::span<const double> popularity, uint64_t seed);

// Returns the mean over the turns after the warm-up.
double mean_of(const RunResult& run, const std::function<double(const TurnRecord&)>& of);

struct Prediction {
  std::string id;
  std::string what;
  // Theoretical mean. Absent: an identity, for which `measure` returns both sides.
  std::optional<double> theory;
};

struct Experiment {
  Scenario scenario;
  std::function<Workload(uint64_t seed)> workload;
  // Returns one number per mean and two per identity, in the order of the predictions.
  std::function<std::vector<double>(const Workload& workload, const RunResult& run)> measure;
  std::vector<Prediction> predictions;
};

std::vector<Check> run_experiments(const std::string& suite, const std::vector<Experiment>& experiments,
                                   int replications);

// Returns a check of numbers that theory predicts to a relative `tolerance`.
Check exact_check(const std::string& suite, const std::string& id, const std::string& what,
                  std::vector<double> simulated, std::vector<double> reference, double tolerance);

}  // namespace kvcap
