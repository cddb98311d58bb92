// The only reader of configuration JSON: turns scenario files, catalogue names, inline objects, Hugging
// Face configs and --set overrides into a Scenario, or throws InputError with one line that names the file,
// the field's path, what was found, what is allowed and the nearest valid name.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "scenario/scenario.h"

namespace kvcap {

// `overrides`: "path=value" as given to --set, applied after catalogue names are resolved, so that
// hardware.ssd.count=8 works whether the file names its hardware or spells it out. "plan.json#base" is the
// scenario that the member "base" of another file holds; results of versions whose scenarios do not say which
// one wrote them say it themselves. One without a name is called after its file.
Scenario load_scenario(const std::string& path, const std::vector<std::string>& overrides);

// The same from text; `file` is used in messages and to resolve relative paths.
Scenario parse_scenario(std::string_view text, const std::string& file,
                        const std::vector<std::string>& overrides);

// A field set from outside the scenario's file.
struct Override {
  std::string path;              // "policy.tiers.0.capacity_bytes"
  std::string value;             // JSON; what is none is a string
  std::string place;             // as messages call it: "--set seed=2"
  std::filesystem::path folder;  // that relative paths in `value` start from
};

// The same with overrides that come from elsewhere than the command line.
Scenario parse_scenario_with(std::string_view text, const std::string& file,
                             const std::vector<Override>& overrides);

// The files of models/, hwprofiles/ and traces/ are part of the binary; `kvcap show` lists them.
enum class Catalogue : uint8_t { models, hardware, workloads };
struct CatalogueEntry {
  std::string_view name;
  std::string_view text;  // the file as it is
};
const std::vector<CatalogueEntry>& catalogue(Catalogue which);

// A catalogue name, or a path to a file in our format or Hugging Face's.
ModelSpec load_model(const std::string& name_or_path);
HardwareProfile load_hardware(const std::string& name_or_path);

// The text of a profile's file in which `changed` takes the place of what differs; what does not stays as it
// is written, notes too. `notes` come before the file's own.
std::string hardware_file_with(const std::string& name_or_path, const HardwareProfile& changed,
                               const std::vector<std::string>& notes);

// The table of fields, printed: for --help and manuals, and as a JSON Schema for editors.
struct FieldHelp {
  std::string path;  // "workload.arrivals.sessions_per_s"
  std::string text;  // "a number from 1e-06 to 1000000 [1/s], default 0.1: offered rate"
};
std::vector<FieldHelp> scenario_fields();
// A line for each key that the policy listens to, with the value that its name stands for.
std::vector<std::string> policy_options_help(std::string_view policy);
std::string scenario_fields_help();
std::string scenario_json_schema();

}  // namespace kvcap
