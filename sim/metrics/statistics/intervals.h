// Confidence intervals over replications, by Student's t. Inside one run: metrics/statistics/batch_means.h.
#pragma once

#include <span>

namespace kvcap {

// The p-quantile of Student's t with `degrees` degrees of freedom, 0 < p < 1, to about 1e-12 relative.
double student_t_quantile(double p, int degrees);

// Mean and half the width of its interval over independent replications; the half-width is NaN for a single
// one.
struct MeanInterval {
  double mean = 0;
  double half_width = 0;
};
MeanInterval mean_interval(std::span<const double> values, double confidence = 0.95);

}  // namespace kvcap
