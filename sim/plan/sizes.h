// Adds storage sizes to the dimensions of a plan that neither searches nor sets them: a ladder of shares of
// the profile's size, 1/64, 1/32, ... 1, for each tier that some configuration uses. Every rung is a set of
// hardware settings, so that `kvcap run` can repeat it and bills only that size.
//
// DRAM, CXL memory and remote storage are sized in bytes, SSDs in devices. SSDs that are rented by the GB may
// also be part of a device, with the same share of its bandwidth and of its rated writes; bought devices stay
// whole. No rung has more resources or a higher cost than the next one, so a ladder is a range
// (Dimension::is_range).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/tier.h"
#include "plan/plan.h"
#include "scenario/scenario.h"

namespace kvcap {

// Returns the hardware settings that provision `share` of the profile's tier. REQUIRES: the profile has the
// tier.
Changes size_settings(const HardwareProfile& hardware, Tier tier, double share);

bool keeps_anything(const Scenario& scenario);
// True iff the scenario may store contexts in this host tier.
bool keeps_in(const Scenario& scenario, Tier tier);

// Finds the tiers whose size a configuration leaves open, i.e. neither sets nor searches. Resolves each
// configuration once.
class OpenSizes {
 public:
  struct Open {
    HardwareProfile hardware;  // hardware of the base scenario with the changes
    std::vector<Tier> tiers;   // empty if the changes are not a valid scenario
  };
  const Open& find(const Plan& plan, const Changes& changes);

 private:
  std::map<Changes, Open> known_;
};

// Returns the size settings that a configuration chooses from the ladders. `others`: its other changes.
// REQUIRES: plan.open_sizes.
Changes size_changes(const Plan& plan, const Point& point, const Changes& others);

// Adds a ladder to the plan for each tier whose size some configuration leaves open. Does nothing unless a
// cost is minimized, because otherwise the largest size is best.
void add_size_ladders(Plan& plan);

// The size of a tier that a configuration pays for.
struct BoughtSize {
  Tier tier = Tier::dram;
  double bytes = 0;
  bool is_used = true;       // false: devices in which the policy stores nothing
  double profile_bytes = 0;  // size in the profile; 0: the size was not searched
};
std::vector<BoughtSize> bought_sizes(const Plan& plan, const Changes& changes);

}  // namespace kvcap
