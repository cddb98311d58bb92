// Formats the checks of kvcap validate: as a table for people, as JSON, and as README's Markdown tables.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "validate/check.h"

namespace kvcap {

// Returns JSON of the schema kvcap.validation/1.
std::string validation_json(const std::vector<Check>& checks);
// Returns a table of at most 100 columns: one line per check, then the reasons of checks that are not inside,
// then a summary of each suite.
std::string validation_table(const std::vector<Check>& checks);

// A row of README's accuracy table. `check` gives the error, `runs` describes the runs, `peer` is the best
// published error for such runs, and the check `coverage` gives the share of measured means inside their 80 %
// intervals.
struct Headline {
  std::string_view what, runs, check;
  std::string_view peer = "none";
  std::string_view coverage = "";  // "": no intervals
};
// Returns the rows of README's accuracy table.
std::span<const Headline> headlines();

// Returns three Markdown tables: the headlines, which README shows; one row per suite, with the verdicts and
// the median error of its tests, the counts of fitted and given numbers, the number of tuned parameters, and
// the worst test; and one row per check.
std::string validation_markdown(const std::vector<Check>& checks, std::span<const Headline> headlines);

}  // namespace kvcap
