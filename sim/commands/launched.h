// --from: a launch line, i.e. the command line that starts an engine, such as "vllm serve MODEL -tp 2". These
// functions read the launch line that a question starts from, report how each flag was read, and print the
// flags of an answer.
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

// Declares --emit, whose value is a form of deployment_form(). `what`: what is deployed, for the help text.
void declare_emit(Command& command, std::string& emit, const std::string& what);

// A launch line, resolved for the hardware of a scenario.
struct Launched {
  std::string text;  // as given
  LaunchLine line;
  std::vector<std::string> overrides;  // fields that the line sets, and the engine's defaults on these GPUs
  std::vector<std::string> defaults;   // the engine's defaults among `overrides`

  bool is_given() const { return !text.empty(); }
};

// Reads the line or file of --from; nullopt if the option is not given.
std::optional<LaunchLine> line_of(const FromArgs& args);
// Resolves the launch line for the hardware that it runs on: adds the engine's defaults, converts sizes, and
// prints the notes on the line to stderr. `load`: loads the scenario with overrides. `given`: the overrides
// of --set and of other options.
Launched launched(const FromArgs& args, std::optional<LaunchLine> line, const Overrides& given,
                  const std::function<Scenario(const Overrides&)>& load);
// Returns the overrides for the fields that the line sets; each names its flag, for error messages.
Overrides launched_overrides(const Launched& launched);
// Joins the overrides of a line with those of options, which take precedence. An override of the whole
// `hardware` comes first, because it would reset the fields of the hardware that the line sets.
Overrides with_line(const Overrides& line, const Overrides& given);

// Adds the notes on the launch line to those of the scenario, so that results and pages contain them.
void add_notes(const Launched& launched, Scenario& scenario);
// Returns a table of the line's flags and the fields that they set, with all notes; "" without a line.
std::string launched_text(const Launched& launched);
// Returns {"line", "engine", "flags": [{"flag", "value", "fields": {...}}], "fields", "defaults", "ignored",
// "warnings": [{"flag", "text"}]}; null without a line.
nlohmann::ordered_json launched_json(const Launched& launched);

// Returns the policies that an engine offers: its prefix cache alone, and its offloading stacks.
std::vector<std::string> policies_of(EngineKind engine);
// Returns overrides that replace the policy of a launch line with `policy` and its default tiers. They keep
// the other policy options in `given` (texts of --set).
Overrides overrides_beside(std::string_view policy, const std::vector<std::string>& given);

// Returns "Launch: vllm serve ..." with a line end; "" if no flags of the engine express the scenario.
std::string launch_text(const Scenario& scenario);
// Returns a line with the flags that turn scenario `from` into `to`, as in "hicache:
// --enable-hierarchical-cache", or a line that says that no flag does.
std::string flags_line(const std::string& label, const Scenario& from, const Scenario& to);
inline constexpr const char* kFlagsTitle = "\nFlags to change, with the predicted gain:\n";

}  // namespace kvcap
