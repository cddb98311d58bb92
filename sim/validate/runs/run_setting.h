// RunSetting: the scenario that a server's log describes. The model, the KV capacity, the arrivals and the
// lengths come from the log; values that the metrics lack are assumed, and the scenario notes each
// assumption.
#pragma once

#include <string>
#include <vector>

#include "observe/observation.h"
#include "scenario/scenario.h"

namespace kvcap {

struct RunSetting {
  Scenario scenario;
  // True: the prompts are constructed to have the measured hit rate, so the hit rate is not a test.
  bool hits_are_given = false;
};

// Writes the requests to the new file `requests_file`, unless `overrides` set a source. `hardware`: a
// profile's name or path. Throws InputError if the log lacks required values.
RunSetting setting_of(const Observation& observed, const std::string& hardware,
                      const std::vector<std::string>& overrides, const std::string& requests_file);

}  // namespace kvcap
