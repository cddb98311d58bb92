// Confidence intervals over replications, by Student's t. metrics/statistics/batch_means.h has intervals
// within one run.
#pragma once

#include <span>

namespace kvcap {

// Returns the p-quantile of Student's t with `degrees` degrees of freedom, 0 < p < 1, to about 1e-12
// relative.
double student_t_quantile(double p, int degrees);

// A mean over independent replications and the half-width of its interval; the half-width is NaN for a single
// replication.
struct MeanInterval {
  double mean = 0;
  double half_width = 0;
};
// Returns one - other, or 0 if the difference may be a rounding error.
double real_difference(double one, double other);
MeanInterval mean_interval(std::span<const double> values, double confidence = 0.95);

}  // namespace kvcap
