#include "cost/prices.h"

namespace kvcap {

double usd_per_gb_hour(const HardwareProfile& hardware, Tier tier) {
  switch (tier) {
    case Tier::hbm:
      return 0;
    case Tier::dram:
      return hardware.dram->price_usd_per_gb_hour;
    case Tier::ssd:
      return hardware.ssd->price_usd_per_gb_hour;
    case Tier::remote:
      return hardware.remote->price_usd_per_gb_hour;
  }
  return 0;
}

double store_usd(const HardwareProfile& hardware, Tier tier, double bytes, double seconds) {
  return bytes / 1e9 * (seconds / 3600) * usd_per_gb_hour(hardware, tier);
}

}  // namespace kvcap
