// A simulation beside a server's log: a check for each judged figure, the causes of what is outside, and what
// was assumed.
#pragma once

#include <string>
#include <vector>

#include "validate/check.h"
#include "validate/runs/run_causes.h"
#include "validate/runs/run_evidence.h"

namespace kvcap {

// A hit rate is inside within 5 points; a mean latency within kLatencyTolerance or what chance leaves of so
// many requests; a quantile within kLatencyTolerance of the bucket that the server's histogram has it in.
inline constexpr double kHitRateTolerance = 0.05;

struct RunComparison {
  std::string header;  // what is compared, in a line
  Observation observed;
  RunEvidence evidence;
  std::vector<Check> checks;  // their suite is "run"; verdicts: inside, outside, not comparable
  std::vector<Cause> causes;
  std::vector<std::string> notes;
};

// Figures and causes of the evidence.
std::vector<Check> run_checks(const RunEvidence& evidence);
Outside outside_of(const std::vector<Check>& checks);

// `scenario`: a file, or empty for the setting that the log describes on `hardware`. Throws InputError.
RunComparison compare_with_run(const std::string& log, const std::string& scenario,
                               const std::string& hardware, const std::vector<std::string>& overrides);

// "schema": "kvcap.validation/1", with causes, evidence and notes.
std::string run_comparison_json(const RunComparison& comparison);
std::string run_comparison_table(const RunComparison& comparison);

}  // namespace kvcap
