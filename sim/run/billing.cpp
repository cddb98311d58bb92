#include "run/billing.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/float_values.h"
#include "base/text/format.h"
#include "base/text/note.h"
#include "metrics/cost.h"
#include "run/ranks.h"
#include "scenario/load.h"
#include "scenario/pools.h"
#include "spec/tiers.h"

namespace kvcap {
namespace {

// Returns a size as text: "256 GB of DRAM", "16 TB of SSDs".
std::string size_text(Tier tier, double bytes) {
  const std::string size =
      bytes >= 1e12 ? format_number(bytes / 1e12) + " TB" : format_number(bytes / 1e9) + " GB";
  return size + " of " + std::string(tier_row(tier).stored);
}

// Returns the name of the field that sets the tier's size.
std::string size_field(const Scenario& scenario, Tier tier) {
  if (scenario.policy.tiers && !has_count(tier)) {
    const std::vector<TierOptions>& tiers = *scenario.policy.tiers;
    const auto found =
        std::find_if(tiers.begin(), tiers.end(), [tier](const TierOptions& one) { return one.kind == tier; });
    return "policy.tiers." + std::to_string(found - tiers.begin()) + ".capacity_bytes";
  }
  // The size of a tier on devices does not change how many of them are billed.
  return "hardware." + std::string(name(tier)) + (has_count(tier) ? ".count" : ".capacity_bytes");
}

bool is_unsized(const Scenario& scenario, Tier tier) {
  const std::vector<Tier> unsized = unsized_tiers(scenario);
  return std::find(unsized.begin(), unsized.end(), tier) != unsized.end();
}

// If nothing in the scenario sets a tier's size, only the part that the run fills is billed. Purchased SSDs,
// and all tiers with billing.storage "provisioned", are billed at full capacity. A note states either.
void bill_unsized(const Scenario& scenario, Tier tier, RunFacts& facts) {
  if (!is_unsized(scenario, tier)) return;
  const double usd_per_hour = facts.tier_usd_per_hour[index(tier)];
  const bool is_whole = tier == Tier::ssd && scenario.hardware.ssd->purchase_usd > 0;
  const std::string all = size_text(tier, facts.tier_bytes[index(tier)]);
  const std::string field = size_field(scenario, tier);
  if (scenario.billing.storage == StorageBilled::filled && !is_whole) {
    facts.bills_filled[index(tier)] = true;
    if (usd_per_hour == 0) return;
    facts.notes.push_back("bills only what the run fills of " + all + " (billed_bytes." +
                          std::string(name(tier)) + "); a longer run may fill more: " + field +
                          " sets the size");
  } else if (usd_per_hour > 0) {
    facts.notes.push_back(noted(NoteKind::unsized_bill, all) + ", " + format_number(usd_per_hour) +
                          " $ per hour, because no size is set: " + field + " sets it" +
                          (is_whole ? "" : "; billing.storage=filled bills only what the run fills"));
  }
}

std::string dated(std::string_view what, std::string_view date) {
  return std::string(what) + " " + (date.empty() ? "undated" : std::string(date));
}

// Adds a note on the price of a billed tier, if the GPUs have a price.
void note_price(const Scenario& scenario, Tier tier, RunFacts& facts) {
  const HardwareProfile& hardware = scenario.hardware;
  if (std::isnan(facts.gpu_usd_per_hour)) return;
  const std::string stored(tier_row(tier).stored);
  const TierFacts profile = *tier_facts(hardware, tier);
  if (std::isnan(facts.tier_usd_per_hour[index(tier)])) {
    facts.notes.push_back("cost.total_usd does not include " + stored + ": hardware." +
                          std::string(name(tier)) + " has no price");
  } else if (profile.rent_free_bytes >= profile.capacity_bytes) {
    facts.notes.push_back(noted(NoteKind::price, stored + " in the GPUs' rent"));
  } else {
    facts.notes.push_back(noted(NoteKind::price, dated(stored, profile.price_date)) +
                          (facts.bills_filled[index(tier)] ? ", as filled" : "") +
                          (profile.rent_free_bytes > 0
                               ? ", beyond " + size_text(tier, profile.rent_free_bytes) + " in the GPUs' rent"
                               : ""));
  }
}

// Returns the tier's bytes per engine, including all copies; if the policy is unbounded, its capacity without
// that option.
double engine_bytes(const Scenario& scenario, const StoreTier& tier) {
  TierOptions options{.kind = tier.kind};
  for (const TierOptions& one : scenario.policy.tiers.value_or(std::vector<TierOptions>())) {
    if (one.kind == tier.kind) options = one;
  }
  const auto copies = static_cast<double>(options.replicas);
  if (!scenario.policy.unbounded || tier.kind == Tier::hbm) return copies * tier.capacity_bytes;
  return rank_bytes(
      scenario, tier.kind,
      options.capacity_bytes.value_or(tier_facts(scenario.hardware, tier.kind)->capacity_bytes));
}

// Returns the billed bytes of a tier per node: of all devices, or of the tier's size on all ranks.
double node_bytes(const Scenario& scenario, const StoreTier& tier, double ranks) {
  return has_count(tier.kind) ? tier_facts(scenario.hardware, tier.kind)->capacity_bytes
                              : ranks * engine_bytes(scenario, tier);
}

// Nodes that only decode have no tiers.
int64_t storing_replicas(const Scenario& scenario) {
  const std::optional<DisaggregationOptions>& disaggregation = scenario.fleet.disaggregation;
  return disaggregation ? disaggregation->prefill_replicas : scenario.fleet.replicas;
}

// Counts the GPUs to bill; no two nodes share a server.
void add_gpus(const Scenario& scenario, RunFacts& facts) {
  const auto add = [&](const Scenario& pool, int64_t nodes) {
    facts.gpus += nodes * billed_gpus(pool.hardware.gpu, pool.billing.whole_servers);
    return pool.serving.gpus();
  };
  facts.gpus = 0;
  const int64_t first = storing_replicas(scenario), decoding = scenario.fleet.replicas - first;
  facts.gpus_per_group = add(prefill_scenario(scenario), first);
  if (decoding > 0) facts.gpus_per_decoding_group = add(decode_scenario(scenario), decoding);
}

void add_gpu_price(const HardwareProfile& hardware, RunFacts& facts) {
  const double usd_per_hour = gpu_usd_per_hour(hardware);
  facts.gpu_usd_per_hour = usd_per_hour > 0 ? static_cast<double>(facts.gpus) * usd_per_hour : kNaN;
  facts.notes.push_back(
      usd_per_hour > 0
          ? noted(NoteKind::price, dated(hardware.gpu.name, hardware.gpu.price_date))
          : "there is no cost: hardware.gpu has no price (price_usd_per_hour or purchase_usd sets it)");
}

// Adds the price and the power of `bytes` of a tier on each of `nodes` nodes. Returns the price in $ per
// hour.
double add_bytes(const HardwareProfile& hardware, Tier tier, double nodes, double bytes, RunFacts& facts) {
  const std::size_t which = index(tier);
  const double usd_per_hour =
      has_price(hardware, tier) ? nodes * tier_usd_per_hour(hardware, tier, bytes) : kNaN;
  facts.tier_bytes[which] += nodes * bytes;
  facts.tier_usd_per_hour[which] += usd_per_hour;
  facts.tier_free_bytes[which] += nodes * std::min(bytes, tier_facts(hardware, tier)->rent_free_bytes);
  facts.tier_w[which] += nodes * bytes / 1e9 * watts_per_gb(hardware, tier);
  return usd_per_hour;
}

// Adds a tier that the policy uses, on `storing` nodes.
void add_tier(const Scenario& scenario, const StoreTier& tier, int64_t storing, RunFacts& facts) {
  const bool is_shared = scenario.fleet.shared_remote && tier.kind == Tier::remote;
  const double nodes = is_shared ? 1 : static_cast<double>(storing);
  const double ranks = is_shared ? 1 : static_cast<double>(scenario.serving.data_parallel_size);
  add_bytes(scenario.hardware, tier.kind, nodes, node_bytes(scenario, tier, ranks), facts);
  if (!scenario.policy.unbounded) bill_unsized(scenario, tier.kind, facts);
}

// Adds the devices of a tier that the scenario chooses and that store nothing: those of all nodes that only
// decode and, if the policy does not use the tier, of all others.
void add_empty_devices(const Scenario& fleet, Tier tier, bool is_used, RunFacts& facts) {
  double bytes = 0, usd_per_hour = 0;
  const auto add = [&](const Scenario& pool, int64_t nodes) {
    const double node_bytes = tier_facts(pool.hardware, tier)->capacity_bytes;
    bytes += static_cast<double>(nodes) * node_bytes;
    usd_per_hour += add_bytes(pool.hardware, tier, static_cast<double>(nodes), node_bytes, facts);
  };
  const int64_t storing = storing_replicas(fleet);
  if (!is_used) add(prefill_scenario(fleet), storing);
  if (fleet.fleet.disaggregation) add(decode_scenario(fleet), fleet.fleet.replicas - storing);
  if (!(usd_per_hour > 0)) return;
  facts.notes.push_back(
      "bills empty devices: " + size_text(tier, bytes) + ", " + format_number(usd_per_hour) +
      " $ per hour, because the scenario chooses them (hardware." + std::string(name(tier)) + ")");
}

void add_energy(const HardwareProfile& hardware, RunFacts& facts) {
  if (!hardware.gpu.power_busy_w) return;
  facts.gpu_idle_w = hardware.gpu.power_idle_w;
  facts.gpu_busy_w = *hardware.gpu.power_busy_w;
  facts.pue = hardware.energy.pue;
  facts.usd_per_kwh = hardware.energy.price_usd_per_kwh.value_or(-1);
  if (facts.gpus_are_bought && facts.usd_per_kwh < 0) {
    facts.notes.emplace_back(
        "cost.total_usd does not include energy: hardware.energy has no price_usd_per_kwh");
  } else if (!facts.gpus_are_bought && facts.usd_per_kwh >= 0) {
    facts.notes.emplace_back(
        "cost.total_usd does not include cost.energy_usd: the GPUs' rent includes power");
  }
}

}  // namespace

bool chooses_devices(const Scenario& scenario, Tier tier) {
  const std::vector<Tier>& of_profile = scenario.profile_sized;
  return has_count(tier) && has_tier(scenario.hardware, tier) &&
         std::find(of_profile.begin(), of_profile.end(), tier) == of_profile.end();
}

void add_prices(const Scenario& fleet, const std::vector<StoreTier>& tiers, RunFacts& facts) {
  const Scenario scenario = prefill_scenario(fleet);
  const HardwareProfile& hardware = scenario.hardware;
  const int64_t storing = storing_replicas(fleet);
  add_gpus(fleet, facts);
  add_gpu_price(hardware, facts);
  facts.gpus_are_bought = hardware.gpu.purchase_usd > 0;
  for (Tier tier : kTiers) facts.machine_has[index(tier)] = has_tier(hardware, tier);
  for (const StoreTier& tier : tiers) add_tier(scenario, tier, storing, facts);
  for (Tier tier : kHostTiers) {
    if (!chooses_devices(scenario, tier)) continue;
    const bool is_used =
        std::any_of(tiers.begin(), tiers.end(), [tier](const StoreTier& one) { return one.kind == tier; });
    add_empty_devices(fleet, tier, is_used, facts);
  }
  for (Tier tier : kHostTiers) {
    if (facts.tier_bytes[index(tier)] > 0) note_price(scenario, tier, facts);
  }
  if (hardware.remote) facts.remote_usd_per_request = hardware.remote->price_usd_per_request;
  if (hardware.ssd) {
    const Ssd& ssd = *hardware.ssd;
    const auto devices = static_cast<double>(storing * hardware.ssd->count);
    facts.ssd_endurance_bytes = devices * ssd.endurance_bytes;
    facts.ssd_purchase_usd = devices * ssd.purchase_usd;
    facts.ssd_replacement_usd = devices * ssd.capacity_bytes / 1e9 * ssd.replacement_usd_per_gb;
  }
  add_energy(hardware, facts);
}

Scenario with_filled_sizes(Scenario scenario, const RunResult& result) {
  if (!scenario.policy.tiers) return scenario;
  const int64_t nodes = storing_replicas(scenario);
  const ServingOptions serving = prefill_scenario(scenario).serving;
  constexpr double kGib = 1073741824;
  const double step_bytes = kGib * static_cast<double>(serving.gpus() * serving.data_parallel_size);
  for (TierOptions& tier : *scenario.policy.tiers) {
    if (!is_unsized(scenario, tier.kind)) continue;
    const bool is_shared = scenario.fleet.shared_remote && tier.kind == Tier::remote;
    // If the whole capacity was billed, billed_bytes does not tell how much was filled.
    const bool is_filled = scenario.billing.storage == StorageBilled::filled;
    const std::string metric =
        (is_filled ? "billed_bytes." : "peak_stored_bytes.") + std::string(name(tier.kind));
    const double bytes = result.number(metric) / (is_shared ? 1 : static_cast<double>(nodes));
    if (!(bytes > 0)) continue;
    tier.capacity_bytes = std::min(tier_facts(scenario.hardware, tier.kind)->capacity_bytes,
                                   std::ceil(bytes / step_bytes) * step_bytes);
  }
  return scenario;
}

}  // namespace kvcap
