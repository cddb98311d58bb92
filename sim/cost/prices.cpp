#include "cost/prices.h"

#include <algorithm>

#include "cost/layer_shapes.h"
#include "spec/tiers.h"

namespace kvcap {

double gpu_usd_per_hour(const HardwareProfile& hardware) {
  const Gpu& gpu = hardware.gpu;
  return gpu.price_usd_per_hour + written_off_usd_per_hour(gpu.purchase_usd, gpu.amortization_years);
}

int64_t billed_gpus(const Gpu& gpu, bool whole_servers) {
  const int64_t per_server = gpu.per_server.value_or(gpu.count);
  return whole_servers ? divide_up(gpu.count, per_server) * per_server : gpu.count;
}

double tier_usd_per_hour(const HardwareProfile& hardware, Tier tier, double bytes) {
  if (tier == Tier::ssd && hardware.ssd->purchase_usd > 0) {
    const Ssd& ssd = *hardware.ssd;
    return static_cast<double>(ssd.count) *
           written_off_usd_per_hour(ssd.purchase_usd, ssd.amortization_years);
  }
  const TierFacts facts = *tier_facts(hardware, tier);
  return std::max(0.0, bytes - facts.rent_free_bytes) / 1e9 * facts.usd_per_gb_hour;
}

bool has_price(const HardwareProfile& hardware, Tier tier) {
  const TierFacts facts = *tier_facts(hardware, tier);
  return tier == Tier::hbm || facts.usd_per_gb_hour > 0 || facts.rent_free_bytes > 0 ||
         (tier == Tier::remote && hardware.remote->price_usd_per_request > 0);
}

double usd_per_gb_hour(const HardwareProfile& hardware, Tier tier) {
  const double bytes = tier_facts(hardware, tier)->capacity_bytes;
  return bytes > 0 ? tier_usd_per_hour(hardware, tier, bytes) / (bytes / 1e9) : 0;
}

double store_usd(const HardwareProfile& hardware, Tier tier, double bytes, double seconds) {
  return bytes / 1e9 * (seconds / 3600) * usd_per_gb_hour(hardware, tier);
}

double watts_per_gb(const HardwareProfile& hardware, Tier tier) {
  return tier_facts(hardware, tier)->watts_per_gb;
}

}  // namespace kvcap
