// Route: the links that bytes cross between two tiers of one node, for one tensor-parallel group.
//
// A transfer over several links is cut through: it flows over all of them at once, so alone it takes as
// long as its slowest link needs. The t GPUs of a group read disjoint shares in lockstep, so their t PCIe
// links are one link t times as wide.
//
// What a link needs depends on the pieces that the bytes come in. Where the profile has its curve, `bytes` in
// n pieces take bytes / rate(bytes / (n t)): each GPU has its own share of every piece, and all devices of
// the link work side by side at the rate that pieces of this size reach. Without a curve an overhead a
// request (a DMA set-up, an SSD command) is added; requests are spread over the devices of the link.
//
//   ssd -> hbm     ssd_read, pcie_h2d          (through DRAM, twice its bandwidth, when not gpu_direct)
//   dram -> hbm    dram, pcie_h2d
//   remote -> hbm  remote, dram, pcie_h2d      and the other direction likewise; dram <-> ssd, remote
#pragma once

#include <vector>

#include "base/resource.h"
#include "base/tier.h"
#include "spec/hardware_profile.h"
#include "spec/tiers.h"

namespace kvcap {

struct Hop {
  Resource resource = Resource::dram;
  double bytes_per_s = 0;  // of the link, all devices together
  double request_s = 0;    // overhead of one request, divided by the devices that work side by side
  int crossings = 1;       // 2: the bytes enter and leave this memory
  RateCurve curve{};       // of one device; empty: bytes_per_s and request_s
  double devices = 1;      // that work side by side
};

struct Route {
  std::vector<Hop> hops;
  double latency_s = 0;  // to the first byte, once a transfer
  double ranks = 1;      // GPUs that share every piece

  // Seconds that `bytes` in `requests` pieces take on an otherwise idle route, without the latency. No
  // requests: in pieces so large that their number does not count.
  double seconds(double bytes, double requests) const;
  // Rate of the slowest link.
  double bytes_per_s() const;
};

// REQUIRES: from != to, and the profile has both tiers (hbm always).
Route route(const HardwareProfile& hardware, int64_t tensor_parallel_size, Tier from, Tier to);

}  // namespace kvcap
