#include "cost/expert_load.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace kvcap {

// The integral of 1 - F(x)^n over x > 0 less that of F(x)^n over x < 0.
double mean_largest_normal(int64_t count) {
  KVCAP_CHECK(count >= 1);
  if (count == 1) return 0;
  constexpr double kFar = 9, kStep = 1e-3;
  double sum = 0;
  for (double x = kStep / 2; x < kFar; x += kStep) {
    const double above = std::erfc(x / std::sqrt(2.0)) / 2;  // 1 - F(x) = F(-x)
    const auto n = static_cast<double>(count);
    sum += 1 - std::pow(1 - above, n) - std::pow(above, n);
  }
  return sum * kStep;
}

ExpertLoad::ExpertLoad(int64_t gpus, std::optional<double> imbalance)
    : gpus_(gpus), imbalance_(imbalance), largest_(mean_largest_normal(gpus)) {}

double ExpertLoad::busiest_rows(double rows) const {
  const double mean = rows / static_cast<double>(gpus_);
  if (gpus_ == 1) return rows;
  return std::min(rows, imbalance_ ? *imbalance_ * mean : mean + std::sqrt(mean) * largest_);
}

}  // namespace kvcap
