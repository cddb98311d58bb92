// Compares a simulation with a server's log. The result contains one check per judged figure, the likely
// causes of figures that are outside the tolerance, and notes on assumptions.
#pragma once

#include <string>
#include <vector>

#include "validate/check.h"
#include "validate/runs/run_causes.h"
#include "validate/runs/run_evidence.h"

namespace kvcap {

// A token hit rate is inside if it differs by at most 5 percentage points; a mean latency, if it differs by
// at most kLatencyTolerance or by at most the half-width of its interval; a quantile, if it is within
// kLatencyTolerance of its bucket in the server's histogram.
inline constexpr double kHitRateTolerance = 0.05;

struct RunComparison {
  std::string header;  // one line that names the server's log, the model and the hardware
  Observation observed;
  RunEvidence evidence;
  std::vector<Check> checks;  // suite "run"; verdicts: inside, outside, not comparable
  std::vector<Cause> causes;
  std::vector<std::string> notes;
};

// run_checks() returns a check per judged figure of the evidence; outside_of() tells which groups of figures
// are outside.
std::vector<Check> run_checks(const RunEvidence& evidence);
Outside outside_of(const std::vector<Check>& checks);

// Simulates `scenario` or, if it is empty, the setting that the log describes, on `hardware`, and compares
// the simulation with the log. Throws InputError.
RunComparison compare_with_run(const std::string& log, const std::string& scenario,
                               const std::string& hardware, const std::vector<std::string>& overrides);

}  // namespace kvcap
