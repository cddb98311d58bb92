#include "metrics/statistics/intervals.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <utility>
#include <vector>

#include "base/check.h"
#include "metrics/recorder.h"
#include "metrics/samples.h"
#include "metrics/statistics/stability.h"
#include "metrics/turn_means.h"

namespace kvcap {
namespace {

// Returns P(|T| < t) at t = sqrt(degrees) tan(theta), by the finite sums for whole degrees of freedom
// (Abramowitz and Stegun 26.7.3 and 26.7.4).
double central_probability(double theta, int degrees) {
  const double sine = std::sin(theta), cosine = std::cos(theta);
  const bool odd = degrees % 2 == 1;
  double term = odd ? cosine : 1, sum = 0;
  for (int k = odd ? 1 : 0; k <= degrees - 2; k += 2) {
    sum += term;
    term *= cosine * cosine * (k + 1) / (k + 2);
  }
  return odd ? 2 / std::numbers::pi * (theta + sine * sum) : sine * sum;
}

bool is_number(const MetricValue& value) {
  return std::holds_alternative<double>(value) || std::holds_alternative<int64_t>(value);
}

std::vector<double> numbers(const std::vector<RunResult>& runs, std::size_t metric) {
  std::vector<double> values;
  for (const RunResult& run : runs) {
    const MetricValue& value = run.metrics[metric].value;
    const auto* integer = std::get_if<int64_t>(&value);
    values.push_back(integer ? static_cast<double>(*integer) : std::get<double>(value));
  }
  return values;
}

void average_quantiles(std::vector<RunResult>& runs) {
  for (std::size_t d = 0; d < runs[0].distributions.size(); ++d) {
    std::vector<double>& mean = runs[0].distributions[d].second;
    for (std::size_t r = 1; r < runs.size(); ++r) {
      KVCAP_CHECK(runs[r].distributions[d].first == runs[0].distributions[d].first);
      const std::vector<double>& other = runs[r].distributions[d].second;
      for (std::size_t q = 0; q < mean.size(); ++q) mean[q] += other[q];
    }
    for (double& quantile : mean) quantile /= static_cast<double>(runs.size());
  }
}

// Combines the history bins of all runs: adds up the turns of each bin, and averages its mean and quantile,
// weighted by these turns.
void pool_histories(std::vector<RunResult>& runs) {
  std::map<int64_t, HistoryBin> pooled;
  for (const RunResult& run : runs) {
    for (const HistoryBin& bin : run.by_history) {
      HistoryBin& sum = pooled[bin.min_tokens];
      const auto weight = static_cast<double>(bin.count);
      sum = {.min_tokens = bin.min_tokens,
             .max_tokens = bin.max_tokens,
             .count = sum.count + bin.count,
             .mean_ttft_ms = sum.mean_ttft_ms + weight * bin.mean_ttft_ms,
             .p99_ttft_ms = sum.p99_ttft_ms + weight * bin.p99_ttft_ms};
    }
  }
  runs[0].by_history.clear();
  for (auto& [min_tokens, bin] : pooled) {
    bin.mean_ttft_ms /= static_cast<double>(bin.count);
    bin.p99_ttft_ms /= static_cast<double>(bin.count);
    runs[0].by_history.push_back(bin);
  }
}

// Returns the verdict of all runs; undecided if they differ.
std::string common_verdict(const std::vector<RunResult>& runs) {
  const std::string_view first = runs[0].text("stable.verdict");
  const bool agree = std::all_of(runs.begin(), runs.end(), [first](const RunResult& run) {
    return run.text("stable.verdict") == first;
  });
  return std::string(agree ? first : name(Verdict::undecided));
}

// Returns "3 of 5 runs are stable, 2 undecided: " and the reason of the first run that is not stable.
std::string common_reason(const std::vector<RunResult>& runs) {
  const RunResult* told = nullptr;
  std::string counts;
  for (Verdict verdict : {Verdict::stable, Verdict::saturated, Verdict::undecided}) {
    const auto is_so = [verdict](const RunResult& run) {
      return run.text("stable.verdict") == name(verdict);
    };
    const auto count = std::count_if(runs.begin(), runs.end(), is_so);
    if (count == 0) continue;
    if (!told || told->text("stable.verdict") == name(Verdict::stable))
      told = &*std::find_if(runs.begin(), runs.end(), is_so);
    counts += counts.empty() ? std::to_string(count) + " of " + std::to_string(runs.size()) + " runs are "
                             : ", " + std::to_string(count) + " ";
    counts += name(verdict);
  }
  return told ? counts + ": " + std::string(told->text("stable.reason")) : "";
}

void join_notes(std::vector<RunResult>& runs) {
  std::vector<std::string>& notes = runs[0].notes;
  for (std::size_t r = 1; r < runs.size(); ++r)
    for (const std::string& note : runs[r].notes)
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
}

}  // namespace

double real_difference(double one, double other) {
  constexpr double kRounding = 1e-9;
  const double difference = one - other;
  return std::abs(difference) <= kRounding * std::abs(other) ? 0 : difference;
}

double student_t_quantile(double p, int degrees) {
  KVCAP_CHECK(p > 0 && p < 1 && degrees >= 1);
  if (p < 0.5) return -student_t_quantile(1 - p, degrees);
  double low = 0, high = std::numbers::pi / 2;
  while (true) {
    const double middle = 0.5 * (low + high);
    if (middle <= low || middle >= high) return std::sqrt(static_cast<double>(degrees)) * std::tan(middle);
    (central_probability(middle, degrees) < 2 * p - 1 ? low : high) = middle;
  }
}

MeanInterval mean_interval(std::span<const double> values, double confidence) {
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  for (double value : values) sum += value;
  const double mean = sum / count;
  if (values.size() < 2) return {mean, std::numeric_limits<double>::quiet_NaN()};
  double squares = 0;
  for (double value : values) squares += (value - mean) * (value - mean);
  const double error = std::sqrt(squares / (count - 1) / count);
  return {mean, student_t_quantile(0.5 + 0.5 * confidence, static_cast<int>(values.size()) - 1) * error};
}

RunResult combine_replications(std::vector<RunResult> runs) {
  KVCAP_CHECK(!runs.empty());
  if (runs.size() == 1) return std::move(runs[0]);
  RunResult combined;
  for (std::size_t m = 0; m < runs[0].metrics.size(); ++m) {
    Metric metric = runs[0].metrics[m];
    for (const RunResult& run : runs)
      KVCAP_CHECK(m < run.metrics.size() && run.metrics[m].name == metric.name);
    if (is_number(metric.value)) {
      const MeanInterval interval = mean_interval(numbers(runs, m));
      metric.value = interval.mean;
      combined.intervals.push_back({metric.name, interval.mean, interval.half_width,
                                    IntervalMethod::replications, static_cast<int64_t>(runs.size())});
    } else if (metric.name == "stable.verdict") {
      metric.value = common_verdict(runs);
    } else if (metric.name == "stable.reason") {
      metric.value = common_reason(runs);
    }
    combined.metrics.push_back(std::move(metric));
  }
  average_quantiles(runs);
  pool_histories(runs);
  join_notes(runs);
  combined.samples = samples_of_runs(runs);
  std::swap(runs[0].samples, combined.samples);
  std::swap(runs[0].metrics, combined.metrics);
  std::swap(runs[0].intervals, combined.intervals);
  return std::move(runs[0]);
}

const std::vector<std::string>& compared_metrics() {
  static const std::vector<std::string> metrics = [] {
    std::vector<std::string> names;
    for (const char* latency : {"ttft_ms", "service_ttft_ms", "itl_ms", "tpot_ms", "e2el_ms"})
      for (const char* statistic : {"mean_", "median_", "p90_", "p99_"})
        names.push_back(std::string(statistic) + latency);
    for (const char* name : {"mean_service_ttft_with_history_ms", "token_hit_rate",
                             "cost.usd_per_million_output_tokens", "output_throughput", "request_throughput"})
      names.emplace_back(name);
    return names;
  }();
  return metrics;
}

std::vector<Difference> paired_differences(const std::vector<RunResult>& against,
                                           const std::vector<RunResult>& setting) {
  KVCAP_CHECK(!against.empty() && against.size() == setting.size());
  const bool is_single = setting.size() == 1;
  const std::vector<TurnRecord> none;
  const PairedTurns paired(is_single ? against[0].turns : none, is_single ? setting[0].turns : none);
  std::vector<Difference> differences;
  for (const std::string& metric : compared_metrics()) {
    std::vector<double> values;
    for (std::size_t r = 0; r < setting.size(); ++r)
      values.push_back(real_difference(setting[r].number(metric), against[r].number(metric)));
    const MeanInterval interval = mean_interval(values);
    Difference difference{setting[0].policy,
                          against[0].policy,
                          metric,
                          interval.mean,
                          interval.half_width,
                          IntervalMethod::replications,
                          static_cast<int64_t>(setting.size())};
    if (is_single) {
      const BatchInterval batches = paired.interval(metric);
      difference.half_width = batches.half_width;
      difference.method = IntervalMethod::batch_means;
      difference.n = batches.batches;
    }
    differences.push_back(std::move(difference));
  }
  return differences;
}

}  // namespace kvcap
