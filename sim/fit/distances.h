// Statistics by which a fit compares a simulated run with a measured one: logarithms of the mean and
// quantiles of TTFT, TPOT and end-to-end latency. They are computed in windows of consecutive requests, so
// that all parts of a run with varying load influence the fit. Every fourth window is held out to judge the
// fit.
#pragma once

#include <Eigen/Dense>
#include <cstdint>
#include <vector>

#include "fit/fit_run.h"
#include "metrics/result.h"

namespace kvcap {

// The times of one request in seconds; NaN: unknown. TPOT = (E2EL - TTFT) / (output tokens - 1).
struct RequestTimes {
  double ttft_s = 0, tpot_s = 0, e2el_s = 0;
};

// Return the times of requests in the order of Workload::turns; NaN for unanswered turns. Both results are
// empty if the log has no times of single requests.
std::vector<RequestTimes> measured_times(const FitRun& run);
std::vector<RequestTimes> simulated_times(const FitRun& run, const RunResult& result);

inline constexpr std::array kTimes = {&RequestTimes::ttft_s, &RequestTimes::tpot_s, &RequestTimes::e2el_s};
inline constexpr std::array<const char*, 3> kTimeNames = {"ttft", "tpot", "e2el"};

// Divides the requests of a run into windows of equal size: 8 windows, or fewer if there are fewer than 200
// requests.
class Windows {
 public:
  explicit Windows(std::size_t requests);
  std::size_t count() const { return count_; }
  std::size_t begin(std::size_t window) const { return window * requests_ / count_; }
  // True iff the window is held out. Runs with fewer than 4 windows have no held-out window.
  bool is_kept_aside(std::size_t window) const;

 private:
  std::size_t requests_, count_;
};

// Returns the logarithms of the statistics of all fitted windows, in a fixed order; NaN for a window without
// known times.
Eigen::VectorXd log_statistics(const std::vector<RequestTimes>& times);
// Returns log_statistics() with the requests of each window resampled in blocks of neighbours (block
// bootstrap). Equal values of `replicate` draw the same requests.
Eigen::VectorXd resampled_log_statistics(const std::vector<RequestTimes>& times, uint64_t replicate);

// Return the logarithms of p50, p90 and p99 of all inter-token latencies. Empty if the run has none, or if
// windows are held out, because the log does not assign the latencies to requests.
Eigen::VectorXd log_gaps(const FitRun& run);
Eigen::VectorXd log_gaps(const FitRun& run, const RunResult& result);

// Return the logarithms of FitRun::metrics; NaN if the result has no such metric.
Eigen::VectorXd log_metrics(const FitRun& run);
Eigen::VectorXd log_metrics(const FitRun& run, const RunResult& result);

}  // namespace kvcap
