// BenchRun: one result of `vllm bench serve` (--save-result): the requests sent, the averages that the bench
// measured and, with --save-detailed, the latencies of each request. Fitting and validation compare
// simulations with these measurements.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "workload/source.h"

namespace kvcap {

struct BenchRequest {
  double start_s = std::numeric_limits<double>::quiet_NaN();  // time of sending, with an arbitrary zero
  uint32_t input_tokens = 0;                                  // whole prompt
  uint32_t output_tokens = 0;
  MeasuredTimes measured;
  // Number of the request's entries in BenchRun::itls_s, which are in the order of requests.
  std::size_t gaps = 0;
  int64_t row = 0;  // index in the file's arrays
};

struct BenchRun {
  std::string model_id, backend, date;
  std::optional<double> request_rate;  // requested, per s; absent: all requests are sent at once
  double burstiness = 1;               // shape of the gamma distribution of gaps; 1: Poisson
  std::optional<int64_t> max_concurrency;
  std::optional<int64_t> num_prompts, completed, failed;
  std::optional<int64_t> total_input_tokens, total_output_tokens;
  std::optional<double> duration_s;
  std::map<std::string, double> metrics;  // named as in the file: "mean_ttft_ms", "output_throughput"
  std::vector<BenchRequest> requests;     // successful requests; empty without --save-detailed
  std::vector<float> itls_s;              // all gaps between tokens of `requests`
  int64_t requests_failed = 0;            // in the detailed arrays
};

// Returns all runs of a file: --append-result writes several. Throws InputError for other files. Bad requests
// are errors; with BadRow::skip they are counted in `bad` instead.
std::vector<BenchRun> read_bench_runs(const std::string& path, BadRow on_bad_row, int64_t* bad = nullptr);

// Reads the file's only run as a workload; `seed` draws its arrivals if the file has none.
Source read_vllm_bench(const SourceOptions& options, std::optional<int64_t> most, uint64_t seed);

}  // namespace kvcap
