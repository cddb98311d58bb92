// Adds storage sizes to the dimensions of a plan if the plan neither searches nor sets them: a ladder of
// shares of the profile's size, 1/64, 1/32, ... 1, for each tier that some configuration uses. Every rung is
// a set of hardware settings, so that `kvcap run` can repeat it and bills only that size.
//
// DRAM, CXL memory and remote storage are divided by bytes, SSDs by devices. SSDs that are rented by the GB
// are also divided into parts of a device, with the same share of its bandwidth and of its rated writes;
// bought devices stay whole. Each rung has at most the resources and at most the cost of the next one, so
// that a ladder is a range (Dimension::is_range).
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
// True iff contexts may be stored in this tier; contexts in GPU memory do not count as a host tier.
bool keeps_in(const Scenario& scenario, Tier tier);

// Finds the tiers whose size a configuration leaves open. Resolves each configuration once.
class OpenSizes {
 public:
  struct Open {
    HardwareProfile hardware;  // of the plan's base with the changes
    std::vector<Tier> tiers;   // empty if the changes are not a valid scenario
  };
  const Open& find(const Plan& plan, const Changes& changes);

 private:
  std::map<Changes, Open> known_;
};

// Returns the ladder settings of a configuration whose other changes are `others`. REQUIRES: plan.open_sizes.
Changes size_changes(const Plan& plan, const Point& point, const Changes& others);

// Appends a ladder for each tier that some configuration leaves unsized. Does so only if a cost is minimized,
// because otherwise the largest size is best.
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
