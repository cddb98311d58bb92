#include "spec/tiers.h"

namespace kvcap {
namespace {

constexpr double kHoursPerYear = 365 * 24;
constexpr double kBytesPerGb = 1e9;

TierFacts facts_of(const Dram& dram) {
  const TierLink link{Resource::dram, dram.bandwidth_bytes_per_s, 0};
  return {.capacity_bytes = dram.capacity_bytes,
          .usd_per_gb_hour = dram.price_usd_per_gb_hour +
                             written_off_usd_per_hour(dram.purchase_usd_per_gb, dram.amortization_years),
          .watts_per_gb = dram.power_w / (dram.capacity_bytes / kBytesPerGb),
          .read = link,
          .write = link,
          .reaches_gpu = true,
          .price_date = dram.price_date};
}

TierFacts facts_of(const Ssd& ssd) {
  const auto count = static_cast<double>(ssd.count);
  const double device_gb = ssd.capacity_bytes / kBytesPerGb;
  return {
      .capacity_bytes = count * ssd.capacity_bytes,
      .usd_per_gb_hour = ssd.price_usd_per_gb_hour +
                         written_off_usd_per_hour(ssd.purchase_usd / device_gb, ssd.amortization_years),
      .watts_per_gb = ssd.power_w / device_gb,
      .read = {Resource::ssd_read, count * ssd.read_bandwidth_bytes_per_s, ssd.request_overhead_s / count,
               RateCurve(at_queue_depth(ssd.read_curve, ssd.queue_depth)), count},
      .write = {Resource::ssd_write, count * ssd.write_bandwidth_bytes_per_s, ssd.request_overhead_s / count,
                RateCurve(at_queue_depth(ssd.write_curve, ssd.queue_depth)), count},
      .reaches_gpu = ssd.gpu_direct,
      .price_date = ssd.price_date};
}

TierFacts facts_of(const Remote& remote) {
  const TierLink link{Resource::remote, remote.bandwidth_bytes_per_s, 0, RateCurve(remote.curve)};
  return {.capacity_bytes = remote.capacity_bytes,
          .usd_per_gb_hour = remote.price_usd_per_gb_hour,
          .read = link,
          .write = link,
          .latency_s = remote.latency_s,
          .price_date = remote.price_date};
}

TierFacts facts_of(const Devices& devices, Tier tier) {
  const auto count = static_cast<double>(devices.count);
  return {
      .capacity_bytes = count * devices.capacity_bytes,
      .usd_per_gb_hour = devices.price_usd_per_gb_hour +
                         written_off_usd_per_hour(devices.purchase_usd_per_gb, devices.amortization_years),
      .watts_per_gb = devices.power_w / (devices.capacity_bytes / kBytesPerGb),
      .read = {.resource = tier_row(tier).read, .bytes_per_s = count * devices.read_bandwidth_bytes_per_s},
      .write = {.resource = tier_row(tier).write, .bytes_per_s = count * devices.write_bandwidth_bytes_per_s},
      .latency_s = devices.latency_s,
      .reaches_gpu = devices.gpu_direct,
      .price_date = devices.price_date};
}

template <class Part, class... Tiers>
std::optional<TierFacts> facts_of(const std::optional<Part>& part, Tiers... tier) {
  if (!part) return std::nullopt;
  return facts_of(*part, tier...);
}

// Returns the tier's facts with the bytes that the GPUs' rent includes. The rent never includes purchased
// parts.
template <class Part>
std::optional<TierFacts> with_rent(const Gpu& gpu, const std::optional<Part>& part, double purchase_usd) {
  std::optional<TierFacts> facts = facts_of(part);
  const bool is_free = facts && gpu.price_includes_storage && gpu.purchase_usd == 0 && purchase_usd == 0;
  if (is_free) facts->rent_free_bytes = part->included_bytes.value_or(facts->capacity_bytes);
  return facts;
}

}  // namespace

std::optional<TierFacts> tier_facts(const HardwareProfile& hardware, Tier tier) {
  switch (tier) {
    case Tier::hbm:
      return TierFacts{};
    case Tier::dram:
      return with_rent(hardware.gpu, hardware.dram, hardware.dram ? hardware.dram->purchase_usd_per_gb : 0);
    case Tier::ssd:
      return with_rent(hardware.gpu, hardware.ssd, hardware.ssd ? hardware.ssd->purchase_usd : 0);
    case Tier::remote:
      return facts_of(hardware.remote);
    default:
      return facts_of(hardware.devices[index(tier)], tier);
  }
}

bool has_tier(const HardwareProfile& hardware, Tier tier) { return tier_facts(hardware, tier).has_value(); }

double written_off_usd_per_hour(double purchase_usd, double years) {
  return purchase_usd / (years * kHoursPerYear);
}

}  // namespace kvcap
