// RunEvidence: the figures of a simulation and of a server's log, in pairs. Checks and likely causes follow
// from these figures alone (run_comparison.h, run_causes.h).
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
  double simulated_std_ms = 0;  // standard deviation of the requests' means
  std::array<double, std::size(kJudgedQuantiles)> simulated_ms{};
  // The buckets that contain the quantiles, widened by the sampling error for this number of requests.
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
