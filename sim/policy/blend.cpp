#include "policy/blend.h"

#include <algorithm>
#include <tuple>

namespace kvcap {
namespace {

constexpr double kFilteringTilt = 0.2;

}  // namespace

double recompute_s(double ratio, double prefill_s, double efficiency) {
  return std::min(1.0, ratio / efficiency) * prefill_s;
}

double controlled_ratio(double load_s, double prefill_s, double efficiency) {
  const double hidden = load_s >= prefill_s ? 1 : efficiency * load_s / prefill_s;
  return std::min(1.0, std::max(kLeastRecomputeRatio, hidden));
}

std::vector<double> filtered_ratios(double ratio, int64_t layers) {
  std::vector<double> ratios(static_cast<std::size_t>(layers), ratio);
  if (layers < 2) return ratios;
  const double tilt = std::min(kFilteringTilt * ratio, 1 - ratio);
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    ratios[i] += tilt * (1 - 2 * static_cast<double>(i) / static_cast<double>(layers - 1));
  }
  return ratios;
}

std::optional<Tier> cheapest_device(std::span<const StorageDevice> devices, double recompute_s) {
  const StorageDevice* cheapest = nullptr;
  for (const StorageDevice& device : devices) {
    if (device.load_s > recompute_s) continue;
    const auto order = [](const StorageDevice& one) { return std::tuple(one.store_usd, one.load_s); };
    if (!cheapest || order(device) < order(*cheapest)) cheapest = &device;
  }
  if (!cheapest) return std::nullopt;
  return cheapest->tier;
}

}  // namespace kvcap
