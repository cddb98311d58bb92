// What kvcap validate prints of its checks: a table for people, JSON, and README's tables in Markdown.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "validate/check.h"

namespace kvcap {

// Returns "schema": "kvcap.validation/1".
std::string validation_json(const std::vector<Check>& checks);
// Returns at most 100 columns: one line per check, the reasons of checks that are not inside, one summary per
// suite.
std::string validation_table(const std::vector<Check>& checks);

// A line of README's accuracy table: a check with its error, its runs, the best published error for such
// runs, and the check of the share of measured means inside their 80 % intervals.
struct Headline {
  std::string_view what, runs, check;
  std::string_view peer = "none";
  std::string_view coverage = "";  // "": no intervals
};
// Returns the lines of README's accuracy table.
std::span<const Headline> headlines();

// Returns three tables in Markdown: the headlines, which README shows; one row per suite (verdicts and median
// error of its tests, counts of fitted and given numbers, tuned parameters, the worst test); and every check.
std::string validation_markdown(const std::vector<Check>& checks, std::span<const Headline> headlines);

}  // namespace kvcap
