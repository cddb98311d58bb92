// kvcap show flags: which flag of a serving stack is which field of a scenario.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

// A stack, or of none every stack with the number of its flags. Throws InputError for a stack that is not
// there.
void show_flags(const std::string& stack, bool json);
// "--hicache-ratio: policy.tiers.dram.capacity_over_gpu; default 2.0; sglang docs/...@004813e", a flag each.
std::vector<std::string> policy_flag_lines(std::string_view policy);

}  // namespace kvcap
