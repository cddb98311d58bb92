#include "run/billing.h"

#include <algorithm>
#include <string>

#include "base/text/format.h"
#include "base/text/note.h"
#include "metrics/cost.h"
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
  if (scenario.policy.tiers) {
    const std::vector<TierOptions>& tiers = *scenario.policy.tiers;
    const auto found =
        std::find_if(tiers.begin(), tiers.end(), [tier](const TierOptions& one) { return one.kind == tier; });
    return "policy.tiers." + std::to_string(found - tiers.begin()) + ".capacity_bytes";
  }
  return "hardware." + std::string(name(tier)) + (has_count(tier) ? ".count" : ".capacity_bytes");
}

// Adds a note if nothing in the scenario sets the tier's size: then its whole capacity is billed or, with
// "filled", what the run fills.
void bill_unsized(const Scenario& scenario, Tier tier, RunFacts& facts) {
  const bool is_unsized =
      std::find(scenario.unsized.begin(), scenario.unsized.end(), tier) != scenario.unsized.end();
  const double usd_per_hour = facts.tier_usd_per_hour[index(tier)];
  if (!is_unsized || !(usd_per_hour > 0)) return;
  const bool is_whole = tier == Tier::ssd && scenario.hardware.ssd->purchase_usd > 0;
  const std::string all = size_text(tier, facts.tier_bytes[index(tier)]);
  const std::string field = size_field(scenario, tier);
  if (scenario.billing.storage == StorageBilled::filled && !is_whole) {
    facts.bills_filled[index(tier)] = true;
    facts.notes.push_back("bills only what the run fills of " + all + " (billed_bytes." +
                          std::string(name(tier)) + "); a longer run may fill more: " + field +
                          " sets the size");
    return;
  }
  facts.notes.push_back(noted(NoteKind::unsized_bill, all) + ", " + format_number(usd_per_hour) +
                        " $ per hour, because no size is set: " + field + " sets it" +
                        (is_whole ? "" : "; billing.storage=filled bills only what the run fills"));
}

// Returns the tier's bytes per engine, including all copies; if the policy is unbounded, its capacity without
// that option.
double provisioned_bytes(const Scenario& scenario, const StoreTier& tier) {
  TierOptions options{.kind = tier.kind};
  for (const TierOptions& one : scenario.policy.tiers.value_or(std::vector<TierOptions>())) {
    if (one.kind == tier.kind) options = one;
  }
  const auto copies = static_cast<double>(options.replicas);
  if (!scenario.policy.unbounded || tier.kind == Tier::hbm) return copies * tier.capacity_bytes;
  return options.capacity_bytes.value_or(tier_facts(scenario.hardware, tier.kind)->capacity_bytes);
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

void add_prices(const Scenario& scenario, const std::vector<StoreTier>& tiers, RunFacts& facts) {
  const HardwareProfile& hardware = scenario.hardware;
  const int64_t replicas = scenario.fleet.replicas;
  // Nodes that only decode have no tiers.
  const std::optional<DisaggregationOptions>& disaggregation = scenario.fleet.disaggregation;
  const int64_t storing = disaggregation ? disaggregation->prefill_replicas : replicas;
  // Every node is in servers of its own.
  facts.gpus = replicas * billed_gpus(hardware.gpu, scenario.billing.whole_servers);
  facts.gpus_per_group = scenario.serving.tensor_parallel_size;
  facts.gpu_usd_per_hour = static_cast<double>(facts.gpus) * gpu_usd_per_hour(hardware);
  facts.gpus_are_bought = hardware.gpu.purchase_usd > 0;
  for (Tier tier : kTiers) facts.machine_has[index(tier)] = has_tier(hardware, tier);
  for (const StoreTier& tier : tiers) {
    const bool is_shared = scenario.fleet.shared_remote && tier.kind == Tier::remote;
    const double nodes = is_shared ? 1 : static_cast<double>(storing);
    const double ranks = is_shared ? 1 : static_cast<double>(scenario.serving.data_parallel_size);
    const double node_bytes = ranks * provisioned_bytes(scenario, tier);
    const std::size_t which = index(tier.kind);
    facts.tier_bytes[which] = nodes * node_bytes;
    facts.tier_usd_per_hour[which] = nodes * tier_usd_per_hour(hardware, tier.kind, node_bytes);
    facts.tier_w[which] = facts.tier_bytes[which] / 1e9 * watts_per_gb(hardware, tier.kind);
    if (!scenario.policy.unbounded) bill_unsized(scenario, tier.kind, facts);
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

}  // namespace kvcap
