// A run of `vllm bench serve`, as its result file tells (--save-result): what was sent, what the bench
// measured on average and, with --save-detailed, what each request took. Fitting and validation compare with
// it.
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
  double start_s = std::numeric_limits<double>::quiet_NaN();  // when it was sent, from an unknown zero
  uint32_t input_tokens = 0;                                  // the whole prompt
  uint32_t output_tokens = 0;
  MeasuredTimes measured;
  std::size_t gaps = 0;  // its part of BenchRun::itls_s, which has them in the order of requests
  int64_t row = 0;       // its index in the file's arrays
};

struct BenchRun {
  std::string model_id, backend, date;
  std::optional<double> request_rate;  // asked for, per s; absent: all at once
  double burstiness = 1;               // shape of the gamma distribution of gaps; 1: Poisson
  std::optional<int64_t> max_concurrency;
  std::optional<int64_t> num_prompts, completed, failed;
  std::optional<int64_t> total_input_tokens, total_output_tokens;
  std::optional<double> duration_s;
  std::map<std::string, double> metrics;  // the file's own: "mean_ttft_ms", "p99_itl_ms", "output_throughput"
  std::vector<BenchRequest> requests;     // that succeeded; empty without --save-detailed
  std::vector<float> itls_s;              // of these, all gaps between tokens
  int64_t requests_failed = 0;            // in the detailed arrays
};

// All runs of a file: --append-result writes several. Throws InputError for what is no such file; bad
// requests are errors, or with `skip` counted in `bad`.
std::vector<BenchRun> read_bench_runs(const std::string& path, BadRow on_bad_row, int64_t* bad = nullptr);

// The file's only run as a workload; `seed` draws its arrivals where the file does not tell them.
Source read_vllm_bench(const SourceOptions& options, std::optional<int64_t> most, uint64_t seed);

}  // namespace kvcap
