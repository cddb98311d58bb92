#include "cost/prices.h"

#include "spec/tiers.h"

namespace kvcap {
double gpu_usd_per_hour(const HardwareProfile& hardware) {
  const Gpu& gpu = hardware.gpu;
  return gpu.price_usd_per_hour + written_off_usd_per_hour(gpu.purchase_usd, gpu.amortization_years);
}

double usd_per_gb_hour(const HardwareProfile& hardware, Tier tier) {
  return tier_facts(hardware, tier)->usd_per_gb_hour;
}

double store_usd(const HardwareProfile& hardware, Tier tier, double bytes, double seconds) {
  return bytes / 1e9 * (seconds / 3600) * usd_per_gb_hour(hardware, tier);
}

double watts_per_gb(const HardwareProfile& hardware, Tier tier) {
  return tier_facts(hardware, tier)->watts_per_gb;
}

}  // namespace kvcap
