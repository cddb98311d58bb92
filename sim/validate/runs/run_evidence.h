// RunEvidence: a simulation beside what a server's log says, figure by figure. What is judged of it and which
// assumption explains a difference follows from these figures alone (run_comparison.h, run_causes.h).
#pragma once

#include <array>
#include <limits>
#include <optional>
#include <string_view>

#include "metrics/result.h"
#include "observe/observation.h"
#include "scenario/scenario.h"

namespace kvcap {

// Relative: within it latencies agree.
inline constexpr double kLatencyTolerance = 0.15;

// NaN: not known.
struct Both {
  double simulated = std::numeric_limits<double>::quiet_NaN();
  double measured = std::numeric_limits<double>::quiet_NaN();

  bool known() const { return simulated == simulated && measured == measured; }
  double difference() const { return measured - simulated; }
  // Whether they differ by more than this share of the simulated one.
  bool differs_by(double share) const;
};

inline constexpr double kJudgedQuantiles[] = {0.5, 0.9, 0.99};

struct LatencyEvidence {
  Both mean_ms;
  double simulated_std_ms = 0;  // of requests' means
  std::array<double, std::size(kJudgedQuantiles)> simulated_ms{};
  // The buckets that the quantiles lie in, with what chance leaves of so few requests.
  std::array<QuantileRange, std::size(kJudgedQuantiles)> measured_ms{};
  bool is_measured = false;
};

struct RunEvidence {
  Both requests;        // that the figures are of
  Both arrivals_per_s;  // until the last arrival
  Both prompt_tokens, output_tokens;
  Both token_hit_rate, gpu_hit_rate, lower_hit_rate;  // lower: below GPU memory
  Both kv_capacity_tokens, kv_usage, running, waiting, preemptions_per_request;
  std::optional<bool> measured_prefix_caching;
  bool simulated_prefix_caching = true;
  double step_overhead_s = 0, request_overhead_s = 0;  // simulated
  bool async_scheduling = true;                        // simulated
  bool hits_are_given = false;  // the simulated prompts were made to be found as measured
  LatencyEvidence ttft, itl;
};

// `result` with its turns.
RunEvidence evidence_of(const Observation& observed, const RunResult& result, const Scenario& scenario);

}  // namespace kvcap
