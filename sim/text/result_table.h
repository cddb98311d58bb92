// Writes the terminal's table of results with its computed sentences.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "metrics/recorder.h"
#include "metrics/result.h"

namespace kvcap {

// Returns a table of at most 100 columns, one column per setting, and sentences computed from the numbers.
// `labels` are the names of the columns and of the settings in `differences`. `header` is the scenario in one
// line.
std::string result_table(const std::vector<std::string>& labels, const std::vector<RunResult>& results,
                         const std::vector<Difference>& differences, std::string_view header);

// A row of that table for other views: name, unit and one cell per result.
struct ResultRow {
  std::string name, unit;
  std::vector<std::string> cells;
};
std::vector<ResultRow> result_rows(const std::vector<RunResult>& results);

}  // namespace kvcap
