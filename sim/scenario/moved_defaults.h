// MovedDefault: a field whose default changed in a version of kvcap. A scenario that states the version that
// wrote it (kvcap_version) gets a note for each such field that it omits. The note gives the --set that
// restores the old default.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scenario/json.h"
#include "scenario/scenario.h"

namespace kvcap {

struct MovedDefault {
  std::string_view version;                   // first version with the new default
  std::string_view field;                     // "serving.host_times"
  std::string_view from, to;                  // values, as --set takes them
  std::string_view effect;                    // of the new default on results
  bool (*concerns)(const Scenario& settled);  // true iff the new default affects this scenario
};

std::span<const MovedDefault> moved_defaults();  // oldest version first

// Returns the notes for a scenario that `scenario.kvcap_version` wrote and whose defaults have been filled
// in. `given`: the fields set by its file and --set.
std::vector<std::string> notes_of_moved_defaults(const Scenario& scenario, const Json& given);

// Returns the table in Markdown, as in .github/CHANGELOG.md.
std::string moved_defaults_markdown();

}  // namespace kvcap
