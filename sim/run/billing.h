// Billing of a run: its GPUs, as a share of a server or as whole servers, the devices whose number or size
// the scenario sets, and the tiers that its policy uses.
//
// Devices (SSDs, CXL expanders) are billed whole, because contexts are striped over all of them: on every
// node if the scenario chooses their number or size in `hardware`, used or not, and else where the policy
// uses them with a size in policy.tiers. DRAM and remote storage are billed with the capacity of the tier. If
// nothing sets a tier's size, only what the run fills is billed; with billing.storage "provisioned" the
// profile's whole capacity is billed, and a note says so. What the GPUs' rent includes is not billed again.
#pragma once

#include <vector>

#include "cost/prices.h"
#include "metrics/recorder.h"
#include "metrics/result.h"
#include "scenario/scenario.h"
#include "spec/tiers.h"
#include "state/store.h"

namespace kvcap {

// Adds prices, power and sizes for all nodes, and notes on the dates of prices, on missing prices and on
// sizes that were not set.
void add_prices(const Scenario& scenario, const std::vector<StoreTier>& tiers, RunFacts& facts);

// True iff the machine has devices of the tier, and the scenario sets their number or their size.
bool chooses_devices(const Scenario& scenario, Tier tier);

// Returns the scenario with a size for each tier whose size was not set: what its run filled of an engine's
// tier, rounded up to a whole GiB per GPU. A tier that stayed empty remains without a size.
Scenario with_filled_sizes(Scenario scenario, const RunResult& result);

}  // namespace kvcap
