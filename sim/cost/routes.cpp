#include "cost/routes.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace kvcap {

namespace {

double seconds_on(const Hop& hop, double bytes, double requests, double ranks) {
  if (hop.curve.empty() || requests <= 0 || bytes <= 0) {
    return bytes * hop.crossings / hop.bytes_per_s + requests * hop.request_s;
  }
  const double curve_bytes_per_s = hop.devices * hop.curve.bytes_per_s(bytes / (requests * ranks));
  return bytes * hop.crossings / std::min(hop.bytes_per_s, curve_bytes_per_s);
}

}  // namespace

double Route::seconds(double bytes, double requests) const {
  double slowest_s = 0;
  for (const Hop& hop : hops) {
    slowest_s = std::max(slowest_s, seconds_on(hop, bytes, requests, ranks));
  }
  return slowest_s;
}

double Route::bytes_per_s() const {
  double slowest = std::numeric_limits<double>::infinity();
  for (const Hop& hop : hops) slowest = std::min(slowest, hop.bytes_per_s / hop.crossings);
  return slowest;
}

namespace {

Hop device_hop(const TierFacts& facts, bool reading) {
  const TierLink& link = reading ? facts.read : facts.write;
  return {.resource = link.resource,
          .bytes_per_s = link.bytes_per_s,
          .request_s = link.request_s,
          .curve = link.curve,
          .devices = link.devices};
}

}  // namespace

Route route(const HardwareProfile& hardware, int64_t tensor_parallel_size, Tier from, Tier to) {
  KVCAP_CHECK(from != to && has_tier(hardware, from) && has_tier(hardware, to));
  Route result{.hops = {}, .ranks = static_cast<double>(tensor_parallel_size)};
  const Tier far = std::max(from, to);
  const bool reading = from == far;  // towards the GPU
  const TierFacts far_facts = *tier_facts(hardware, far);
  result.hops.push_back(device_hop(far_facts, reading));
  result.latency_s = far_facts.latency_s;

  const Tier near = std::min(from, to);
  if (near == Tier::hbm) {
    const auto gpus = static_cast<double>(tensor_parallel_size);
    const Pcie& pcie = hardware.pcie;
    // The direct path of an SSD bypasses DRAM. Without DRAM in the profile, all paths do.
    if (!far_facts.reaches_gpu && hardware.dram) {
      result.hops.push_back(
          {.resource = Resource::dram, .bytes_per_s = hardware.dram->bandwidth_bytes_per_s, .crossings = 2});
    }
    result.hops.push_back(
        {.resource = reading ? Resource::pcie_h2d : Resource::pcie_d2h,
         .bytes_per_s = gpus * (reading ? pcie.h2d_bandwidth_bytes_per_s : pcie.d2h_bandwidth_bytes_per_s),
         .request_s = pcie.request_overhead_s / gpus,
         .curve = RateCurve(reading ? pcie.h2d_curve : pcie.d2h_curve),
         .devices = gpus});
  } else {
    result.hops.push_back(device_hop(*tier_facts(hardware, near), !reading));
  }
  return result;
}

}  // namespace kvcap
