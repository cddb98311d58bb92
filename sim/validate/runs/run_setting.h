// RunSetting: the scenario that a server's log describes. The model, the KV capacity, the arrivals and the
// lengths of prompts and answers come from the log. Values that the metrics lack are assumed, and the notes
// of the scenario state each assumption.
#pragma once

#include <string>
#include <vector>

#include "observe/observation.h"
#include "scenario/scenario.h"

namespace kvcap {

struct RunSetting {
  Scenario scenario;
  // True: the prompts are constructed to have the measured hit rate, so comparing hit rates tests nothing.
  bool hits_are_given = false;
};

// Returns the setting. Unless `overrides` set a workload source, writes generated requests to the new file
// `requests_file`. `hardware`: a profile's name or path. Throws InputError if the log lacks required values.
RunSetting setting_of(const Observation& observed, const std::string& hardware,
                      const std::vector<std::string>& overrides, const std::string& requests_file);

}  // namespace kvcap
