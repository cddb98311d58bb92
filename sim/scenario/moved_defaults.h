// MovedDefault: a field whose default a version of kvcap changed. A scenario that says which version wrote it
// (kvcap_version) gets a note for each one that it leaves out, with the --set that restores what it was.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scenario/json.h"
#include "scenario/scenario.h"

namespace kvcap {

struct MovedDefault {
  std::string_view version;   // the first with the new default
  std::string_view field;     // "serving.host_times"
  std::string_view from, to;  // values, as --set takes them
  std::string_view effect;    // on answers
  bool (*concerns)(const Scenario& settled);
};

std::span<const MovedDefault> moved_defaults();  // oldest version first

// Of a scenario whose defaults are settled, written by `scenario.kvcap_version`; `given` is what its file and
// --set say.
std::vector<std::string> notes_of_moved_defaults(const Scenario& scenario, const Json& given);

// The table in Markdown, as .github/CHANGELOG.md has it.
std::string moved_defaults_markdown();

}  // namespace kvcap
