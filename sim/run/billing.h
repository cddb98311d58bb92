// What a run is billed for: GPUs, a share of a server or whole servers, and the tiers that its policy uses.
//
// A tier is billed with its whole capacity, whoever has chosen that. Where nobody did, all that the profile
// has is billed and a note says so, or with billing.storage "filled" what the run fills.
#pragma once

#include <vector>

#include "cost/prices.h"
#include "metrics/recorder.h"
#include "scenario/scenario.h"
#include "spec/tiers.h"
#include "state/store.h"

namespace kvcap {

// Prices, watts and sizes of all nodes together, and notes on what a price leaves out or nobody has chosen.
void add_prices(const Scenario& scenario, const std::vector<StoreTier>& tiers, RunFacts& facts);

}  // namespace kvcap
