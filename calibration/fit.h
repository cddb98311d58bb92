// From times to the numbers of a hardware profile: least squares on ln(model / measured), where the model is
// the simulator's own formula (cost/), so that what is fitted is what will be evaluated. Every model is
// fitted; the one that errs least in the median is taken, and all errors are stated.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibration/sweeps.h"
#include "spec/hardware_profile.h"

namespace kvcap::calibration {

// |model / measured - 1| over the points of a fit.
struct Errors {
  double median = 0;
  double p90 = 0;
  int64_t points = 0;
};
std::string text_of(const Errors& errors);  // "5.2 % in the median, 13 % at the 90th percentile, 840 points"

// Minimises the sum of squares of residuals(x) by Levenberg and Marquardt's method with differences for
// derivatives; returns x.
using Residuals = std::function<std::vector<double>(const std::vector<double>&)>;
std::vector<double> least_squares(const Residuals& residuals, std::vector<double> x);

struct FittedModel {
  Efficiency efficiency;
  Errors errors;
};

// `gpu` gives peak_flops, memory_bandwidth_bytes_per_s and sm_count. Requires at least three points.
FittedModel fit_gemm(EfficiencyModel model, const Gpu& gpu, const std::vector<GemmTime>& times);
// Prefill and decode together; `block_m` of the wave model is the best of 16 to 256.
FittedModel fit_attention(EfficiencyModel model, const Gpu& gpu, const std::vector<AttentionTime>& times);
struct FittedElementwise {
  Elementwise elementwise;
  Errors errors;
};
FittedElementwise fit_elementwise(const Gpu& gpu, const std::vector<ElementwiseTime>& times);

// t = fixed_s + bytes / rate.
struct FittedLink {
  double fixed_s = 0;
  double bytes_per_s = 0;
  Errors errors;
};
struct TransferTime {
  double bytes = 0;
  double time_s = 0;
};
FittedLink fit_link(const std::vector<TransferTime>& times);
// The link of CostModel::all_reduce_s: what one device sends in a ring of t, 2 (t-1)/t of its vector, and a
// time for each sum.
FittedLink fit_all_reduce(const AllReduceSweep& sums);

// A table of the measured GEMMs.
Efficiency gemm_table(const std::vector<GemmTime>& times);

double gemm_flops(const GemmTime& time);
double gemm_bytes(const GemmTime& time);
double attention_flops(const AttentionTime& time);  // of scores and weighted sums of visible keys

}  // namespace kvcap::calibration
