// The tiers that can store state: one row per kind, in order of their distance from the GPU, fastest first.
//
// `table` is true for a kind that has no code of its own: its object in a hardware profile is a Devices
// (spec/hardware_profile.h), and results show it only if the machine has it. A new kind needs a name in the
// enumeration, a row here, links in base/resource.h and an error in spec/machine_errors.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/resource.h"
#include "base/text/names.h"

namespace kvcap {

enum class Tier : uint8_t { hbm, dram, cxl, ssd, remote };

struct TierRow {
  Tier tier;
  std::string_view name;  // in scenarios, profiles and results
  std::string_view title;
  std::string_view stored;   // after an amount: "256 GB of DRAM"
  Resource read, write;      // the resources that reads and writes occupy
  std::string_view meaning;  // meaning of its object in a hardware profile
  bool table = false;
};

inline constexpr std::array kTierRows = {
    TierRow{Tier::hbm, "hbm", "GPU memory", "GPU memory", Resource::gpu, Resource::gpu, ""},
    TierRow{Tier::dram, "dram", "DRAM", "DRAM", Resource::dram, Resource::dram, "memory of the node"},
    TierRow{Tier::cxl, "cxl", "CXL memory", "CXL memory", Resource::cxl_read, Resource::cxl_write,
            "one CXL memory expander, and the number of them", true},
    TierRow{Tier::ssd, "ssd", "SSD", "SSDs", Resource::ssd_read, Resource::ssd_write,
            "one SSD, and the number of SSDs"},
    TierRow{Tier::remote, "remote", "remote", "remote storage", Resource::remote, Resource::remote,
            "storage in the network"},
};

inline constexpr std::size_t kTierCount = kTierRows.size();
constexpr std::size_t index(Tier tier) { return static_cast<std::size_t>(tier); }
constexpr const TierRow& tier_row(Tier tier) { return kTierRows[index(tier)]; }
constexpr std::string_view name(Tier tier) { return tier_row(tier).name; }
// True iff the tier consists of `count` devices, and its capacity is that of one of them.
constexpr bool has_count(Tier tier) { return tier == Tier::ssd || tier_row(tier).table; }

inline constexpr auto kTiers = [] {
  std::array<Tier, kTierCount> tiers{};
  for (std::size_t i = 0; i < kTierCount; ++i) tiers[i] = static_cast<Tier>(i);
  return tiers;
}();
inline constexpr auto kHostTiers = [] {
  std::array<Tier, kTierCount - 1> tiers{};
  for (std::size_t i = 1; i < kTierCount; ++i) tiers[i - 1] = kTiers[i];
  return tiers;
}();
inline constexpr auto kTierNames = [] {
  std::array<std::string_view, kTierCount> names;
  for (Tier tier : kTiers) names[index(tier)] = name(tier);
  return names;
}();
constexpr Names names_of(Tier) { return kTierNames; }
inline constexpr Names kHostNames = Names(kTierNames).subspan(1);
static_assert([] {
  for (std::size_t i = 0; i < kTierCount; ++i) {
    if (kTierRows[i].tier != kTiers[i]) return false;
  }
  return true;
}());

// One number per tier, e.g. bytes read; indexed with index(tier).
using PerTier = std::array<double, kTierCount>;

}  // namespace kvcap
