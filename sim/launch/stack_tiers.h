// The tiers that the flags of each stack can express, from the rows of the policies. Reading a line gives a
// tier its stack's options; a line is written only for tiers with exactly these options.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "scenario/scenario.h"

namespace kvcap {

// Returns the tier of a kind as named in policy.tiers, with the size that a line without the flag has.
// Returns nullptr if the flags of the policy's stack cannot express such a tier.
const TierOptions* stack_tier(std::string_view policy, std::string_view kind);
// True iff the stack has a flag for the tier's size; without one a tier has the full size of the hardware.
bool has_size_flag(std::string_view policy, std::string_view kind);
// Returns the tier's kind; Mooncake Store is a remote tier with its own eviction order.
std::string_view kind_name(const TierOptions& tier);

// Returns the tier in the form of a scenario: the stack's options, and the members from the line (JSON texts
// by key).
std::string tier_json(const TierOptions& own, const std::map<std::string, std::string>& members);

}  // namespace kvcap
