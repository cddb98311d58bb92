// The scenario that a log describes: the model by its name, the KV capacity, the arrivals and the lengths as
// the server counted them. What metrics do not tell is assumed, and each assumption is a note of the
// scenario.
#pragma once

#include <string>
#include <vector>

#include "observe/observation.h"
#include "scenario/scenario.h"

namespace kvcap {

struct RunSetting {
  Scenario scenario;
  // The prompts are made up so that as many tokens are found as measured: the hit rate is no test then.
  bool hits_are_given = false;
};

// The requests are written to the new file `requests_file`, unless `overrides` name a source. `hardware`: a
// profile's name or path. Throws InputError for a log that does not tell enough.
RunSetting setting_of(const Observation& observed, const std::string& hardware,
                      const std::vector<std::string>& overrides, const std::string& requests_file);

}  // namespace kvcap
