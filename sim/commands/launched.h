// --from: a launch line as what a command starts from, how it was read, and the flags of an answer.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "commands/command_line.h"
#include "launch/launch_line.h"

namespace kvcap {

struct FromArgs {
  std::string line;     // empty: none
  std::string ignored;  // "enforce-eager,enable-lora"
};
// Declares --from and --ignore-flags.
void add_from(Command& command, FromArgs& args);

// A line on a machine.
struct Launched {
  std::string text;  // as it was given
  LaunchLine line;
  std::vector<std::string> overrides;  // what the line sets, and its engine's defaults on these GPUs
  std::vector<std::string> defaults;   // of them

  bool is_given() const { return !text.empty(); }
};

// `load` loads the scenario with overrides, `given` are --set's. Notes go to stderr as well.
Launched launched(const FromArgs& args, const std::vector<std::string>& given,
                  const std::function<Scenario(const std::vector<std::string>&)>& load);

// The line's notes become the scenario's, so that they stand in results and on pages.
void add_notes(const Launched& launched, Scenario& scenario);
// Which flag became which field, and what else there is to tell; empty without a line.
std::string launched_text(const Launched& launched);
// {"line", "engine", "flags": [{"flag", "value", "fields": {...}}], "fields", "defaults", "ignored",
// "warnings": [{"flag", "text"}]}; null without a line.
nlohmann::ordered_json launched_json(const Launched& launched);

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
