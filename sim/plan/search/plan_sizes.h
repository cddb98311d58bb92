// Sizes of storage that a plan neither searches nor sets, as variables of the plan: a ladder of shares of
// what the hardware profile has, 1/64, 1/32, ... 1, for each tier that some configuration uses. Every rung is
// settings of the hardware, so that `kvcap run` repeats it and bills that size alone.
//
// DRAM, CXL memory and remote storage are divided by bytes. SSDs are divided into devices; where they are
// rented by the GB also into parts of one, which have their part of its bandwidth and of its rated writes.
// Bought devices are whole. A rung has no more than the next of anything and costs no more, so that ladders
// are ranges.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/tier.h"
#include "plan/search/plan.h"
#include "scenario/scenario.h"

namespace kvcap {

// The settings that buy `share` of what the profile has of a tier. REQUIRES: the profile has it.
Changes size_settings(const HardwareProfile& hardware, Tier tier, double share);

bool keeps_anything(const Scenario& scenario);
// Whether contexts may lie in the tier. One in the GPU is no host tier.
bool keeps_in(const Scenario& scenario, Tier tier);

// What is open in each configuration of a plan, looked up once.
class OpenSizes {
 public:
  // The profile whose tiers are open, of the plan's base with these changes; null where none is, or where
  // they are no scenario. `open` gets the tiers.
  const HardwareProfile* find(const Plan& plan, const Changes& changes, std::vector<Tier>* open);

 private:
  struct Known {
    HardwareProfile hardware;
    std::vector<Tier> open;
  };
  std::map<Changes, Known> known_;
};

// What the ladders add to a configuration whose other changes are `others`. REQUIRES: plan.open_sizes.
Changes size_changes(const Plan& plan, const Point& point, const Changes& others);

// Appends a ladder for each tier whose size some configuration leaves open; only where a cost is minimized,
// for else the most is the best.
void add_size_ladders(Plan& plan);

// What a configuration has bought of a tier.
struct BoughtSize {
  Tier tier = Tier::dram;
  double bytes = 0;
  double profile_bytes = 0;  // that the profile has; 0: the size was not searched
};
std::vector<BoughtSize> bought_sizes(const Plan& plan, const Changes& changes);

}  // namespace kvcap
