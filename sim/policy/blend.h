// CacheBlend's decisions as pure functions (EuroSys '25, 4.3 and 5.1): how many tokens to compute again,
// layer by layer, and where chunks should lie.
//
// With ratio r every layer computes the share r of the tokens that were found while the next layer's are
// loaded. `prefill_s` and `load_s` below are of the same tokens, both for one layer or both for all.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/tier.h"

namespace kvcap {

// r*: the least ratio whose answers the paper finds as good as full recomputation's.
inline constexpr double kLeastRecomputeRatio = 0.15;

// T_recompute(r) = r Prefill / efficiency, and no more than Prefill: at worst all tokens are computed. With
// efficiency 1 it is the paper's estimate. 0 < efficiency <= 1 is what scattered tokens reach of a whole
// prefill's speed.
double recompute_s(double ratio, double prefill_s, double efficiency);

// The loading controller's ratio, min(1, max(r*, the greatest r with T_recompute(r) <= T_load)).
double controlled_ratio(double load_s, double prefill_s, double efficiency);

// Gradual filtering: each layer computes slightly fewer tokens than the one before. Ratios of `layers`
// layers, falling, with mean `ratio`, none above 1. How steeply is not printed; from 1.2 to 0.8 of the mean
// is assumed.
std::vector<double> filtered_ratios(double ratio, int64_t layers);

// A place for chunks, with the time and the price of these very chunks.
struct StorageDevice {
  Tier tier = Tier::ssd;
  double load_s = 0;
  double store_usd = 0;
};
// The cheapest device whose loading hides behind `recompute_s`, the faster one where prices are equal;
// nothing when none is fast enough.
std::optional<Tier> cheapest_device(std::span<const StorageDevice> devices, double recompute_s);

}  // namespace kvcap
