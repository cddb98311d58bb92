// kvcap show fields: the fields of a scenario, with type, range, default and meaning.
#pragma once

#include <string>

namespace kvcap {

// Prints the groups of fields if `path` is empty, otherwise the field with this path and all fields below it.
// An index in the path may be any number or left out: policy.tiers.2.eviction, policy.tiers.eviction. If no
// field has this path, prints the fields whose paths contain it; throws InputError if there are none.
void show_fields(const std::string& path, bool json);

}  // namespace kvcap
