#include "cost/routes.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace kvcap {

double Route::seconds(double bytes, double requests) const {
  double slowest_s = 0;
  for (const Hop& hop : hops) {
    slowest_s = std::max(slowest_s, bytes * hop.crossings / hop.bytes_per_s + requests * hop.request_s);
  }
  return slowest_s;
}

double Route::bytes_per_s() const {
  double slowest = std::numeric_limits<double>::infinity();
  for (const Hop& hop : hops) slowest = std::min(slowest, hop.bytes_per_s / hop.crossings);
  return slowest;
}

bool has_tier(const HardwareProfile& hardware, Tier tier) {
  switch (tier) {
    case Tier::hbm:
      return true;
    case Tier::dram:
      return hardware.dram.has_value();
    case Tier::ssd:
      return hardware.ssd.has_value();
    case Tier::remote:
      return hardware.remote.has_value();
  }
  return false;
}

namespace {

Hop device_hop(const HardwareProfile& hardware, Tier tier, bool reading) {
  if (tier == Tier::ssd) {
    const Ssd& ssd = *hardware.ssd;
    const auto count = static_cast<double>(ssd.count);
    return {reading ? Resource::ssd_read : Resource::ssd_write,
            count * (reading ? ssd.read_bandwidth_bytes_per_s : ssd.write_bandwidth_bytes_per_s),
            ssd.request_overhead_s / count};
  }
  if (tier == Tier::remote) return {Resource::remote, hardware.remote->bandwidth_bytes_per_s, 0};
  return {Resource::dram, hardware.dram->bandwidth_bytes_per_s, 0};
}

}  // namespace

Route route(const HardwareProfile& hardware, int64_t tensor_parallel_size, Tier from, Tier to) {
  KVCAP_CHECK(from != to && has_tier(hardware, from) && has_tier(hardware, to));
  Route result;
  const Tier far = std::max(from, to);
  const bool reading = from == far;  // towards the GPU
  result.hops.push_back(device_hop(hardware, far, reading));
  if (far == Tier::remote) result.latency_s = hardware.remote->latency_s;

  const Tier near = std::min(from, to);
  if (near == Tier::hbm) {
    const auto gpus = static_cast<double>(tensor_parallel_size);
    const Pcie& pcie = hardware.pcie;
    // The direct path of an SSD goes around DRAM; a profile without DRAM has nothing to go through.
    const bool direct = far == Tier::dram || (far == Tier::ssd && hardware.ssd->gpu_direct);
    if (!direct && hardware.dram) {
      result.hops.push_back({Resource::dram, hardware.dram->bandwidth_bytes_per_s, 0, 2});
    }
    result.hops.push_back({reading ? Resource::pcie_h2d : Resource::pcie_d2h,
                           gpus * (reading ? pcie.h2d_bandwidth_bytes_per_s : pcie.d2h_bandwidth_bytes_per_s),
                           pcie.request_overhead_s / gpus});
  } else {
    result.hops.push_back(device_hop(hardware, near, !reading));
  }
  return result;
}

}  // namespace kvcap
