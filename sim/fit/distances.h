// How far a simulated run lies from a measured one: the logarithms of means and quantiles of TTFT, TPOT and
// end-to-end latency, in windows of consecutive requests, so that a run whose load changes counts with all of
// its loads. Every fourth window is kept aside to judge the fit.
#pragma once

#include <Eigen/Dense>
#include <cstdint>
#include <vector>

#include "fit/fit_run.h"
#include "metrics/result.h"

namespace kvcap {

// One request's times in seconds; NaN: not known. TPOT = (E2EL - TTFT) / (output tokens - 1).
struct RequestTimes {
  double ttft_s = 0, tpot_s = 0, e2el_s = 0;
};

// In the order of Workload::turns; NaN for turns that were rejected. Both are empty where no request's times
// were measured.
std::vector<RequestTimes> measured_times(const FitRun& run);
std::vector<RequestTimes> simulated_times(const FitRun& run, const RunResult& result);

inline constexpr std::array kTimes = {&RequestTimes::ttft_s, &RequestTimes::tpot_s, &RequestTimes::e2el_s};
inline constexpr std::array<const char*, 3> kTimeNames = {"ttft", "tpot", "e2el"};

// The requests of a run in windows of as many each: 8, fewer in runs below 200 requests.
class Windows {
 public:
  explicit Windows(std::size_t requests);
  std::size_t count() const { return count_; }
  std::size_t begin(std::size_t window) const { return window * requests_ / count_; }
  // Not fitted to, only judged by; none of fewer than 4 windows.
  bool is_kept_aside(std::size_t window) const;

 private:
  std::size_t requests_, count_;
};

// Logarithms of the statistics of all windows that are fitted to, in a fixed order; NaN where a window has no
// such times.
Eigen::VectorXd log_statistics(const std::vector<RequestTimes>& times);
// The same with the requests of each window drawn again in blocks of neighbours (block bootstrap): by the
// same replicate the same requests.
Eigen::VectorXd resampled_log_statistics(const std::vector<RequestTimes>& times, uint64_t replicate);

// Those of all gaps between tokens: p50, p90, p99. Empty where the run has none, and where requests are kept
// aside, for nobody knows whose gaps they are.
Eigen::VectorXd log_gaps(const FitRun& run);
Eigen::VectorXd log_gaps(const FitRun& run, const RunResult& result);

// Those of FitRun::metrics, NaN where the result has no such number.
Eigen::VectorXd log_metrics(const FitRun& run);
Eigen::VectorXd log_metrics(const FitRun& run, const RunResult& result);

}  // namespace kvcap
