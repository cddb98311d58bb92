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

// A scenario that overrides may change: a file or, if `text` is set, a text.
struct BaseScenario {
  BaseScenario() = default;
  BaseScenario(std::string file) : path(std::move(file)) {}            // NOLINT(google-explicit-constructor)
  BaseScenario(const char* file) : BaseScenario(std::string(file)) {}  // NOLINT(google-explicit-constructor)

  std::string path;     // as load_scenario() takes it; of a text: its name in messages
  std::string text;     // empty: read from `path`
  std::string command;  // of a text: the flags that produce it, "--model M --gpu G ..."
  // Returns defaults of the loaded scenario that depend on its machine, as "path=value". Overrides take
  // precedence.
  std::function<std::vector<std::string>(const Scenario& scenario)> machine_defaults = {};
};

// Loads a scenario file. `overrides`: "path=value" as given to --set, applied after catalogue names are
// resolved, so that hardware.ssd.count=8 works for named and for inline hardware. The path "plan.json#base"
// is the scenario in the member "base" of plan.json; if a result's scenario has no kvcap_version, the version
// of the result is used. A word that names no file, such as "demo", names a shipped scenario. A scenario
// without a name is named after its file.
Scenario load_scenario(const BaseScenario& base, const std::vector<std::string>& overrides);

// Parses a scenario; `file` is used in messages and to resolve relative paths.
Scenario parse_scenario(std::string_view text, const std::string& file,
                        const std::vector<std::string>& overrides);

// A field set outside the scenario's file.
struct Override {
  std::string path;              // "policy.tiers.0.capacity_bytes"
  std::string value;             // JSON; any other text is a string
  std::string place;             // name in messages: "--set seed=2"
  std::filesystem::path folder;  // base of relative paths in `value`
};
using Overrides = std::vector<Override>;

// Parses "path=value", an argument of --set. Throws InputError.
Override override_of(const std::string& argument);

// Do the same with parsed overrides, which name their own places.
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

// Returns the text of a profile's file with the values of `changed` where they differ; other values and notes
// are kept. `notes` are put before the file's own notes.
std::string hardware_file_with(const std::string& name_or_path, const HardwareProfile& changed,
                               const std::vector<std::string>& notes);

// Help on one field of the table of fields.
struct FieldHelp {
  std::string path;  // "workload.arrivals.sessions_per_s"
  std::string text;  // "a number from 1e-06 to 1000000 [1/s], default 0.1: offered rate"
};
// Returns the table of fields for --help and manuals.
const std::vector<FieldHelp>& scenario_fields();
// Returns one line per key that the policy uses, with the value that the policy's name implies.
std::vector<std::string> policy_options_help(std::string_view policy);
// Return the tables of fields as JSON Schemas for editors.
std::string scenario_json_schema();
std::string hardware_json_schema();
std::string model_json_schema();
std::string prices_json_schema();

}  // namespace kvcap
