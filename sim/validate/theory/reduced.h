// Reduced scenarios: machines and workloads so simple that theory says what must come out, and experiments
// that compare the two.
//
// An experiment runs under seeds 1, 2, ..., each in a worker. Of a prediction that theory makes for the mean
// the interval over the runs has to hold it: Student's t at a confidence of 99 % for all means of a suite
// together (each of n at 1 - 0.01 / n: Bonferroni). Of an identity, which holds in every run, the run in
// which both sides differ most is shown, and they have to agree to 1e-6. Nothing here is ever near: what is
// not inside is outside.
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
// Every case in a process of its own.
std::vector<RunResult> run_cases(const std::vector<Case>& cases, bool check_invariants = false);

// One GPU that computes in no time to speak of, links of 10 GB/s (PCIe) and 1 GB/s (an SSD, reading and
// writing), DRAM that is never the bottleneck. A model of one layer with 512 bytes of KV a token.
Scenario reduced_scenario(const std::string& policy);
// `servers` requests at once; a decode step and the prefill of a short prompt last the same, about 1 ms,
// whoever else is served.
Scenario server_scenario(int servers);
// One tier of DRAM that holds `pieces` prompts of reference_workload().
Scenario cache_scenario(EvictionKind eviction, std::size_t pieces);

// Dates of a Poisson process.
std::vector<double> poisson_arrivals_s(std::size_t count, double rate, uint64_t seed);
// Every request is over, and what it leaves stored, before the next.
std::vector<double> seconds_apart(std::size_t count);
// One turn a session with a prompt of one token; session i arrives at arrivals_s[i].
Workload turns_alone(std::span<const double> arrivals_s,
                     const std::function<uint32_t(uint64_t i)>& output_tokens);
// The same with answers of one token, each session with a stored context of so many tokens.
Workload stored_turns(std::span<const double> arrivals_s, const std::function<uint32_t(uint64_t i)>& tokens);
// One prompt a reference: a piece of 64 tokens that others share, and one token more.
Workload reference_workload(std::span<const double> arrivals_s, std::span<const uint64_t> keys);
// Indices drawn with the given probabilities.
std::vector<uint64_t> draw_references(std::size_t count, std::span<const double> popularity, uint64_t seed);

// Over the turns that are no warm-up.
double mean_of(const RunResult& run, const std::function<double(const TurnRecord&)>& of);

struct Prediction {
  std::string id;
  std::string what;
  // Of the mean. Absent: an identity, of which `measure` gives the simulated side and the other.
  std::optional<double> theory;
};

struct Experiment {
  Scenario scenario;
  std::function<Workload(uint64_t seed)> workload;
  // One number a mean, two an identity, in the order of the predictions.
  std::function<std::vector<double>(const Workload& workload, const RunResult& run)> measure;
  std::vector<Prediction> predictions;
};

std::vector<Check> run_experiments(const std::string& suite, const std::vector<Experiment>& experiments,
                                   int replications);

// Numbers that theory gives to `tolerance`, relative.
Check exact_check(const std::string& suite, const std::string& id, const std::string& what,
                  std::vector<double> simulated, std::vector<double> reference, double tolerance);

}  // namespace kvcap
