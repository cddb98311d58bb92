// CacheBlend's decisions as pure functions (EuroSys '25, 4.3 and 5.1): the number of tokens to recompute in
// each layer, and the tier for chunks.
//
// With ratio r, every layer recomputes the share r of the found tokens while the KV of the next layer is
// loaded. `prefill_s` and `load_s` below are for the same tokens, both for one layer or both for all layers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/tier.h"

namespace kvcap {

// r*: the least ratio whose answers, according to the paper, are as good as those of full recomputation.
inline constexpr double kLeastRecomputeRatio = 0.15;

// Returns T_recompute(r) = r Prefill / efficiency, at most Prefill: in the worst case all tokens are
// computed. `efficiency`, above 0 and at most 1, is the speed of recomputing scattered tokens relative to a
// whole prefill; the paper's estimate assumes 1.
double recompute_s(double ratio, double prefill_s, double efficiency);

// Returns the loading controller's ratio, min(1, max(r*, the greatest r with T_recompute(r) <= T_load)).
double controlled_ratio(double load_s, double prefill_s, double efficiency);

// Returns the ratios of gradual filtering, in which each layer computes slightly fewer tokens than the one
// before: `layers` falling ratios with mean `ratio`, none above 1. The paper does not give the slope; the
// ratios are assumed to fall from 1.2 to 0.8 of the mean.
std::vector<double> filtered_ratios(double ratio, int64_t layers);

// A tier that can store chunks, with the time to load them and the price of storing them.
struct StorageDevice {
  Tier tier = Tier::ssd;
  double load_s = 0;
  double store_usd = 0;
};
// Returns the cheapest device that loads within `recompute_s`; of equally cheap devices, the fastest. Returns
// nullopt if no device is fast enough.
std::optional<Tier> cheapest_device(std::span<const StorageDevice> devices, double recompute_s);

}  // namespace kvcap
