// Formats results for the terminal: a table, and sentences computed from its numbers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "metrics/recorder.h"
#include "metrics/result.h"

namespace kvcap {

struct TableOptions {
  std::vector<std::string> metrics{};  // metrics whose rows are always shown
  bool is_brief = false;               // prints only brief_sentences() below the table
  std::size_t assumptions = 0;         // assumptions that the caller does not print; counted in a brief text
};

// Returns a table that fits the terminal (setting_grid.h), followed by the answers and, unless brief, all
// other sentences and the notes. `labels`: the names of the columns, also used in `differences`. `header`:
// the scenario in one line.
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
