// Sources: keeps the contents of trace files in memory. The process that forks the workers reads each file
// once, so all workers share the data without a copy. Generated sources are not kept: they depend on the seed
// and are quick to generate.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "scenario/scenario.h"
#include "workload/source.h"
#include "workload/workload.h"

namespace kvcap {

class Sources {
 public:
  // Reads the scenario's trace file unless it is already stored. Only the first few files are stored. Throws
  // InputError as make_workload does.
  void read(const Scenario& scenario);

  // Returns the same workload as make_workload, from the stored file if possible.
  Workload workload(const Scenario& scenario) const;
  // Returns a workload of the same file with the given options. REQUIRES: `options` has no more sessions than
  // the scenario.
  Workload workload(const Scenario& scenario, const WorkloadOptions& options) const;

 private:
  std::map<std::string, Source> read_;  // key: all options of its reader
};

}  // namespace kvcap
