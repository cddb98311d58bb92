// Reduced scenarios: machines and workloads so simple that theory predicts their results.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "metrics/result.h"
#include "scenario/scenario.h"
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
// Returns the arrival times of a Poisson process.
std::vector<double> poisson_arrivals_s(std::size_t count, double rate, uint64_t seed);
// Returns a workload of one turn per session with a prompt of one token; session i arrives at arrivals_s[i].
Workload turns_alone(std::span<const double> arrivals_s,
                     const std::function<uint32_t(uint64_t i)>& output_tokens);

}  // namespace kvcap
