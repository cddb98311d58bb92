// The results of a sweep as CSV (without its columns of JSON) or JSON ("schema": "kvcap.sweep_results/1").
#pragma once

#include <ostream>

#include "plan/sweep/results_file.h"

namespace kvcap {

void export_csv(const ResultsFile& file, std::ostream& out);
void export_json(const ResultsFile& file, std::ostream& out);

}  // namespace kvcap
