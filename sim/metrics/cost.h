// Computes the cost of a run: GPUs and provisioned tiers for its whole duration, remote requests, the wear of
// bought SSDs and the energy that the machine drew. The costs cover all replicas and nodes.
//
// Totals cover the run from the first arrival to the last answer. Figures per hour, per day or per token
// cover the window over which a result's rates are computed, which excludes the start and the end of the run
// if few turns are served then.
//
// billed_bytes: the provisioned capacity of a tier over all nodes. For tiers that are billed by use, the peak
// of the stored bytes on the fullest node times the number of nodes.
//
// gpu_usd, dram_usd, ssd_usd: hourly price (rent, or purchase price written off evenly) x hours. remote_usd:
// hourly price of the remote store x hours + the price of the requests to it. Bytes that the GPUs' rent
// includes cost nothing. Each is null if its price is not known. If the price of the GPUs is not known, there
// is no total; if that of a tier is not known, the total does not include that tier, and storage_usd is null.
//
// ssd_wear_usd: the part of the SSDs' price that the writes used up: written bytes / rated writes x price. A
// device lasts until its years or its rated writes are used up, whichever is first. At a steady write rate,
// its cost per hour is therefore the larger of price / years and price x write rate / rated writes; so the
// total contains the larger of ssd_usd and ssd_wear_usd, never both. Rented devices wear out at the
// provider's expense: their wear is priced at the profile's replacement price, for comparison with the rent,
// and is in no total. Null if no price or no endurance is stated. ssd_writes.lifetime_years is rated writes /
// writes per year.
//
// energy.kwh: pue x (energy of the GPUs + energy of the provisioned share of DRAM and SSDs). A GPU draws its
// busy watts while its group computes and its idle watts otherwise. In the shipped profiles, the busy watts
// are the board's power limit. Memory-bound decoding draws less, so energy.kwh is an upper bound. pue covers
// processors, fans and switches. energy_usd is part of total_usd only if the GPUs are bought, because rent
// includes power.
//
// storage_usd: the sum of dram_usd, remote_usd and the larger of ssd_usd and ssd_wear_usd.
// storage_usd_per_hit is storage_usd per turn with a hit.
//
// saved_gpu_hours: the GPU time that stored state saves. It is the prefill time of the hit tokens, where the
// tokens of each restoration count as one prefill from scratch on an idle machine, minus the GPU time that
// the restorations computed (projections, recomputed layers and tokens, identification of important tokens).
// The time that a GPU waits for loads does not count. Storing is cheaper than computing if
// usd_per_saved_gpu_hour (storage_usd / saved_gpu_hours) is below usd_per_gpu_hour.
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
// written. A metric is NaN if it needs a price, an endurance or a power that is not stated, or if its
// denominator is 0 or tiny. `served`: sums over the run. `in_window`: sums over the work inside `window`.
std::vector<Metric> cost_metrics(const Recorded& recorded, const RunFacts& facts, const Served& served,
                                 const Window& window, const Served& in_window);

}  // namespace kvcap
