#include "calibration/fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/check.h"
#include "cost/attention.h"
#include "cost/cost_model.h"
#include "cost/gemm.h"

namespace kvcap::calibration {
namespace {

// Map unbounded fit parameters to shares in (0, 1) and to positive seconds.
double share_of(double x) { return 1 / (1 + std::exp(-x)); }
double seconds_of(double x) { return std::exp(x); }
// Rounds times below a clock's resolution (1 ns) to zero.
double stated_s(double x) { return seconds_of(x) < 1e-9 ? 0 : seconds_of(x); }
double of_share(double share) { return std::log(share / (1 - share)); }

double squares(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum;
}

Errors errors_of(const std::vector<double>& ratios) {
  KVCAP_CHECK(!ratios.empty());
  std::vector<double> errors;
  errors.reserve(ratios.size());
  for (const double ratio : ratios) errors.push_back(std::abs(std::exp(ratio) - 1));
  std::sort(errors.begin(), errors.end());
  const auto at = [&](double share) {
    return errors[static_cast<std::size_t>(share * static_cast<double>(errors.size() - 1))];
  };
  return {at(0.5), at(0.9), static_cast<int64_t>(errors.size())};
}

Efficiency efficiency_of(EfficiencyModel model, const std::vector<double>& x) {
  Efficiency efficiency{.model = model, .efficiency = share_of(x[0])};
  if (model == EfficiencyModel::constant) return efficiency;
  efficiency.bandwidth_efficiency = share_of(x[1]);
  efficiency.constant_s = stated_s(x[2]);
  return efficiency;
}

std::vector<double> start_of(EfficiencyModel model) {
  if (model == EfficiencyModel::constant) return {of_share(0.5)};
  return {of_share(0.7), of_share(0.7), std::log(5e-6)};
}

double model_s(const Efficiency& efficiency, const Gpu& gpu, const GemmTime& time) {
  const auto element_bytes = static_cast<double>(bytes_of(time.format));
  return gemm_s(efficiency, gpu, time.m, time.n, time.k, element_bytes, element_bytes, nullptr);
}

double model_s(const Efficiency& efficiency, const Gpu& gpu, const AttentionTime& time) {
  const auto element_bytes = static_cast<double>(bytes_of(time.format));
  if (time.new_tokens > 1) {
    return attention_s(efficiency, gpu, {time.new_tokens, time.cached_tokens}, time.query_heads,
                       time.kv_heads, time.head_dim, element_bytes);
  }
  const AttentionShape shape{
      time.query_heads, time.head_dim, time.head_dim, static_cast<double>(2 * time.kv_heads * time.head_dim),
      element_bytes,    element_bytes, time.kv_heads};
  const DecodeAttention decode = decode_attention(efficiency, gpu, shape);
  return decode.fixed_s +
         decode.per_context_token_s * static_cast<double>(time.batch * (time.cached_tokens + 1));
}

// Returns ln(model / measured) of every point.
template <typename Time, typename Model>
std::vector<double> log_ratios(const std::vector<Time>& times, const Model& model) {
  std::vector<double> ratios;
  ratios.reserve(times.size());
  for (const Time& time : times) ratios.push_back(std::log(model(time) / time.time.time_s));
  return ratios;
}

template <typename Time>
FittedModel fit_model(EfficiencyModel model, const Gpu& gpu, const std::vector<Time>& times,
                      int64_t block_m) {
  const auto residuals = [&](const std::vector<double>& x) {
    Efficiency efficiency = efficiency_of(model, x);
    efficiency.block_m = block_m;
    return log_ratios(times, [&](const Time& time) { return model_s(efficiency, gpu, time); });
  };
  const std::vector<double> x = least_squares(residuals, start_of(model));
  FittedModel fitted{efficiency_of(model, x), errors_of(residuals(x))};
  fitted.efficiency.block_m = block_m;
  return fitted;
}

}  // namespace

std::string text_of(const Errors& errors) {
  char text[120];
  std::snprintf(text, sizeof text, "%.1f %% in the median, %.0f %% at the 90th percentile, %lld points",
                100 * errors.median, 100 * errors.p90, static_cast<long long>(errors.points));
  return text;
}

std::vector<double> least_squares(const Residuals& residuals, std::vector<double> x) {
  constexpr int kSteps = 200;
  constexpr double kDifference = 1e-5;
  constexpr double kConverged = 1e-10;
  constexpr double kLeastDamping = 1e-12;
  constexpr double kMostDamping = 1e12;
  const auto size = static_cast<Eigen::Index>(x.size());
  std::vector<double> r = residuals(x);
  double damping = 1e-2;
  for (int step = 0; step < kSteps && damping < kMostDamping; ++step) {
    Eigen::MatrixXd jacobian(r.size(), size);
    for (Eigen::Index j = 0; j < size; ++j) {
      std::vector<double> moved = x;
      moved[j] += kDifference;
      const std::vector<double> there = residuals(moved);
      for (std::size_t i = 0; i < r.size(); ++i) jacobian(i, j) = (there[i] - r[i]) / kDifference;
    }
    const Eigen::Map<const Eigen::VectorXd> now(r.data(), r.size());
    const Eigen::MatrixXd normal = jacobian.transpose() * jacobian;
    const Eigen::VectorXd gradient = jacobian.transpose() * now;
    // Increases the damping until a step reduces the sum of squares.
    while (damping < kMostDamping) {
      Eigen::MatrixXd damped = normal;
      damped.diagonal() += damping * (normal.diagonal().array() + 1e-9).matrix();
      const Eigen::VectorXd move = damped.ldlt().solve(-gradient);
      std::vector<double> next = x;
      for (Eigen::Index j = 0; j < size; ++j) next[j] = std::clamp(x[j] + move(j), -30.0, 30.0);
      const std::vector<double> there = residuals(next);
      const double before = squares(r);
      const double after = squares(there);
      if (!(after < before)) {
        damping *= 4;
        continue;
      }
      x = next;
      r = there;
      damping = std::max(damping / 3, kLeastDamping);
      if (before - after < kConverged * before) return x;
      break;
    }
  }
  return x;
}

FittedModel fit_gemm(EfficiencyModel model, const Gpu& gpu, const std::vector<GemmTime>& times) {
  KVCAP_CHECK(times.size() >= 3);
  return fit_model(model, gpu, times, Efficiency{}.block_m);
}

FittedModel fit_attention(EfficiencyModel model, const Gpu& gpu, const std::vector<AttentionTime>& times) {
  KVCAP_CHECK(times.size() >= 3);
  if (model != EfficiencyModel::wave) return fit_model(model, gpu, times, Efficiency{}.block_m);
  std::optional<FittedModel> best;
  for (const int64_t block_m : {16, 32, 64, 128, 256}) {
    const FittedModel fitted = fit_model(model, gpu, times, block_m);
    if (!best || fitted.errors.median < best->errors.median) best = fitted;
  }
  return *best;
}

FittedElementwise fit_elementwise(const Gpu& gpu, const std::vector<ElementwiseTime>& times) {
  const auto model = [&](const std::vector<double>& x, const ElementwiseTime& time) {
    return time.bytes / (gpu.memory_bandwidth_bytes_per_s * share_of(x[0])) + seconds_of(x[1]);
  };
  const auto residuals = [&](const std::vector<double>& x) {
    return log_ratios(times, [&](const ElementwiseTime& time) { return model(x, time); });
  };
  const std::vector<double> x = least_squares(residuals, {of_share(0.7), std::log(3e-6)});
  return {{share_of(x[0]), stated_s(x[1])}, errors_of(residuals(x))};
}

FittedLink fit_link(const std::vector<TransferTime>& times) {
  KVCAP_CHECK(times.size() >= 2);
  const TransferTime& largest =
      *std::max_element(times.begin(), times.end(),
                        [](const TransferTime& a, const TransferTime& b) { return a.bytes < b.bytes; });
  const auto residuals = [&](const std::vector<double>& x) {
    std::vector<double> ratios;
    ratios.reserve(times.size());
    for (const TransferTime& time : times) {
      ratios.push_back(std::log((std::exp(x[0]) + time.bytes * std::exp(x[1])) / time.time_s));
    }
    return ratios;
  };
  const std::vector<double> x =
      least_squares(residuals, {std::log(1e-5), std::log(largest.time_s / largest.bytes)});
  return {stated_s(x[0]), std::exp(-x[1]), errors_of(residuals(x))};
}

FittedLink fit_all_reduce(const AllReduceSweep& sums) {
  const auto t = static_cast<double>(sums.devices);
  std::vector<TransferTime> sent;
  for (const CopyTime& sum : sums.times) sent.push_back({2 * (t - 1) / t * sum.bytes, sum.time.time_s});
  return fit_link(sent);
}

Efficiency gemm_table(const std::vector<GemmTime>& times) {
  Efficiency table{.model = EfficiencyModel::table};
  for (const GemmTime& time : times) {
    const auto element_bytes = static_cast<double>(bytes_of(time.format));
    table.points.push_back({time.m, time.n, time.k, time.time.time_s, element_bytes, element_bytes});
  }
  return table;
}

double gemm_flops(const GemmTime& time) {
  return 2 * static_cast<double>(time.m) * static_cast<double>(time.n) * static_cast<double>(time.k);
}

double gemm_bytes(const GemmTime& time) {
  return static_cast<double>(bytes_of(time.format)) *
         static_cast<double>(time.n * time.k + time.m * (time.n + time.k));
}

double attention_flops(const AttentionTime& time) {
  const double pairs = causal_pairs({time.new_tokens, time.cached_tokens});
  return 4 * static_cast<double>(time.batch * time.query_heads * time.head_dim) * pairs;
}

}  // namespace kvcap::calibration
