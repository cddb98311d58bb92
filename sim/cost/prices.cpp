#include "cost/prices.h"

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
  return bytes / 1e9 * usd_per_gb_hour(hardware, tier);
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
