// RunEvidence: pairs of a simulated figure and the same figure from a server's log. Checks (run_comparison.h)
// and likely causes (run_causes.h) are computed from these figures alone.
#pragma once

#include <array>
#include <limits>
#include <optional>
#include <string_view>

#include "metrics/result.h"
#include "observe/observation.h"
#include "scenario/scenario.h"

namespace kvcap {

// Latencies agree up to this relative difference.
inline constexpr double kLatencyTolerance = 0.15;

// A simulated and a measured figure; NaN: unknown.
struct Both {
  double simulated = std::numeric_limits<double>::quiet_NaN();
  double measured = std::numeric_limits<double>::quiet_NaN();

  bool known() const { return simulated == simulated && measured == measured; }
  double difference() const { return measured - simulated; }
  // True iff they differ by more than this share of the simulated figure.
  bool differs_by(double share) const;
};

inline constexpr double kJudgedQuantiles[] = {0.5, 0.9, 0.99};

struct LatencyEvidence {
  Both mean_ms;
  double simulated_std_ms = 0;  // over requests, of the TTFT or the mean ITL of each
  std::array<double, std::size(kJudgedQuantiles)> simulated_ms{};
  // The histogram buckets that contain the measured quantiles, widened by the sampling error for this number
  // of requests.
  std::array<QuantileRange, std::size(kJudgedQuantiles)> measured_ms{};
  bool is_measured = false;
};

struct RunEvidence {
  Both requests;        // number of requests in the figures
  Both arrivals_per_s;  // rate until the last arrival
  Both prompt_tokens, output_tokens;
  Both token_hit_rate, gpu_hit_rate, lower_hit_rate;  // lower: below GPU memory
  Both kv_capacity_tokens, kv_usage, running, waiting, preemptions_per_request;
  std::optional<bool> measured_prefix_caching;
  bool simulated_prefix_caching = true;
  double step_overhead_s = 0, request_overhead_s = 0;  // simulated values
  bool async_scheduling = true;                        // simulated value
  bool hits_are_given = false;  // the simulated prompts were constructed to have the measured hit rate
  LatencyEvidence ttft, itl;
};

// REQUIRES: `result` contains its turns.
RunEvidence evidence_of(const Observation& observed, const RunResult& result, const Scenario& scenario);

}  // namespace kvcap
