// Trace files that are read once, in the process that forks the workers: they have what it has read without
// a copy. Generated sources are as quick to make as to find, and depend on the seed.
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
  // Reads the scenario's file unless it is there. Throws InputError as make_workload does. Only the first few
  // files are kept.
  void read(const Scenario& scenario);

  // As make_workload, of what has been read; else it reads now.
  Workload workload(const Scenario& scenario) const;
  // Of the same file, arranged as `options` say: no more sessions than the scenario asks for.
  Workload workload(const Scenario& scenario, const WorkloadOptions& options) const;

 private:
  std::map<std::string, Source> read_;  // by all that a reader is told
};

}  // namespace kvcap
