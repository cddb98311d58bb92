// The only writer of results: JSON of one run or a comparison, requests.csv, and the terminal's table with
// its computed sentences.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/model_report.h"
#include "metrics/recorder.h"
#include "metrics/result.h"

namespace kvcap {

// "schema": "kvcap.result/1" and "kvcap.compare/1"; a trailing newline; stable bytes.
// The interval of a difference is [low, high], null with a single replication.
std::string result_json(const RunResult& result);
// `differences` are those against the first result, `pairs` those between the others; `model` is left out
// where no machines were drawn. `from_json`: how a launch line was read.
std::string compare_json(const std::vector<RunResult>& results, const std::vector<Difference>& differences,
                         const std::vector<Difference>& pairs = {}, const ModelReport& model = {},
                         const std::string& from_json = {});
// Calls `write` with one piece after the other, for there may be millions of turns.
void requests_csv(std::span<const TurnRecord> turns, const std::function<void(std::string_view)>& write);

// What a person reads: a table of at most 100 columns, one column a setting, and sentences computed from
// the numbers. `labels` names the columns; the settings of `differences` go by the same names. `header` is
// the scenario in one line.
std::string result_table(const std::vector<std::string>& labels, const std::vector<RunResult>& results,
                         const std::vector<Difference>& differences, std::string_view header);

// The rows of that table for other views of it: name, unit and a cell a result.
struct ResultRow {
  std::string name, unit;
  std::vector<std::string> cells;
};
std::vector<ResultRow> result_rows(const std::vector<RunResult>& results);

}  // namespace kvcap
