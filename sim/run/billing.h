// Computes what a run is billed for: its GPUs, as a share of a server or as whole servers, and the tiers that
// its policy uses.
//
// A tier is billed at its whole capacity. If the scenario does not set its size, only what the run fills is
// billed; with billing.storage "provisioned" the profile's whole capacity is billed, and a note says so.
// Storage that the GPUs' rent includes is not billed again.
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

// Returns the scenario with a size for each tier whose size was not set: what the run filled of one node's
// tier, rounded up to a whole GiB per GPU. A tier that stayed empty remains without a size.
Scenario with_filled_sizes(Scenario scenario, const RunResult& result);

}  // namespace kvcap
