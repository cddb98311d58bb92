// Prices of an hour and of storage, as a profile has them: the rent, or where a part is bought its price
// divided by the hours of amortization_years. That is what an owner pays who writes it off evenly; interest,
// resale and whatever else a bought part needs are for purchase_usd to contain.
#pragma once

#include <cstdint>

#include "base/tier.h"
#include "spec/hardware_profile.h"

namespace kvcap {

// One GPU.
double gpu_usd_per_hour(const HardwareProfile& hardware);
// GPUs of one node that are paid for: `count`, a share of a server, or all of the servers that they stand in.
int64_t billed_gpus(const Gpu& gpu, bool whole_servers);
// Of a tier with so many provisioned bytes. What is rented, and DRAM, is paid by the byte. Bought SSDs are
// paid whole, all of them: contexts are striped over every device, and no part of one can be bought.
// REQUIRES: the profile has the tier.
double tier_usd_per_hour(const HardwareProfile& hardware, Tier tier, double bytes);
// Of a provisioned tier; 0 for hbm, which is part of the GPU's price. REQUIRES: the profile has the tier.
double usd_per_gb_hour(const HardwareProfile& hardware, Tier tier);
// C_store of CacheBlend 5.1: what `bytes` cost for `seconds` in a tier.
double store_usd(const HardwareProfile& hardware, Tier tier, double bytes, double seconds);
// What a provisioned GB of a tier draws; 0 for hbm, whose draw is the GPU's, and for remote, whose draw is
// somebody else's. REQUIRES: the profile has the tier.
double watts_per_gb(const HardwareProfile& hardware, Tier tier);

}  // namespace kvcap
