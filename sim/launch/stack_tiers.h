// The tiers that the flags of each stack can name, as the rows of policies have them. Both directions use
// them: reading a line gives a tier its stack's options, and a line is written only for tiers that have just
// these.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "scenario/scenario.h"

namespace kvcap {

// `kind` as policy.tiers names it; a size is that of a line without the flag. nullptr where the flags of the
// policy's stack cannot name such a tier.
const TierOptions* stack_tier(std::string_view policy, std::string_view kind);
// Without a flag for its size a tier has all that the hardware has.
bool has_size_flag(std::string_view policy, std::string_view kind);
// Mooncake Store is a remote tier with an eviction order of its own.
std::string_view kind_name(const TierOptions& tier);

// A tier as a scenario has it: the stack's options, and the members that the line gives (JSON texts by key).
std::string tier_json(const TierOptions& own, const std::map<std::string, std::string>& members);

}  // namespace kvcap
