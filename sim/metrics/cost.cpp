#include "metrics/cost.h"

#include <cmath>
#include <limits>

namespace kvcap {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kSecondsPerHour = 3600;
constexpr double kSecondsPerDay = 86400;
constexpr double kDaysPerYear = 365;
constexpr double kJoulesPerKwh = 3.6e6;
// SSD makers state rated writes for a warranty of five years: JEDEC JESD218's "TBW" over 5 years is the
// drive writes per day of the same data sheet.
constexpr double kEnduranceDays = 5 * kDaysPerYear;

// NaN where there is nothing to share it among, or so little that no number is as large.
double ratio(double amount, double among) {
  const double share = among > 0 ? amount / among : kNaN;
  return std::isinf(share) ? kNaN : share;
}

double kwh_drawn(const Recorded& recorded, const RunFacts& facts) {
  if (facts.gpu_busy_w < 0) return kNaN;
  const double busy_s = recorded.busy[static_cast<std::size_t>(Resource::gpu)].integral(facts.duration_s);
  double joules = static_cast<double>(facts.gpus) * facts.gpu_idle_w * facts.duration_s +
                  static_cast<double>(facts.gpus_per_group) * (facts.gpu_busy_w - facts.gpu_idle_w) * busy_s;
  for (double watts : facts.tier_w) joules += watts * facts.duration_s;
  return facts.pue * joules / kJoulesPerKwh;
}

}  // namespace

std::vector<Metric> cost_metrics(const Recorded& recorded, const RunFacts& facts, const Served& served) {
  const double hours = facts.duration_s / kSecondsPerHour;
  const double gpu = facts.gpu_usd_per_hour * hours;
  const double dram = facts.tier_usd_per_hour[index(Tier::dram)] * hours;
  const double ssd = facts.tier_usd_per_hour[index(Tier::ssd)] * hours;
  const double remote = facts.tier_usd_per_hour[index(Tier::remote)] * hours +
                        facts.remote_usd_per_request * recorded.requests[index(Tier::remote)];
  const double written_bytes = recorded.written_bytes[index(Tier::ssd)];
  const double wear = facts.ssd_purchase_usd > 0
                          ? ratio(written_bytes * facts.ssd_purchase_usd, facts.ssd_endurance_bytes)
                          : kNaN;
  const double kwh = kwh_drawn(recorded, facts);
  const double energy = facts.usd_per_kwh < 0 ? kNaN : kwh * facts.usd_per_kwh;
  const double storage = dram + std::fmax(ssd, wear) + remote;  // fmax: the other where one is NaN
  const double own_energy = facts.gpus_are_bought && !std::isnan(energy) ? energy : 0;
  const double total = gpu + storage + own_energy;

  const double saved_gpu_hours = (recorded.reused_prefill_s - recorded.restore_compute_s) *
                                 static_cast<double>(facts.gpus_per_group) / kSecondsPerHour;
  const auto output_tokens = static_cast<double>(served.output_tokens);
  const double bytes_per_day = written_bytes / facts.duration_s * kSecondsPerDay;
  return {
      {"cost.gpu_usd", gpu},
      {"cost.dram_usd", dram},
      {"cost.ssd_usd", ssd},
      {"cost.remote_usd", remote},
      {"cost.total_usd", total},
      {"cost.usd_per_hour", total / hours},
      {"cost.usd_per_million_output_tokens", ratio(1e6 * total, output_tokens)},
      {"cost.usd_per_million_tokens",
       ratio(1e6 * total, output_tokens + static_cast<double>(served.input_tokens))},
      {"cost.ssd_wear_usd", wear},
      {"cost.energy_usd", energy},
      {"cost.storage_usd", storage},
      {"cost.storage_usd_per_hit", ratio(storage, static_cast<double>(served.hit_turns))},
      {"cost.usd_per_gpu_hour", ratio(facts.gpu_usd_per_hour, static_cast<double>(facts.gpus))},
      {"cost.usd_per_saved_gpu_hour", ratio(storage, saved_gpu_hours)},
      {"saved_gpu_hours", saved_gpu_hours},
      {"energy.kwh", kwh},
      {"energy.joules_per_output_token", ratio(kwh * kJoulesPerKwh, output_tokens)},
      {"ssd_writes.bytes_per_day", bytes_per_day},
      // 1: written so fast that the rated writes are used up in exactly five years.
      {"ssd_writes.rated_share", ratio(bytes_per_day * kEnduranceDays, facts.ssd_endurance_bytes)},
      {"ssd_writes.lifetime_years",
       facts.ssd_endurance_bytes > 0 ? ratio(facts.ssd_endurance_bytes, bytes_per_day * kDaysPerYear) : kNaN},
  };
}

}  // namespace kvcap
