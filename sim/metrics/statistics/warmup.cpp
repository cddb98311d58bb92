#include "metrics/statistics/warmup.h"

namespace kvcap {
WarmupDetector::Found WarmupDetector::find() const {
  Found found{.group = means_.length()};
  const std::size_t count = means_.sums().size() - (means_.last_is_whole() ? 0 : 1);
  if (count * static_cast<std::size_t>(found.group) < kFewestValues) return found;
  // Updates the mean and squared deviations of the last k means, from the end (Welford).
  double mean = 0, squares = 0, least = 0;
  std::size_t cut = count;
  for (std::size_t k = 1; k <= count; ++k) {
    const Stretches::Sums& sums = means_.sums()[count - k];
    const double value = sums.value / sums.weight, step = value - mean;
    mean += step / static_cast<double>(k);
    squares += step * (value - mean);
    if (k < count / 4) continue;
    const double statistic = squares / (static_cast<double>(k) * static_cast<double>(k));
    // Of equally good cuts, takes the one that excludes the fewest values.
    if (cut == count || statistic <= least) {
      least = statistic;
      cut = count - k;
    }
  }
  found.values = static_cast<int64_t>(cut) * found.group;
  found.can_tell = 2 * cut <= count;
  return found;
}

}  // namespace kvcap
