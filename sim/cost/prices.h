// Prices of storage, as a profile has them.
#pragma once

#include "base/tier.h"
#include "spec/hardware_profile.h"

namespace kvcap {

// Of a provisioned tier; 0 for hbm, which is part of the GPU's price. REQUIRES: the profile has the tier.
double usd_per_gb_hour(const HardwareProfile& hardware, Tier tier);
// C_store of CacheBlend 5.1: what `bytes` cost for `seconds` in a tier.
double store_usd(const HardwareProfile& hardware, Tier tier, double bytes, double seconds);

}  // namespace kvcap
