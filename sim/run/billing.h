// Billing of a run: GPUs, as a share of a server or as whole servers, and the tiers that its policy uses.
//
// A tier is billed with its whole capacity. A tier without a chosen size is billed with the profile's
// capacity and a note, or with billing.storage "filled" by what the run fills.
#pragma once

#include <vector>

#include "cost/prices.h"
#include "metrics/recorder.h"
#include "scenario/scenario.h"
#include "spec/tiers.h"
#include "state/store.h"

namespace kvcap {

// Adds prices, watts and sizes of all nodes, and notes on missing prices and on sizes that were not chosen.
void add_prices(const Scenario& scenario, const std::vector<StoreTier>& tiers, RunFacts& facts);

}  // namespace kvcap
