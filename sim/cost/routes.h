// Route: the links that bytes cross between two tiers of one node, for one tensor-parallel group.
//
// A transfer over several links is cut-through: it flows over all of them at once, so a transfer that is
// alone takes as long as on its slowest link. The t GPUs of a group read disjoint shares in lockstep, so
// their t PCIe links act as one link with t times the bandwidth.
//
// The time on a link depends on the size of the pieces, the requests into which a transfer is divided. If the
// profile has a curve, `bytes` in n pieces take bytes / rate(bytes / (n t)): each GPU has its own share of
// every piece, and all devices of the link work concurrently at the rate for pieces of this size. Without a
// curve, an overhead per request (a DMA set-up, an SSD command) is added; requests are divided over the
// devices of the link.
//
//   ssd -> hbm     ssd_read, pcie_h2d          (without gpu_direct also dram, crossed twice)
//   dram -> hbm    dram, pcie_h2d
//   remote -> hbm  remote, dram, pcie_h2d
//
// Other routes: the opposite directions, and between dram, ssd and remote.
#pragma once

#include <vector>

#include "base/resource.h"
#include "base/tier.h"
#include "spec/hardware_profile.h"
#include "spec/tiers.h"

namespace kvcap {

struct Hop {
  Resource resource = Resource::dram;
  double bytes_per_s = 0;  // the link, all devices together
  double request_s = 0;    // overhead per request, divided by `devices`
  int crossings = 1;       // 2 for memory that the bytes enter and leave
  RateCurve curve{};       // per device; empty: bytes_per_s and request_s
  double devices = 1;      // devices that work concurrently
};

struct Route {
  std::vector<Hop> hops;
  double latency_s = 0;  // until the first byte arrives, once per transfer
  double ranks = 1;      // GPUs that share every piece

  // Returns the seconds that `bytes` in `requests` pieces take on an otherwise idle route, without the
  // latency. With 0 requests, the overhead per piece is ignored.
  double seconds(double bytes, double requests) const;
  // Returns the rate of the slowest link.
  double bytes_per_s() const;
};

// Returns the route between two tiers. REQUIRES: from != to, and the profile has both tiers (hbm always).
Route route(const HardwareProfile& hardware, int64_t tensor_parallel_size, Tier from, Tier to);

}  // namespace kvcap
