#include "metrics/cost.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/float_values.h"

namespace kvcap {
namespace {

constexpr double kSecondsPerHour = 3600;
constexpr double kSecondsPerDay = 86400;
constexpr double kDaysPerYear = 365;
constexpr double kJoulesPerKwh = 3.6e6;
// SSD makers state the rated writes ("TBW", JEDEC JESD218) for a warranty of five years: in their data
// sheets, TBW over 5 years equals the stated drive writes per day.
constexpr double kEnduranceDays = 5 * kDaysPerYear;

// Returns amount / among; NaN if `among` is not positive, or so small that the quotient overflows.
double ratio(double amount, double among) {
  const double share = among > 0 ? amount / among : kNaN;
  return std::isinf(share) ? kNaN : share;
}

// Money, energy and writes between two times.
struct Spending {
  double hours = 0;
  double gpu = 0, wear = 0;  // dollars
  PerTier tiers{};
  double storage = 0;  // NaN if the price of a tier is not known
  double total = 0;
  double kwh = 0, energy = 0;
  double written_bytes = 0;  // writes to SSDs
};

// Returns the number of engines that have tiers.
int64_t storing_replicas(const RunFacts& facts) {
  return facts.prefill_replicas > 0 ? facts.prefill_replicas : facts.replicas;
}

// Returns the share of a tier's provisioned bytes that is billed: 1 or, if the tier is billed by use, the
// share that the fullest node fills.
double billed_share(const Recorded& recorded, const RunFacts& facts, Tier tier) {
  if (!facts.bills_filled[index(tier)]) return 1;
  const RecordedLevel& stored = recorded[stored_in(tier)];
  const bool is_shared = facts.shared_remote && tier == Tier::remote;
  const double filled =
      is_shared ? stored.peak : static_cast<double>(storing_replicas(facts)) * stored.node_peak;
  return std::min(1.0, filled / facts.tier_bytes[index(tier)]);
}

double kwh_drawn(const Recorded& recorded, const RunFacts& facts, const Window& window) {
  if (facts.gpu_busy_w < 0) return kNaN;
  const double busy_s =
      recorded.busy[static_cast<std::size_t>(Resource::gpu)].integral(window.from_s, window.to_s);
  const double decoding_s = facts.prefill_replicas > 0
                                ? busy_s - recorded.prefill_gpu_busy.integral(window.from_s, window.to_s)
                                : 0;
  const double busy_gpu_s = static_cast<double>(facts.gpus_per_group) * (busy_s - decoding_s) +
                            static_cast<double>(facts.gpus_per_decoding_group) * decoding_s;
  double joules = static_cast<double>(facts.gpus) * facts.gpu_idle_w * window.length_s() +
                  (facts.gpu_busy_w - facts.gpu_idle_w) * busy_gpu_s;
  for (Tier tier : kTiers)
    joules += billed_share(recorded, facts, tier) * facts.tier_w[index(tier)] * window.length_s();
  return facts.pue * joules / kJoulesPerKwh;
}

double usd_per_hour(const Recorded& recorded, const RunFacts& facts, Tier tier) {
  const double usd = facts.tier_usd_per_hour[index(tier)];
  const double bytes = facts.tier_bytes[index(tier)], free_bytes = facts.tier_free_bytes[index(tier)];
  const double share = billed_share(recorded, facts, tier);
  if (share == 1 || !(bytes > free_bytes)) return usd;
  return std::max(0.0, share * bytes - free_bytes) / (bytes - free_bytes) * usd;
}

Spending spent(const Recorded& recorded, const RunFacts& facts, const Window& window) {
  Spending spent;
  const double hours = spent.hours = window.length_s() / kSecondsPerHour;
  spent.gpu = facts.gpu_usd_per_hour * hours;
  for (Tier tier : kHostTiers) spent.tiers[index(tier)] = usd_per_hour(recorded, facts, tier) * hours;
  spent.tiers[index(Tier::remote)] +=
      facts.remote_usd_per_request * recorded.remote_requests.integral(window.from_s, window.to_s);
  spent.written_bytes = recorded.written_to_ssds.integral(window.from_s, window.to_s);
  const bool ssds_are_bought = facts.ssd_purchase_usd > 0;
  const double ssds_usd = ssds_are_bought ? facts.ssd_purchase_usd : facts.ssd_replacement_usd;
  spent.wear = ssds_usd > 0 ? ratio(spent.written_bytes * ssds_usd, facts.ssd_endurance_bytes) : kNaN;
  spent.kwh = kwh_drawn(recorded, facts, window);
  spent.energy = facts.usd_per_kwh < 0 ? kNaN : spent.kwh * facts.usd_per_kwh;
  // fmax returns the other value if one is NaN. Rented devices wear out at the provider's expense.
  PerTier paid = spent.tiers;
  double& ssd = paid[index(Tier::ssd)];
  if (ssds_are_bought) ssd = std::fmax(ssd, spent.wear);
  const double own_energy = facts.gpus_are_bought && !std::isnan(spent.energy) ? spent.energy : 0;
  spent.total = spent.gpu + own_energy;
  for (double usd : paid) {
    spent.storage += usd;
    if (!std::isnan(usd)) spent.total += usd;
  }
  return spent;
}

}  // namespace

std::vector<Metric> cost_metrics(const Recorded& recorded, const RunFacts& facts, const Served& served,
                                 const Window& window, const Served& in_window) {
  const Spending all = spent(recorded, facts, {0, facts.duration_s});
  const Spending steady = spent(recorded, facts, window);
  const double saved_gpu_hours = (recorded.reused_prefill_s - recorded.restore_compute_s) *
                                 static_cast<double>(facts.gpus_per_group) / kSecondsPerHour;
  // Devices that stay empty save nothing, whatever the GPU's own cache reuses.
  const double storage = facts.stored_bytes_per_token > 0 ? all.storage : kNaN;
  const double bytes_per_day = steady.written_bytes / window.length_s() * kSecondsPerDay;
  std::vector<Metric> metrics;
  for (Tier tier : kTiers) {
    if (!facts.names_tier(tier)) continue;
    metrics.push_back({"billed_bytes." + std::string(name(tier)),
                       billed_share(recorded, facts, tier) * facts.tier_bytes[index(tier)]});
  }
  metrics.push_back({"cost.gpu_usd", all.gpu});
  for (Tier tier : kHostTiers) {
    if (!facts.names_tier(tier)) continue;
    metrics.push_back({"cost." + std::string(name(tier)) + "_usd", all.tiers[index(tier)]});
  }
  const std::vector<Metric> money = {
      {"cost.total_usd", all.total},
      {"cost.usd_per_hour", steady.total / steady.hours},
      {"cost.usd_per_million_output_tokens", ratio(1e6 * steady.total, in_window.output_tokens)},
      {"cost.usd_per_million_tokens",
       ratio(1e6 * steady.total, in_window.output_tokens + in_window.input_tokens)},
      {"cost.ssd_wear_usd", all.wear},
      {"cost.energy_usd", all.energy},
      {"cost.storage_usd", all.storage},
      {"cost.storage_usd_per_hit", ratio(storage, static_cast<double>(served.hit_turns))},
      {"cost.usd_per_gpu_hour", ratio(facts.gpu_usd_per_hour, static_cast<double>(facts.gpus))},
      {"cost.usd_per_saved_gpu_hour", ratio(storage, saved_gpu_hours)},
      {"saved_gpu_hours", saved_gpu_hours},
      {"energy.kwh", all.kwh},
      {"energy.joules_per_output_token", ratio(steady.kwh * kJoulesPerKwh, in_window.output_tokens)},
      {"ssd_writes.bytes_per_day", bytes_per_day},
      // A share of 1 uses up the rated writes in exactly five years.
      {"ssd_writes.rated_share", ratio(bytes_per_day * kEnduranceDays, facts.ssd_endurance_bytes)},
      {"ssd_writes.lifetime_years",
       facts.ssd_endurance_bytes > 0 ? ratio(facts.ssd_endurance_bytes, bytes_per_day * kDaysPerYear) : kNaN},
  };
  metrics.insert(metrics.end(), money.begin(), money.end());
  return metrics;
}

}  // namespace kvcap
