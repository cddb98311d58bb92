#include "fit/distances.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "metrics/statistics/quantiles.h"

namespace kvcap {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kMostWindows = 8, kRequestsOfAWindow = 25;
constexpr std::array kQuantiles = {0.1, 0.25, 0.5, 0.75, 0.9, 0.99};
constexpr std::size_t kStatistics = kQuantiles.size() + 1;  // and the mean
constexpr std::array kGapQuantiles = {0.5, 0.9, 0.99};
constexpr double kLeast_s = 1e-7;  // the logarithm of 0 is none

double log_of(double time_s) { return std::log(std::max(time_s, kLeast_s)); }

// Puts mean and quantiles of the known values behind `to`; returns the place behind them.
double* put_statistics(std::vector<double>& values, double* to) {
  values.erase(std::remove_if(values.begin(), values.end(), [](double one) { return std::isnan(one); }),
               values.end());
  if (values.empty()) return std::fill_n(to, kStatistics, kNan);
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (const double one : values) sum += one;
  *to++ = log_of(sum / static_cast<double>(values.size()));
  for (const double share : kQuantiles) *to++ = log_of(quantile_of_sorted(values, share));
  return to;
}

// `pick` names the request that stands at a place of a window.
template <class Pick>
Eigen::VectorXd statistics(const std::vector<RequestTimes>& times, const Pick& pick) {
  if (times.empty()) return {};
  const Windows windows(times.size());
  std::size_t fitted = 0;
  for (std::size_t w = 0; w < windows.count(); ++w) fitted += windows.is_kept_aside(w) ? 0 : 1;
  Eigen::VectorXd all(static_cast<Eigen::Index>(fitted * kTimes.size() * kStatistics));
  double* to = all.data();
  std::vector<double> values;
  for (std::size_t w = 0; w < windows.count(); ++w) {
    if (windows.is_kept_aside(w)) continue;
    for (const auto time : kTimes) {
      values.clear();
      for (std::size_t i = windows.begin(w); i < windows.begin(w + 1); ++i)
        values.push_back(times[pick(w, i)].*time);
      to = put_statistics(values, to);
    }
  }
  return all;
}

bool fits_gaps(const FitRun& run) { return !run.itls_s.empty() && Windows(run.measured.size()).count() < 4; }

RequestTimes times_of(double ttft_s, double e2el_s, uint32_t output_tokens) {
  return {ttft_s, output_tokens > 1 ? (e2el_s - ttft_s) / (output_tokens - 1.0) : kNan, e2el_s};
}

}  // namespace

Windows::Windows(std::size_t requests)
    : requests_(requests), count_(std::clamp<std::size_t>(requests / kRequestsOfAWindow, 1, kMostWindows)) {}

bool Windows::is_kept_aside(std::size_t window) const { return count_ >= 4 && window % 4 == 2; }

std::vector<RequestTimes> measured_times(const FitRun& run) {
  std::vector<RequestTimes> times;
  for (std::size_t turn = 0; turn < run.measured.size(); ++turn) {
    const MeasuredTimes& one = run.measured[turn];
    times.push_back(times_of(one.ttft_s, one.e2el_s, run.workload.turns[turn].output_tokens));
  }
  return times;
}

std::vector<RequestTimes> simulated_times(const FitRun& run, const RunResult& result) {
  if (run.measured.empty()) return {};
  std::vector<RequestTimes> times(run.workload.turns.size(), {kNan, kNan, kNan});
  for (const TurnRecord& one : result.turns) {
    if (!one.answered()) continue;
    times[run.workload.sessions[one.session].first_turn + one.turn] =
        times_of(one.ttft_s, one.e2el_s, one.output_tokens);
  }
  return times;
}

Eigen::VectorXd log_statistics(const std::vector<RequestTimes>& times) {
  return statistics(times, [](std::size_t, std::size_t i) { return i; });
}

Eigen::VectorXd resampled_log_statistics(const std::vector<RequestTimes>& times, uint64_t replicate) {
  const RandomStream stream(replicate, "fit/bootstrap");
  const Windows windows(times.size());
  return statistics(times, [&](std::size_t w, std::size_t i) {
    const std::size_t begin = windows.begin(w), size = windows.begin(w + 1) - begin;
    const auto block = static_cast<std::size_t>(std::cbrt(static_cast<double>(size))), place = i - begin;
    const std::size_t starts = size - block + 1;
    const double drawn = stream.uniform(w * times.size() + place / block) * static_cast<double>(starts);
    return begin + std::min(static_cast<std::size_t>(drawn), starts - 1) + place % block;
  });
}

Eigen::VectorXd log_gaps(const FitRun& run) {
  if (!fits_gaps(run)) return {};
  std::vector<double> gaps(run.itls_s.begin(), run.itls_s.end());
  std::sort(gaps.begin(), gaps.end());
  Eigen::VectorXd logs(kGapQuantiles.size());
  for (std::size_t i = 0; i < kGapQuantiles.size(); ++i) {
    logs[static_cast<Eigen::Index>(i)] = log_of(quantile_of_sorted(gaps, kGapQuantiles[i]));
  }
  return logs;
}

Eigen::VectorXd log_gaps(const FitRun& run, const RunResult& result) {
  if (!fits_gaps(run)) return {};
  Eigen::VectorXd logs = Eigen::VectorXd::Constant(kGapQuantiles.size(), kNan);
  for (const auto& [name, percentiles] : result.distributions) {
    if (name != "itl_ms" || percentiles.size() != 99) continue;
    for (std::size_t i = 0; i < kGapQuantiles.size(); ++i) {
      const auto percentile = static_cast<std::size_t>(std::lround(100 * kGapQuantiles[i]));
      logs[static_cast<Eigen::Index>(i)] = log_of(1e-3 * percentiles[percentile - 1]);
    }
  }
  return logs;
}

Eigen::VectorXd log_metrics(const FitRun& run) {
  Eigen::VectorXd logs(static_cast<Eigen::Index>(run.metrics.size()));
  for (std::size_t i = 0; i < run.metrics.size(); ++i)
    logs[static_cast<Eigen::Index>(i)] = std::log(run.metrics[i].value);
  return logs;
}

Eigen::VectorXd log_metrics(const FitRun& run, const RunResult& result) {
  Eigen::VectorXd logs(static_cast<Eigen::Index>(run.metrics.size()));
  for (std::size_t i = 0; i < run.metrics.size(); ++i) {
    const double value = result.number(run.metrics[i].name);
    logs[static_cast<Eigen::Index>(i)] = std::isnan(value) ? kNan : std::log(std::max(value, 1e3 * kLeast_s));
  }
  return logs;
}

}  // namespace kvcap
