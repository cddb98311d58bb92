// RunSetting: the scenario that a log describes: the model by its name, the KV capacity, the arrivals and the
// lengths that the server counted. Values that the metrics lack are assumed, with a note of the scenario per
// assumption.
#pragma once

#include <string>
#include <vector>

#include "observe/observation.h"
#include "scenario/scenario.h"

namespace kvcap {

struct RunSetting {
  Scenario scenario;
  // The prompts are constructed to have the measured hit rate, which is then not a test.
  bool hits_are_given = false;
};

// Writes the requests to the new file `requests_file`, unless `overrides` set a source. `hardware`: a
// profile's name or path. Throws InputError if the log lacks required values.
RunSetting setting_of(const Observation& observed, const std::string& hardware,
                      const std::vector<std::string>& overrides, const std::string& requests_file);

}  // namespace kvcap
