// kvcap show flags: prints which field of a scenario each flag of a serving stack sets.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

// Prints the flags of a stack or, if `stack` is empty, all stacks with their number of flags. Throws
// InputError for an unknown stack.
void show_flags(const std::string& stack, bool json);
// Returns one line per flag: "--hicache-ratio: policy.tiers.dram.capacity_over_gpu; default 2.0; sglang
// docs/...@004813e".
std::vector<std::string> policy_flag_lines(std::string_view policy);

}  // namespace kvcap
