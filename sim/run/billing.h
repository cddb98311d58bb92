// Billing of a run: its GPUs, as a share of a server or as whole servers, and the tiers that its policy uses.
//
// A tier is billed with its whole capacity. If the scenario does not set its size, the capacity is the
// profile's and a note says so; with billing.storage "filled" only what the run fills is billed.
#pragma once

#include <vector>

#include "cost/prices.h"
#include "metrics/recorder.h"
#include "scenario/scenario.h"
#include "spec/tiers.h"
#include "state/store.h"

namespace kvcap {

// Adds prices, power and sizes for all nodes, and notes on missing prices and on sizes that were not set.
void add_prices(const Scenario& scenario, const std::vector<StoreTier>& tiers, RunFacts& facts);

}  // namespace kvcap
