// What a run costs: GPUs and provisioned tiers for its whole duration, remote requests one by one, the wear
// of bought SSDs and the energy that the machine drew. One function, so that whatever multiplies a machine
// multiplies it here.
//
// Totals are of the run from the first arrival to the last answer. What is per hour, per day or per generated
// token is of the window of its rates: a beginning and an end that serve few are no part of it.
//
// billed_bytes: of each tier, over all nodes: its provisioned capacity, or for tiers that bill what they fill
// the most that one node stored, for every node.
//
// gpu_usd, dram_usd, ssd_usd: hourly price (rent, or purchase written off evenly) x hours. remote_usd: the
// same and the price of requests.
//
// ssd_wear_usd: the part of the devices' price that the writes used up, written bytes / rated writes x
// price. A device ends when its years are over or its rated writes are, whichever is first; at a steady rate
// its price per hour is therefore the larger of price / years and price x rate / rated writes, and the total
// takes the larger of ssd_usd and ssd_wear_usd, never both. Rented devices wear out at the landlord's
// expense: their wear is at the replacement price of the profile, to compare with the rent, and in no total.
// Null where neither price or no endurance is stated. ssd_writes.lifetime_years is rated writes / writes a
// year.
//
// energy.kwh: pue x (GPUs at idle watts throughout, busy watts instead while a group computes, and the
// provisioned share of DRAM and SSDs). The busy watts of the shipped profiles are the board's limit, which
// memory-bound decoding stays below, so that this is an upper bound; processors, fans and switches are for
// pue to contain. energy_usd is part of total_usd only where the GPUs are bought: rent includes power.
//
// storage_usd: dram_usd, remote_usd and the larger of ssd_usd and ssd_wear_usd. It is set against what
// storing saves: saved_gpu_hours is the prefill of the tokens that were found, each restoration as one
// prefill from scratch on an idle machine, less what restoring them computed (projections, layers and tokens
// computed again, identification); a GPU that waits for loads is not busy for them. usd_per_saved_gpu_hour
// below usd_per_gpu_hour says that storing is cheaper than computing. storage_usd_per_hit: per turn that
// found any.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "metrics/recorded.h"
#include "metrics/recorder.h"
#include "metrics/result.h"
#include "metrics/statistics/stability.h"

namespace kvcap {

// How a note begins that says of storage that nobody chose its size.
inline constexpr std::string_view kBillsAll = "bills all ";

// Rejected turns are left out.
struct Served {
  double input_tokens = 0;  // history counts
  double output_tokens = 0;
  int64_t hit_turns = 0;
};

// billed_bytes.*, cost.*, energy.*, saved_gpu_hours and ssd_writes.*, in the order in which they are written.
// NaN where a price, an endurance or a power is not stated, or a denominator is 0 or next to it. `served` are
// the turns of the run, `in_window` what was computed of them inside `window`.
std::vector<Metric> cost_metrics(const Recorded& recorded, const RunFacts& facts, const Served& served,
                                 const Window& window, const Served& in_window);

}  // namespace kvcap
