// Figures: the values that expressions of a study refer to by name, in one setting.
#pragma once

#include <string>

#include "validate/studies/lab.h"

namespace kvcap {

// Returns the value of a name:
//
//   mean_ttft_ms ...          a metric of the simulation, as for --require
//   restore_s                 seconds to restore a context of contexts.tokens tokens on an idle machine
//   machine.prefill_s ...     closed forms of the scenario's machine (figures.cpp)
//   model.kv_bytes_per_token  a size of the scenario's model
//   turns.mean_ttft_ms ...    a figure of the turns within the bounds StudySetting::turns
//   measured.mean_ttft_ms ... the same for the log that the scenario replays
//   law.lindley_wait ...      a figure of a run on a named workload, or its exact value (laws.cpp)
//   row.COLUMN                a number of the CSV row
//   trace.input_tokens ...    a figure of the scenario's workload
//   scenario.seed ...         a number of the resolved scenario
//
// Throws InputError for any other name, and suggests the nearest one.
double figure(Lab& lab, const StudySetting& setting, const std::string& name);

struct FinishedRun {
  const Scenario& scenario;
  const Workload& workload;
  const RunResult& result;
};
// Returns a figure of a finished run: a metric, turns.*, law.*, measured.*_correlation or row.*.
double figure(const FinishedRun& run, const StudySetting& setting, const std::string& name);

// True iff names of figures may begin with this word. Such a word cannot name a setting.
bool begins_a_figure(const std::string& word);

}  // namespace kvcap
