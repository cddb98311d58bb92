#include "cost/prices.h"

namespace kvcap {
namespace {

constexpr double kHoursPerYear = 365 * 24;
constexpr double kBytesPerGb = 1e9;

double written_off_usd_per_hour(double purchase_usd, double years) {
  return purchase_usd / (years * kHoursPerYear);
}

}  // namespace

double gpu_usd_per_hour(const HardwareProfile& hardware) {
  const Gpu& gpu = hardware.gpu;
  return gpu.price_usd_per_hour + written_off_usd_per_hour(gpu.purchase_usd, gpu.amortization_years);
}

double usd_per_gb_hour(const HardwareProfile& hardware, Tier tier) {
  switch (tier) {
    case Tier::hbm:
      return 0;
    case Tier::dram: {
      const Dram& dram = *hardware.dram;
      return dram.price_usd_per_gb_hour +
             written_off_usd_per_hour(dram.purchase_usd_per_gb, dram.amortization_years);
    }
    case Tier::ssd: {
      const Ssd& ssd = *hardware.ssd;
      const double purchase_usd_per_gb = ssd.purchase_usd / (ssd.capacity_bytes / kBytesPerGb);
      return ssd.price_usd_per_gb_hour +
             written_off_usd_per_hour(purchase_usd_per_gb, ssd.amortization_years);
    }
    case Tier::remote:
      return hardware.remote->price_usd_per_gb_hour;
  }
  return 0;
}

double store_usd(const HardwareProfile& hardware, Tier tier, double bytes, double seconds) {
  return bytes / kBytesPerGb * (seconds / 3600) * usd_per_gb_hour(hardware, tier);
}

double watts_per_gb(const HardwareProfile& hardware, Tier tier) {
  switch (tier) {
    case Tier::dram:
      return hardware.dram->power_w / (hardware.dram->capacity_bytes / kBytesPerGb);
    case Tier::ssd:
      return hardware.ssd->power_w / (hardware.ssd->capacity_bytes / kBytesPerGb);
    case Tier::hbm:
    case Tier::remote:
      return 0;
  }
  return 0;
}

}  // namespace kvcap
