// How a scenario's engines share its machines: how many engines there are, which ranks share experts, and
// which part of a node each rank has.
#pragma once

#include <cstdint>

#include "scenario/scenario.h"
#include "spec/expert_placement.h"

namespace kvcap {

// Returns the number of engines of all replicas.
int64_t engines(const Scenario& scenario);
// Returns the number of engines that have tiers, which are all engines except those that only decode.
int64_t storing_engines(const Scenario& scenario);
// Returns the number of ranks that share experts and step together.
int64_t ranks_in_lockstep(const Scenario& scenario);
// Returns the placement of the model's experts; empty if it has none.
ExpertPlacement expert_placement(const Scenario& scenario);
// Returns the part of the node's hardware that each of its data_parallel_size engines has: an equal part of
// the capacity and bandwidth of DRAM, SSDs, NICs and the remote tier's link. An engine never gets bandwidth
// that the others leave unused. PCIe and NVLink belong to GPUs and are not divided.
HardwareProfile share_of_rank(const Scenario& scenario);
// Returns the rank's part of `bytes` of a node's tier.
double rank_bytes(const Scenario& scenario, Tier tier, double bytes);

}  // namespace kvcap
