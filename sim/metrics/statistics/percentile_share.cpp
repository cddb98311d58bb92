#include "metrics/statistics/percentile_share.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "metrics/turn_means.h"

namespace kvcap {
namespace {

constexpr std::pair<std::string_view, double> kPercentiles[] = {
    {"median_", 0.5}, {"p90_", 0.1}, {"p95_", 0.05}, {"p99_", 0.01}};

struct Percentile {
  double share = 0;
  const TurnMean* latency = nullptr;
};

std::optional<Percentile> percentile(std::string_view metric) {
  for (const auto& [prefix, share] : kPercentiles) {
    if (!metric.starts_with(prefix)) continue;
    for (const TurnMean& one : turn_means())
      if (!one.latency.empty() && one.latency == metric.substr(prefix.size())) return Percentile{share, &one};
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> allowed_share(std::string_view metric) {
  const auto found = percentile(metric);
  return found ? std::optional(found->share) : std::nullopt;
}

double share_beyond(std::span<const TurnRecord> turns, std::string_view metric, double bound_ms) {
  const auto found = percentile(metric);
  KVCAP_CHECK(found);
  int64_t all = 0, beyond = 0;
  for (const TurnRecord& turn : turns) {
    if (turn.warmup || turn.rejected) continue;
    const Stretches::Sums latency = found->latency->of(turn);
    if (!(latency.weight > 0)) continue;
    ++all;
    beyond += turn.failed || latency.value > bound_ms;
  }
  if (all == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(beyond) / static_cast<double>(all);
}

std::string beyond_share_name(std::string_view metric) {
  std::string name = "beyond_share.";
  return name.append(metric);
}

}  // namespace kvcap
