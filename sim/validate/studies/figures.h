// Figures: what an expression of a study may name in a setting.
#pragma once

#include <string>

#include "validate/studies/lab.h"

namespace kvcap {

//   mean_ttft_ms ...          a metric of the simulation, as --require takes it
//   restore_s                 one context of contexts.tokens, brought back on an empty machine
//   machine.prefill_s ...     closed forms of the scenario's machine (figures.cpp)
//   model.kv_bytes_per_token  of its model
//   turns.mean_ttft_ms ...    of the turns within the bounds `turns`
//   measured.mean_ttft_ms ... of the same turns as the log says that the scenario replays
//   row.COLUMN                a number of the CSV's row
//   trace.input_tokens ...    of its workload
//   scenario.seed ...         a number of the scenario as it is resolved
// Throws InputError for any other name, with the nearest.
double figure(Lab& lab, const StudySetting& setting, const std::string& name);

// A metric, turns.* or row.* of a run that was simulated elsewhere.
double figure(const RunResult& result, const StudySetting& setting, const std::string& name);

// Whether names of figures begin with this word, which therefore names no setting.
bool begins_a_figure(const std::string& word);

}  // namespace kvcap
