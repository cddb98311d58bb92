// Compares a simulation with a server's log: one check per judged figure, the likely causes of figures
// outside, and the assumptions.
#pragma once

#include <string>
#include <vector>

#include "validate/check.h"
#include "validate/runs/run_causes.h"
#include "validate/runs/run_evidence.h"

namespace kvcap {

// A hit rate is inside if it is off by at most 5 points; a mean latency, if it is off by at most
// kLatencyTolerance or its half-width for this number of requests; a quantile, if it is within
// kLatencyTolerance of its bucket in the server's histogram.
inline constexpr double kHitRateTolerance = 0.05;

struct RunComparison {
  std::string header;  // one line: what is compared
  Observation observed;
  RunEvidence evidence;
  std::vector<Check> checks;  // suite "run"; verdicts: inside, outside, not comparable
  std::vector<Cause> causes;
  std::vector<std::string> notes;
};

// Return the checks of the evidence's figures, and which groups of figures are outside.
std::vector<Check> run_checks(const RunEvidence& evidence);
Outside outside_of(const std::vector<Check>& checks);

// Simulates `scenario`, or if it is empty the setting that the log describes, on `hardware`. Throws
// InputError.
RunComparison compare_with_run(const std::string& log, const std::string& scenario,
                               const std::string& hardware, const std::vector<std::string>& overrides);

}  // namespace kvcap
