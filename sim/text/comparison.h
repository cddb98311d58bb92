// Comparison: the facts that sentences on results state: which settings count, which of them is ahead, by how
// much, and in which part of a request.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "metrics/recorder.h"
#include "metrics/result.h"

namespace kvcap {

// One result and the name of its column.
struct Setting {
  std::string label;
  const RunResult* result = nullptr;

  double number(std::string_view metric) const { return result->number(metric); }
  bool is_ideal() const { return result->policy == "ideal"; }
  bool is_saturated() const { return number("stable") == 0; }
  // True iff the run is too short to tell whether the load is served.
  bool is_undecided() const;
  // Share of turns that are rejected, failed, truncated or abandoned; 0 if the result does not know.
  double share(std::string_view what) const;
  double unanswered_share() const { return share("rejected") + share("failed"); }
};

// A bound on a 99th percentile, by the scenario's slo.
struct SloTarget {
  std::string_view metric, title;  // "p99_ttft_ms", "p99 TTFT"
  double most_ms = 0;
};
enum class SloVerdict { meets, unclear, misses };  // unclear: the interval contains the bound

// Relative; smaller differences are called equal.
inline constexpr double kNoticeableShare = 0.005;
// How many times the sessions of a run that is too short a longer one should have.
inline constexpr double kLongerRun = 4;
// Shares of turns above which rejected and failed ones, or truncated and abandoned ones, come before any
// latency.
inline constexpr double kFewUnanswered = 0.001, kFewCut = 0.01;

inline constexpr std::string_view kOutputCost = "cost.usd_per_million_output_tokens";
// The resource `nvlink` of GPUs that have none.
inline constexpr std::string_view kPcieBetweenGpus = "PCIe between the GPUs";
// Time from admission to first token of turns with history, as a mean.
inline constexpr std::string_view kHistoryService = "mean_service_ttft_with_history_ms";

class Comparison {
 public:
  Comparison(std::vector<Setting> settings, std::vector<Difference> differences);

  const std::vector<Setting>& settings() const { return settings_; }
  const std::vector<Difference>& differences() const { return differences_; }
  const std::optional<Setting>& ideal() const { return ideal_; }
  // The settings that can be built and may be called better than others: those that serve the load, by runs
  // that are long enough, and leave no turns unserved. A setting that answers few turns answers them fast.
  const std::vector<Setting>& eligible() const { return eligible_; }
  bool is_eligible(const Setting& setting) const;
  // The settings that can be built, and those of them that are not saturated.
  const std::vector<Setting>& real() const { return real_; }
  std::vector<Setting> unsaturated() const;
  // The least share of truncated turns; those of a setting count beyond it, because a workload that is longer
  // than the model's context is cut whatever the setting.
  double least_truncated() const { return least_truncated_; }

  // The targets that all settings share, of latencies that they know; empty: none.
  const std::vector<SloTarget>& targets() const { return targets_; }
  SloVerdict slo_verdict(const Setting& setting) const;

  // Returns the eligible setting with the least value; none if all are NaN. `but`: a setting to leave out.
  std::optional<Setting> least(std::string_view metric, const Setting* but = nullptr) const;
  // Returns the eligible setting that serves turns with history fastest.
  std::optional<Setting> fastest() const;
  // Returns the eligible setting that serves the rate at the least cost.
  std::optional<Setting> cheapest() const;
  // The settings that have a cost and serve the rate.
  std::vector<Setting> affordable() const;

  // True iff there is an ideal setting and no eligible one serves turns with history faster.
  bool is_beside_ideal() const;
  // Returns the mean service TTFT of turns with history, less that of the ideal setting if is_beside_ideal().
  double restore_ms(const Setting& setting) const;
  // Returns one - other: the paired difference if the two were compared, else with an interval as if their
  // runs were independent.
  Difference difference(const Setting& one, const Setting& other, std::string_view metric) const;
  // Returns " (not significant)" if the interval of a paired difference holds 0, else "".
  std::string doubt(const Setting& one, const Setting& other, std::string_view metric) const;

 private:
  std::vector<Setting> settings_;
  std::vector<Difference> differences_;
  std::optional<Setting> ideal_;
  std::vector<Setting> real_, eligible_;
  std::vector<SloTarget> targets_;
  double least_truncated_ = 1;
};

// Returns the parts of a setting's mean TTFT in ms, each with what happens in it.
std::vector<std::pair<double, const char*>> ttft_parts(const Setting& setting);
// Returns the parts of one - other.
std::vector<std::pair<double, const char*>> ttft_parts_between(const Setting& one, const Setting& other);
// Returns the noticeable parts of `whole_ms`, largest first: "20.0 loading, 6.10 less queueing"; `more`
// stands between a positive part and what happens in it.
std::string parts_text(std::vector<std::pair<double, const char*>> parts, double whole_ms,
                       const char* more = " ");
// Returns what happens in a part of ttft_breakdown_ms: "queueing".
const char* doing_in_part(std::string_view part);

}  // namespace kvcap
