// What a hardware profile says of a tier; base/tier.h says what a new kind takes.
#pragma once

#include <optional>

#include "base/resource.h"
#include "base/tier.h"
#include "spec/hardware_profile.h"
#include "spec/rate_curve.h"

namespace kvcap {

struct TierLink {
  Resource resource = Resource::dram;
  double bytes_per_s = 0;  // of all devices together
  double request_s = 0;    // overhead of one request, divided by the devices that work side by side
  RateCurve curve{};       // of one device over the bytes of a request; empty: bytes_per_s and request_s
  double devices = 1;      // that work side by side
};

struct TierFacts {
  double capacity_bytes = 0;   // of all devices; 0 for hbm, whose room depends on the model
  double usd_per_gb_hour = 0;  // provisioned, rented or written off; 0 for hbm: part of the GPU's price
  double watts_per_gb = 0;     // provisioned; 0 for hbm: the GPU's, and for remote: somebody else's
  TierLink read, write;        // of its devices; hbm has none
  double latency_s = 0;        // to the first byte, once a transfer
  bool reaches_gpu = false;    // its bytes need not be copied through DRAM
};

// Nothing where the profile has no such tier.
std::optional<TierFacts> tier_facts(const HardwareProfile& hardware, Tier tier);
bool has_tier(const HardwareProfile& hardware, Tier tier);

// What a part costs an hour that is bought: written off evenly.
double written_off_usd_per_hour(double purchase_usd, double years);

}  // namespace kvcap
