// TierFacts: capacity, price, power and links of one tier of a hardware profile. base/tier.h explains how to
// add a kind of tier.
#pragma once

#include <optional>
#include <string_view>

#include "base/resource.h"
#include "base/tier.h"
#include "spec/hardware_profile.h"
#include "spec/rate_curve.h"

namespace kvcap {

struct TierLink {
  Resource resource = Resource::dram;
  double bytes_per_s = 0;  // all devices together
  double request_s = 0;    // overhead per request, divided by `devices`
  RateCurve curve{};       // per device, by the bytes of a request; empty: see bytes_per_s and request_s
  double devices = 1;      // devices that work concurrently
};

struct TierFacts {
  double capacity_bytes = 0;    // all devices; 0 for hbm, whose capacity depends on the model
  double usd_per_gb_hour = 0;   // provisioned; rent or write-off; 0 for hbm: part of the GPU's price
  double rent_free_bytes = 0;   // bytes that the GPUs' rent includes
  double watts_per_gb = 0;      // provisioned; 0 for hbm (part of the GPU's power) and remote (not modelled)
  TierLink read, write;         // links of its devices; hbm has none
  double latency_s = 0;         // time to the first byte of a transfer
  bool reaches_gpu = false;     // without a copy through DRAM
  std::string_view price_date;  // of the profile; empty: not known
};

// Returns nullopt if the profile does not have the tier.
std::optional<TierFacts> tier_facts(const HardwareProfile& hardware, Tier tier);
bool has_tier(const HardwareProfile& hardware, Tier tier);

// Returns the cost per hour of a purchased part, written off evenly over `years`.
double written_off_usd_per_hour(double purchase_usd, double years);

}  // namespace kvcap
