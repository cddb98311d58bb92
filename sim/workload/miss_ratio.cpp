#include "workload/miss_ratio.h"

#include <algorithm>
#include <cmath>

namespace kvcap {

std::vector<MissRatioPoint> miss_ratio_curve(std::vector<StackFind> found, int64_t prompt_tokens) {
  std::vector<MissRatioPoint> curve;
  if (found.empty()) return curve;
  std::sort(found.begin(), found.end(),
            [](const StackFind& a, const StackFind& b) { return a.distance_tokens < b.distance_tokens; });
  const double least = std::log(static_cast<double>(std::max<int64_t>(found.front().distance_tokens, 1)));
  const int64_t greatest = std::max<int64_t>(found.back().distance_tokens, 1);
  const double step = (std::log(static_cast<double>(greatest)) - least) / (kMissRatioPoints - 1);
  std::size_t next = 0;
  int64_t hits = 0;
  for (int i = 0; i < kMissRatioPoints; ++i) {
    const int64_t capacity = i + 1 == kMissRatioPoints ? greatest
                                                       : std::min(std::llround(std::exp(least + i * step)),
                                                                  static_cast<long long>(greatest));
    if (!curve.empty() && capacity <= curve.back().capacity_tokens) continue;
    for (; next < found.size() && found[next].distance_tokens <= capacity; ++next) hits += found[next].tokens;
    curve.push_back({capacity, 1 - static_cast<double>(hits) / static_cast<double>(prompt_tokens)});
  }
  return curve;
}

}  // namespace kvcap
