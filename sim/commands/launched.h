// --from: a launch line as what a command starts from, and the flags of an answer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launch/launch_line.h"

namespace kvcap {

inline constexpr const char* kFromHelp =
    "an engine's launch line to start from, on the scenario's hardware and workload: "
    "'vllm serve Qwen/Qwen3-32B -tp 2 --kv-offloading-size 100'";

// What the line sets, and what its engine takes on the scenario's GPUs where it does not say; the notes go to
// stderr. Nothing where `from` is empty.
std::vector<std::string> launched_overrides(const std::string& from, const std::string& scenario_path,
                                            const std::vector<std::string>& overrides);

// Policies to hold against a line: its engine with the prefix cache alone, and what its stacks do.
std::vector<std::string> stacks_beside(const LaunchLine& line);
// Overrides of such a policy over the line's own: tiers as the stack has them by itself.
std::vector<std::string> overrides_beside(std::string_view policy, const std::vector<std::string>& given);

// "Launch: vllm serve ...", with a line end; empty where no engine has flags for the scenario.
std::string launch_text(const Scenario& scenario, const std::string& model = "");
// "hicache: --enable-hierarchical-cache", what to change on the way from one to another; or that it cannot
// be.
std::string flags_line(const std::string& label, const Scenario& from, const Scenario& to);
inline constexpr const char* kFlagsTitle = "\nFlags to change, and what that is predicted to gain:\n";

}  // namespace kvcap
