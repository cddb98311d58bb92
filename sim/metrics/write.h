// Writes results as files: the JSON of one run or a comparison, and requests.csv.
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

// Returns JSON of the schema kvcap.result/1 with a trailing newline. Equal results have equal bytes.
std::string result_json(const RunResult& result);
// Returns JSON of the schema kvcap.compare/1. `differences`: of each result from the first one; `pairs`:
// between the other results. The JSON contains `model` only if machines were drawn. `from_json`: how a launch
// line was read.
std::string compare_json(const std::vector<RunResult>& results, const std::vector<Difference>& differences,
                         const std::vector<Difference>& pairs = {}, const ModelReport& model = {},
                         const std::string& from_json = {});
// Writes requests.csv. Calls `write` many times with a part of the text, because there may be millions of
// turns.
void requests_csv(std::span<const TurnRecord> turns, const std::function<void(std::string_view)>& write);

}  // namespace kvcap
