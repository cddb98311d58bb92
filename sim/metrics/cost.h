// Cost of a run: GPUs and provisioned tiers for its whole duration, remote requests, the wear of bought SSDs
// and the energy that the machine drew. The costs are multiplied by the numbers of replicas and nodes here.
//
// Totals cover the run from the first arrival to the last answer. Figures per hour, per day or per generated
// token cover the window of the rates, which excludes the start and the end of the run if they serve few
// turns.
//
// billed_bytes: per tier, over all nodes: the provisioned capacity; for tiers that are billed by use, the
// peak of the fullest node times the number of nodes.
//
// gpu_usd, dram_usd, ssd_usd: hourly price (rent, or purchase written off evenly) x hours. remote_usd: hourly
// price x hours + the price of its requests. Bytes that the GPUs' rent includes cost nothing. Null if the
// price is not known. Without a price of the GPUs there is no total; without a price of a tier, the total
// does not include that tier, and storage_usd is null.
//
// ssd_wear_usd: the part of the devices' price that the writes used up, written bytes / rated writes x price.
// A device lasts until its years or its rated writes are used up, whichever is first. At a steady rate its
// price per hour is therefore the larger of price / years and price x rate / rated writes, and the total
// takes the larger of ssd_usd and ssd_wear_usd, never both. Rented devices wear out at the provider's
// expense: their wear is priced at the profile's replacement price, to compare with the rent, and is in no
// total. Null if no price or no endurance is stated. ssd_writes.lifetime_years is rated writes / writes per
// year.
//
// energy.kwh: pue x (energy of the GPUs, at busy watts while their group computes and at idle watts
// otherwise, and of the provisioned share of DRAM and SSDs). The busy watts of the shipped profiles are the
// board's power limit. Memory-bound decoding draws less, so this is an upper bound. pue covers processors,
// fans and switches. energy_usd is part of total_usd only if the GPUs are bought: rent includes power.
//
// storage_usd: dram_usd, remote_usd and the larger of ssd_usd and ssd_wear_usd. It is compared with the GPU
// time that storing saves: saved_gpu_hours is the prefill time of the hit tokens, each restoration as one
// prefill from scratch on an idle machine, less what the restorations computed (projections, layers and
// tokens computed again, identification). The time that a GPU waits for loads does not count. Storing is
// cheaper than computing if usd_per_saved_gpu_hour is below usd_per_gpu_hour. storage_usd_per_hit is per turn
// with a hit.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "metrics/recorded.h"
#include "metrics/recorder.h"
#include "metrics/result.h"
#include "metrics/statistics/stability.h"

namespace kvcap {

// Sums over turns; rejected turns are excluded.
struct Served {
  double input_tokens = 0;  // history included
  double output_tokens = 0;
  int64_t hit_turns = 0;
};

// Returns billed_bytes.*, cost.*, energy.*, saved_gpu_hours and ssd_writes.*, in the order in which they are
// written. NaN if a price, an endurance or a power is not stated, or if a denominator is 0 or tiny. `served`:
// sums over the run. `in_window`: sums of what was computed inside `window`.
std::vector<Metric> cost_metrics(const Recorded& recorded, const RunFacts& facts, const Served& served,
                                 const Window& window, const Served& in_window);

}  // namespace kvcap
