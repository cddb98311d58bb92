// Writes the terminal's table of results with its computed sentences.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "metrics/recorder.h"
#include "metrics/result.h"

namespace kvcap {

struct TableOptions {
  std::vector<std::string> metrics{};  // rows that are asked for, whether or not tables show them
  bool is_brief = false;               // two sentences besides what is wrong, and a line that counts the rest
  std::size_t assumptions = 0;         // that the caller leaves out as well
};

// Returns a table as wide as the terminal (setting_grid.h) and sentences computed from the numbers:
// the answers, then all others and the notes.
// `labels` are the names of the columns and of the settings in `differences`. `header` is the scenario in one
// line.
std::string result_table(const std::vector<std::string>& labels, const std::vector<RunResult>& results,
                         const std::vector<Difference>& differences, std::string_view header,
                         const TableOptions& options = {});

// A row of that table for other views: name, unit and one cell per result.
struct ResultRow {
  std::string name, unit;
  std::vector<std::string> cells;
};
std::vector<ResultRow> result_rows(const std::vector<RunResult>& results);

}  // namespace kvcap
