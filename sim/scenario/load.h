// Loads scenarios, models and hardware profiles: converts scenario files, catalogue names, inline objects,
// Hugging Face configs and --set overrides to a Scenario. It is the only reader of configuration JSON. Throws
// InputError with one line: file, path of the field, value found, values allowed and the nearest valid name.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scenario/scenario.h"

namespace kvcap {

// A scenario before overrides: a file or, if `text` is set, a text.
struct BaseScenario {
  BaseScenario() = default;
  BaseScenario(std::string file) : path(std::move(file)) {}            // NOLINT(google-explicit-constructor)
  BaseScenario(const char* file) : BaseScenario(std::string(file)) {}  // NOLINT(google-explicit-constructor)

  std::string path;     // as described at load_scenario(); for a text: its name in messages
  std::string text;     // empty: read from `path`
  std::string command;  // for a text: the flags that produce it, "--model M --gpu G ..."
  // Returns defaults of the loaded scenario that depend on its machine, as "path=value". Overrides take
  // precedence.
  std::function<std::vector<std::string>(const Scenario& scenario)> machine_defaults = {};
};

// Loads a scenario. Its path may be
// - a file;
// - "plan.json#base", the scenario in the member "base" of plan.json;
// - a word that names no file, such as "demo": a shipped scenario.
// `overrides`: "path=value" as given to --set. They are applied after catalogue names are resolved, so that
// hardware.ssd.count=8 works for named and for inline hardware. A scenario without a name is named after its
// file. A result's scenario without kvcap_version gets the version of the result.
Scenario load_scenario(const BaseScenario& base, const std::vector<std::string>& overrides);

// Parses a scenario; `file` is used in messages and to resolve relative paths.
Scenario parse_scenario(std::string_view text, const std::string& file,
                        const std::vector<std::string>& overrides);

// Returns the host tiers whose size comes only from a hardware profile: policy.tiers does not set it either.
std::vector<Tier> unsized_tiers(const Scenario& scenario);

// A field set outside the scenario's file.
struct Override {
  std::string path;              // "policy.tiers.0.capacity_bytes"
  std::string value;             // JSON; any other text is a string
  std::string place;             // name in messages: "--set seed=2"
  std::filesystem::path folder;  // base of relative paths in `value`
};
using Overrides = std::vector<Override>;

// Parses an argument of --set, "path=value". Throws InputError.
Override override_of(const std::string& argument);

// Like load_scenario and parse_scenario, but for parsed overrides, which have their own names in messages.
Scenario load_scenario_with(const BaseScenario& base, const Overrides& overrides);
Scenario parse_scenario_with(std::string_view text, const std::string& file, const Overrides& overrides);

// Kinds of catalogue files. The files of models/, hwprofiles/ and traces/ are embedded in the binary; `kvcap
// show` lists them.
enum class Catalogue : uint8_t { models, hardware, workloads };
struct CatalogueEntry {
  std::string_view name;
  std::string_view text;  // unchanged text of the file
};
const std::vector<CatalogueEntry>& catalogue(Catalogue which);

// Load a model or profile, given by catalogue name or by path to a kvcap or Hugging Face file. Throw
// InputError.
ModelSpec load_model(const std::string& name_or_path);
HardwareProfile load_hardware(const std::string& name_or_path);

// Returns the text of a profile's file after values that differ in `changed` are replaced. All other values
// and the file's notes are kept; `notes` are put before them.
std::string hardware_file_with(const std::string& name_or_path, const HardwareProfile& changed,
                               const std::vector<std::string>& notes);

// Help text of one field of a scenario.
struct FieldHelp {
  std::string path;  // "workload.arrivals.sessions_per_s"
  std::string text;  // "a number from 1e-06 to 1000000 [1/s], default 0.1: offered rate"
};
// Returns the help texts of all fields, for --help and manuals.
const std::vector<FieldHelp>& scenario_fields();
// Returns one line per key that the policy uses, with the value in the policy's preset.
std::vector<std::string> policy_options_help(std::string_view policy);
// Return the tables of fields as JSON Schemas for editors.
std::string scenario_json_schema();
std::string hardware_json_schema();
std::string model_json_schema();
std::string prices_json_schema();

}  // namespace kvcap
