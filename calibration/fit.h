// Fits the parameters of a hardware profile to measured times: least squares on ln(model / measured). The
// model is the simulator's own formula (cost/), so that fit and simulation agree. The caller fits every model
// and takes the one with the lowest median error; the profile states all errors.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibration/sweeps/sweeps.h"
#include "spec/hardware_profile.h"

namespace kvcap::calibration {

// |model / measured - 1| over the points of a fit.
struct Errors {
  double median = 0;
  double p90 = 0;
  int64_t points = 0;
};
std::string text_of(const Errors& errors);  // "5.2 % in the median, 13 % at the 90th percentile, 840 points"

// Minimises the sum of squares of residuals(x) with the Levenberg-Marquardt method and difference quotients
// as derivatives; returns x.
using Residuals = std::function<std::vector<double>(const std::vector<double>&)>;
std::vector<double> least_squares(const Residuals& residuals, std::vector<double> x);

struct FittedModel {
  Efficiency efficiency;
  Errors errors;
};

// Uses peak_flops, memory_bandwidth_bytes_per_s and sm_count of `gpu`. Requires at least three points.
FittedModel fit_gemm(EfficiencyModel model, const Gpu& gpu, const std::vector<GemmTime>& times);
// Fits prefill and decode together; `block_m` of the wave model is the best of 16 to 256.
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
// Fits the link of CostModel::all_reduce_s: a fixed time per sum, and the bytes that one device sends in a
// ring of t devices, 2 (t-1)/t of its vector.
FittedLink fit_all_reduce(const AllReduceSweep& sums);

// Returns a table of the measured GEMMs.
Efficiency gemm_table(const std::vector<GemmTime>& times);

double gemm_flops(const GemmTime& time);
double gemm_bytes(const GemmTime& time);
double attention_flops(const AttentionTime& time);  // of scores and weighted sums over visible keys

}  // namespace kvcap::calibration
