// Hourly prices of GPUs and storage from a profile: the rent, plus the purchase price divided by the hours of
// amortization_years. This is an even write-off; purchase_usd must include interest, resale and other costs.
#pragma once

#include <cstdint>

#include "base/tier.h"
#include "spec/hardware_profile.h"

namespace kvcap {

// Returns the price of one GPU; 0: not known.
double gpu_usd_per_hour(const HardwareProfile& hardware);
// Returns how many GPUs of one node are paid for: `count`, a share of a server, or all GPUs of its servers.
int64_t billed_gpus(const Gpu& gpu, bool whole_servers);
// Returns the price of `bytes` provisioned bytes of a tier. Rented devices and DRAM are paid per byte.
// Purchased SSDs are paid in full, because contexts are striped over all devices and no part of a device can
// be purchased. Bytes that the GPUs' rent includes cost nothing. REQUIRES: the profile has the tier.
double tier_usd_per_hour(const HardwareProfile& hardware, Tier tier, double bytes);
// False if the profile states no price of the tier, and the GPUs' rent does not include it. REQUIRES: the
// profile has the tier.
bool has_price(const HardwareProfile& hardware, Tier tier);
// Returns the mean price of a provisioned tier; 0 for hbm, which is part of the GPU's price. REQUIRES: the
// profile has the tier.
double usd_per_gb_hour(const HardwareProfile& hardware, Tier tier);
// Returns C_store of CacheBlend 5.1: the price of `bytes` in a tier for `seconds`.
double store_usd(const HardwareProfile& hardware, Tier tier, double bytes, double seconds);
// Returns the power of a provisioned GB of a tier; 0 for hbm (part of the GPU's power) and for remote (not
// modelled). REQUIRES: the profile has the tier.
double watts_per_gb(const HardwareProfile& hardware, Tier tier);

}  // namespace kvcap
