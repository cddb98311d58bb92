// --from: the launch line that a command starts from, how it was read, and the flags of an answer.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands/command_line.h"
#include "launch/launch_line.h"
#include "scenario/load.h"

namespace kvcap {

struct FromArgs {
  std::string line;     // empty: not given
  std::string ignored;  // "enforce-eager,enable-lora"
};
// Declares --from and --ignore-flags.
void add_from(Command& command, FromArgs& args);

// Declares --emit, whose value is a form of deployment_form(); `what` is deployed.
void declare_emit(Command& command, std::string& emit, const std::string& what);

// A launch line read for the hardware of a scenario.
struct Launched {
  std::string text;  // text as given
  LaunchLine line;
  std::vector<std::string> overrides;  // fields that the line sets, and its engine's defaults on these GPUs
  std::vector<std::string> defaults;   // the engine's defaults among `overrides`

  bool is_given() const { return !text.empty(); }
};

// Reads the line or file of --from; nothing without one.
std::optional<LaunchLine> line_of(const FromArgs& args);
// Adapts the line of `args` to its hardware. `load` loads the scenario with overrides; `given` are those of
// options and --set. Notes also go to stderr.
Launched launched(const FromArgs& args, std::optional<LaunchLine> line, const Overrides& given,
                  const std::function<Scenario(const Overrides&)>& load);
// Returns the fields that the line sets; messages about them name its flags.
Overrides launched_overrides(const Launched& launched);
// Joins overrides of a line and of options, which win. A whole `hardware` comes first, for it would reset the
// fields of the hardware that the line sets.
Overrides with_line(const Overrides& line, const Overrides& given);

// Adds the line's notes to the scenario's, so that results and pages contain them.
void add_notes(const Launched& launched, Scenario& scenario);
// Returns which flag became which field, with all notes; "" without a line.
std::string launched_text(const Launched& launched);
// Returns {"line", "engine", "flags": [{"flag", "value", "fields": {...}}], "fields", "defaults", "ignored",
// "warnings": [{"flag", "text"}]}; null without a line.
nlohmann::ordered_json launched_json(const Launched& launched);

// Returns the policies that an engine brings: its prefix cache alone, and its stacks.
std::vector<std::string> policies_of(EngineKind engine);
// Returns the overrides that `policy` needs besides those of the line: the stack's default tiers.
Overrides overrides_beside(std::string_view policy, const std::vector<std::string>& given);

// Returns "Launch: vllm serve ..." with a line end; "" if the engine has no flags for the scenario.
std::string launch_text(const Scenario& scenario);
// Returns the flags to change from one scenario to another, as in "hicache: --enable-hierarchical-cache", or
// a line that no flags do this.
std::string flags_line(const std::string& label, const Scenario& from, const Scenario& to);
inline constexpr const char* kFlagsTitle = "\nFlags to change, and what that is predicted to gain:\n";

}  // namespace kvcap
