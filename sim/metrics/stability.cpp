#include "metrics/stability.h"

#include <algorithm>
#include <cmath>

namespace kvcap {

bool queue_grew(const TimeSeries& waiting, double window_s, int64_t sessions) {
  if (!(window_s > 0)) return false;
  const auto means = waiting.means(4, window_s);
  const bool rose = means[0] <= means[1] && means[1] < means[2] && means[2] < means[3];
  const double chance = std::max(4.0, std::sqrt(static_cast<double>(sessions)));
  return rose && means[3] >= 1.5 * (means[0] + means[1]) / 2 && means[3] - means[0] > chance;
}

}  // namespace kvcap
