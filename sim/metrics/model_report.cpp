#include "metrics/model_report.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/text/format.h"
#include "metrics/statistics/quantiles.h"

namespace kvcap {
namespace {

constexpr const char* kRanked[] = {"mean_ttft_ms", "p99_ttft_ms", "cost.usd_per_million_output_tokens"};

// True iff the machine could run the scenario.
bool has_run(const RunResult& result) { return result.turn_count > 0; }

bool is_a_share(const std::string& metric) {
  return metric == "token_hit_rate" || metric.starts_with("utilization.");
}

}  // namespace

bool can_win(const RunResult& result) { return !result.is_bound && result.policy != "ideal"; }

std::size_t best_of(const std::vector<RunResult>& results) {
  std::size_t best = results.size();
  for (std::size_t i = 0; i < results.size(); ++i) {
    const double value = results[i].number("mean_ttft_ms");
    if (!can_win(results[i]) || std::isnan(value)) continue;
    if (best == results.size() || value < results[best].number("mean_ttft_ms")) best = i;
  }
  return best;
}

const std::vector<std::string>& model_metrics() {
  static const std::vector<std::string> metrics = [] {
    std::vector<std::string> names;
    for (const char* latency : {"ttft_ms", "service_ttft_ms", "itl_ms", "tpot_ms", "e2el_ms"}) {
      for (const char* statistic : {"mean_", "median_", "p90_", "p99_"}) {
        names.push_back(std::string(statistic) + latency);
      }
    }
    for (const char* name : {"token_hit_rate", "output_throughput", "request_throughput", "request_goodput",
                             "utilization.gpu", "cost.usd_per_hour", "cost.usd_per_million_output_tokens"}) {
      names.emplace_back(name);
    }
    return names;
  }();
  return metrics;
}

std::vector<ModelInterval> model_intervals(const RunResult& result, const RunResult& nominal,
                                           const std::vector<RunResult>& drawn) {
  std::vector<ModelInterval> intervals;
  for (const std::string& metric : model_metrics()) {
    const double value = result.number(metric), reference = nominal.number(metric);
    if (!std::isfinite(value) || !std::isfinite(reference) || reference <= 0) continue;
    std::vector<double> ratios;
    for (const RunResult& one : drawn) {
      if (has_run(one) && std::isfinite(one.number(metric))) ratios.push_back(one.number(metric) / reference);
    }
    if (ratios.empty()) continue;
    std::sort(ratios.begin(), ratios.end());
    const double most = is_a_share(metric) ? 1 : std::numeric_limits<double>::infinity();
    intervals.push_back({metric, std::min(most, value * quantile_of_sorted(ratios, (1 - kModelShare) / 2)),
                         std::min(most, value * quantile_of_sorted(ratios, (1 + kModelShare) / 2)),
                         static_cast<int64_t>(ratios.size())});
  }
  return intervals;
}

double on_machine(double value, double nominal, double drawn) {
  return nominal > 0 && value > 0 ? value * drawn / nominal : value + drawn - nominal;
}

std::vector<Ranking> rankings(const std::vector<std::string>& labels, const std::vector<RunResult>& results,
                              const std::vector<RunResult>& nominal,
                              const std::vector<std::vector<RunResult>>& drawn) {
  const auto value = [&](std::size_t s, std::size_t d, const char* metric) {
    return on_machine(results[s].number(metric), nominal[s].number(metric), drawn[s][d].number(metric));
  };
  KVCAP_CHECK(labels.size() == drawn.size());
  std::vector<Ranking> all;
  for (std::size_t a = 0; a < drawn.size(); ++a) {
    for (std::size_t b = 0; b < drawn.size(); ++b) {
      if (a == b) continue;
      for (const char* metric : kRanked) {
        double wins = 0, machines = 0;
        for (std::size_t d = 0; d < drawn[a].size(); ++d) {
          const double one = value(a, d, metric), other = value(b, d, metric);
          const bool one_runs = has_run(drawn[a][d]) && !std::isnan(one);
          const bool other_runs = has_run(drawn[b][d]) && !std::isnan(other);
          if (!one_runs && !other_runs) continue;
          ++machines;
          if (one_runs && (!other_runs || one < other)) {
            wins += 1;
          } else if (one_runs && one == other) {
            wins += 0.5;
          }
        }
        if (machines > 0) all.push_back({labels[a], labels[b], metric, wins / machines});
      }
    }
  }
  return all;
}

std::string reversed_ranking(const std::vector<std::string>& labels, const std::vector<RunResult>& results,
                             const std::vector<RunResult>& nominal, int64_t sessions) {
  const std::size_t best = best_of(results);
  std::string others;
  for (std::size_t i = 0; i < results.size() && best < results.size(); ++i) {
    if (!can_win(results[i])) continue;
    if (nominal[i].number("mean_ttft_ms") < nominal[best].number("mean_ttft_ms")) {
      others += (others.empty() ? "" : ", ") + labels[i];
    }
  }
  if (others.empty()) return "";
  return "runs of " + format_count(sessions, "session") + " rank " + others + " before " + labels[best] +
         ", but whole runs do not: drawn machines may affect short runs and whole runs differently";
}

}  // namespace kvcap
