#include "plan/sizes.h"

#include <algorithm>
#include <cmath>

#include "base/input_error.h"
#include "run/billing.h"
#include "run/machine.h"
#include "scenario/fields.h"
#include "scenario/load.h"

namespace kvcap {
namespace {

constexpr double kSizeShares[] = {1.0 / 64, 1.0 / 32, 1.0 / 16, 1.0 / 8, 1.0 / 4, 1.0 / 2, 1};

std::string setting(std::string_view part, std::string_view key, double value) {
  return "hardware." + std::string(part) + "." + std::string(key) + "=" + number_text(value);
}

Changes ssd_settings(const Ssd& ssd, double share) {
  const double devices = share * static_cast<double>(ssd.count);
  const bool is_bought = ssd.purchase_usd > 0;
  // The tolerance absorbs rounding errors of whole numbers.
  if (devices >= 1 || is_bought) return {setting("ssd", "count", std::max(1.0, std::ceil(devices - 1e-9)))};
  Changes changes = {setting("ssd", "count", 1)};
  const auto divide = [&](std::string_view key, double whole) {
    if (whole > 0) changes.push_back(setting("ssd", key, devices * whole));
  };
  divide("capacity_bytes", ssd.capacity_bytes);
  divide("read_bandwidth_bytes_per_s", ssd.read_bandwidth_bytes_per_s);
  divide("write_bandwidth_bytes_per_s", ssd.write_bandwidth_bytes_per_s);
  divide("endurance_bytes", ssd.endurance_bytes);
  divide("power_w", ssd.power_w);
  return changes;
}

// True iff a field of the dimension can change which tiers exist or which are used.
bool matters(const Dimension& dimension) {
  return std::any_of(dimension.paths.begin(), dimension.paths.end(), [](const std::string& path) {
    for (Tier tier : kHostTiers) {
      if (path == "hardware." + std::string(name(tier))) return true;
    }
    return path == "hardware" || path.starts_with("policy");
  });
}

}  // namespace

Changes size_settings(const HardwareProfile& hardware, Tier tier, double share) {
  if (tier == Tier::ssd) return ssd_settings(*hardware.ssd, share);
  const std::optional<Devices>& devices = hardware.devices[index(tier)];
  const double whole_bytes = devices ? devices->capacity_bytes : tier_facts(hardware, tier)->capacity_bytes;
  return {setting(name(tier), "capacity_bytes", share * whole_bytes)};
}

bool keeps_anything(const Scenario& scenario) {
  const Keep keep = *with_preset(scenario.policy).keep;
  return keep != Keep::none && keep != Keep::all;
}

bool keeps_in(const Scenario& scenario, Tier tier) {
  if (!keeps_anything(scenario)) return false;
  if (!scenario.policy.tiers) return true;
  return std::any_of(scenario.policy.tiers->begin(), scenario.policy.tiers->end(),
                     [tier](const TierOptions& one) { return one.kind == tier; });
}

const OpenSizes::Open& OpenSizes::find(const Plan& plan, const Changes& changes) {
  const auto [found, is_new] = known_.try_emplace(changes);
  Open& open = found->second;
  if (!is_new) return open;
  try {
    const Scenario scenario = load_scenario(plan.base, changes);
    open.hardware = scenario.hardware;
    for (Tier tier : unsized_tiers(scenario)) {
      // A tier without a price needs no search.
      if (keeps_in(scenario, tier) && usd_per_gb_hour(scenario.hardware, tier) > 0)
        open.tiers.push_back(tier);
    }
  } catch (const InputError&) {  // an invalid configuration; its run reports the error
  }
  return open;
}

Changes size_changes(const Plan& plan, const Point& point, const Changes& others) {
  Changes changes;
  const OpenSizes::Open& open = plan.open_sizes->find(plan, others);
  for (std::size_t d = 0; d < plan.search.size(); ++d) {
    const std::optional<Tier> tier = plan.search[d].size_of;
    if (!tier || std::find(open.tiers.begin(), open.tiers.end(), *tier) == open.tiers.end()) continue;
    const Changes settings = size_settings(open.hardware, *tier, kSizeShares[point[d]]);
    changes.insert(changes.end(), settings.begin(), settings.end());
  }
  return changes;
}

void add_size_ladders(Plan& plan) {
  if (!plan.minimize.starts_with("cost.")) return;
  auto sizes = std::make_shared<OpenSizes>();
  std::vector<Tier> found;
  // Tries every combination of the dimensions that matter; all others stay at their first value.
  Point point(plan.search.size(), 0);
  do {
    for (Tier tier : sizes->find(plan, changes_at(plan, point)).tiers) {
      if (std::find(found.begin(), found.end(), tier) == found.end()) found.push_back(tier);
    }
  } while (next_point(plan, point, [&](std::size_t d) { return matters(plan.search[d]); }));
  if (found.empty()) return;
  std::sort(found.begin(), found.end());
  plan.open_sizes = std::move(sizes);
  for (Tier tier : found) {
    Dimension ladder{
        .paths = {"size of " + std::string(name(tier))}, .values = {}, .numbers = {}, .is_range = true};
    ladder.size_of = tier;
    for (double share : kSizeShares) ladder.values.push_back(number_text(share));
    plan.search.push_back(std::move(ladder));
  }
}

std::vector<BoughtSize> bought_sizes(const Plan& plan, const Changes& changes) {
  const Scenario scenario = load_scenario(plan.base, changes);
  std::vector<BoughtSize> sizes;
  for (Tier tier : kHostTiers) {
    if (!has_tier(scenario.hardware, tier)) continue;
    const TierFacts facts = *tier_facts(scenario.hardware, tier);
    const bool is_used = keeps_in(scenario, tier);
    // Devices that the rent includes cost nothing if they stay empty.
    if (!is_used && !(chooses_devices(scenario, tier) && facts.rent_free_bytes < facts.capacity_bytes))
      continue;
    BoughtSize& bought =
        sizes.emplace_back(BoughtSize{.tier = tier, .bytes = facts.capacity_bytes, .is_used = is_used});
    if (scenario.policy.tiers && !has_count(tier)) {
      for (const TierOptions& one : *scenario.policy.tiers) {
        if (one.kind == tier) bought.bytes = one.capacity_bytes.value_or(bought.bytes);
      }
    }
    if (!plan.open_sizes) continue;
    // Without the settings of the ladder, the tier has the size of the profile.
    Changes others = changes;
    const bool is_searched = std::any_of(plan.search.begin(), plan.search.end(),
                                         [tier](const Dimension& one) { return one.size_of == tier; });
    std::erase_if(others, [&](const std::string& change) {
      return is_searched && change.starts_with("hardware." + std::string(name(tier)) + ".");
    });
    if (others.size() == changes.size()) continue;
    bought.profile_bytes = tier_facts(load_scenario(plan.base, others).hardware, tier)->capacity_bytes;
  }
  return sizes;
}

}  // namespace kvcap
