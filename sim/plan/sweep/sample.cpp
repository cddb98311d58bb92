#include "plan/sweep/sample.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/random.h"

namespace kvcap {

std::vector<double> sample(SampleMethod method, std::size_t points, uint64_t seed, std::string_view name) {
  const RandomStream stream(seed, "sweep " + std::string(name));
  std::vector<double> values(points);
  for (std::size_t i = 0; i < points; ++i) values[i] = stream.uniform(i);
  if (method == SampleMethod::random) return values;
  std::vector<std::size_t> order(points);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&stream](std::size_t a, std::size_t b) {
    return std::pair(stream.uniform(a, 1), a) < std::pair(stream.uniform(b, 1), b);
  });
  for (std::size_t slice = 0; slice < points; ++slice) {
    double& value = values[order[slice]];
    value = (static_cast<double>(slice) + value) / static_cast<double>(points);
  }
  return values;
}

}  // namespace kvcap
