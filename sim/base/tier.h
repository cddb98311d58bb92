// Tier: a place that stores KV state, ordered by distance from the GPU: a smaller value is faster.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/names.h"

namespace kvcap {

enum class Tier : uint8_t { hbm, dram, ssd, remote };

inline constexpr std::array<Tier, 4> kTiers = {Tier::hbm, Tier::dram, Tier::ssd, Tier::remote};
inline constexpr std::array<Tier, 3> kHostTiers = {Tier::dram, Tier::ssd, Tier::remote};
inline constexpr std::array<std::string_view, 4> kTierNames = {"hbm", "dram", "ssd", "remote"};
constexpr Names names_of(Tier) { return kTierNames; }

constexpr std::size_t index(Tier tier) { return static_cast<std::size_t>(tier); }
constexpr std::string_view name(Tier tier) { return kTierNames[index(tier)]; }

// One number per tier, e.g. bytes read; indexed by index(tier).
using PerTier = std::array<double, kTiers.size()>;

}  // namespace kvcap
