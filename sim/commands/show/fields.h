// kvcap show fields: the fields of a scenario, with type, range, default and meaning.
#pragma once

#include <string>

namespace kvcap {

// Prints the groups of fields if `path` is empty, else the field of this path and all below it. An index in
// the path may be any or left out: policy.tiers.2.eviction, policy.tiers.eviction. A word that is no path
// shows the fields whose path contains it; throws InputError if none does.
void show_fields(const std::string& path, bool json);

}  // namespace kvcap
