// Comparison: computes the facts that sentences about results state: which settings may be compared, which
// one is ahead, by how much, and in which part of a request.
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
  // Returns the share of turns that are rejected, failed, truncated or abandoned (`what`); 0 if the result
  // does not contain it.
  double share(std::string_view what) const;
  double unanswered_share() const { return share("rejected") + share("failed"); }
};

// A bound on a 99th percentile, from the scenario's slo.
struct SloTarget {
  std::string_view metric, title;  // "p99_ttft_ms", "p99 TTFT"
  double most_ms = 0;
};
enum class SloVerdict { meets, unclear, misses };  // unclear: the interval contains the bound

// Smaller relative differences are called equal.
inline constexpr double kNoticeableShare = 0.005;
// The factor by which sentences propose to raise the number of sessions of a run that is too short.
inline constexpr double kLongerRun = 4;
// Sentences mention unserved turns before any latency if the share of rejected and failed turns exceeds
// kFewUnanswered, or that of truncated or abandoned turns exceeds kFewCut.
inline constexpr double kFewUnanswered = 0.001, kFewCut = 0.01;

inline constexpr std::string_view kOutputCost = "cost.usd_per_million_output_tokens";
// The displayed name of the resource `nvlink` (the link between GPUs) if the GPUs have no NVLink.
inline constexpr std::string_view kPcieBetweenGpus = "PCIe between the GPUs";
// The metric for the mean time from admission to the first token, over turns with history.
inline constexpr std::string_view kHistoryService = "mean_service_ttft_with_history_ms";

class Comparison {
 public:
  Comparison(std::vector<Setting> settings, std::vector<Difference> differences);

  const std::vector<Setting>& settings() const { return settings_; }
  const std::vector<Difference>& differences() const { return differences_; }
  const std::optional<Setting>& ideal() const { return ideal_; }
  // Returns the settings that may be called better than others: they can be built, their runs are long
  // enough, they serve the load, and they leave almost no turns unserved. (A setting that rejects most turns
  // serves the others fast.)
  const std::vector<Setting>& eligible() const { return eligible_; }
  bool is_eligible(const Setting& setting) const;
  // True iff the setting is eligible, or would be if its run were long enough to tell.
  bool is_eligible_so_far(const Setting& setting) const;
  // Return the settings that can be built, and those of them that are not saturated.
  const std::vector<Setting>& real() const { return real_; }
  std::vector<Setting> unsaturated() const;
  // Returns the smallest share of truncated turns of any setting. Only truncation beyond this share counts
  // against a setting, because contexts longer than the model's are truncated in every setting.
  double least_truncated() const { return least_truncated_; }

  // Returns the targets that all settings share, on latencies that all results contain; empty if there are
  // none.
  const std::vector<SloTarget>& targets() const { return targets_; }
  SloVerdict slo_verdict(const Setting& setting) const;

  // Returns the eligible setting with the smallest value; nullopt if all are NaN. `but`: a setting to leave
  // out.
  std::optional<Setting> least(std::string_view metric, const Setting* but = nullptr) const;
  // Returns the eligible setting that serves turns with history fastest.
  std::optional<Setting> fastest() const;
  // Returns the affordable() setting with the lowest cost.
  std::optional<Setting> cheapest() const;
  // Returns the eligible settings that have a cost.
  std::vector<Setting> affordable() const;

  // True iff there is an ideal setting, and no eligible setting serves turns with history faster than it.
  bool is_beside_ideal() const;
  // Returns the mean service TTFT of turns with history, minus that of the ideal setting if
  // is_beside_ideal().
  double restore_ms(const Setting& setting) const;
  // Returns one - other: the paired difference if the two were compared, otherwise a difference whose
  // interval treats their runs as independent.
  Difference difference(const Setting& one, const Setting& other, std::string_view metric) const;
  // Returns " (not significant)" if the interval of the paired difference contains 0, otherwise "".
  std::string doubt(const Setting& one, const Setting& other, std::string_view metric) const;

 private:
  std::vector<Setting> settings_;
  std::vector<Difference> differences_;
  std::optional<Setting> ideal_;
  std::vector<Setting> real_, eligible_;
  std::vector<SloTarget> targets_;
  double least_truncated_ = 1;
};

// Returns the parts of a setting's mean TTFT: the time in ms and what a request does in that part.
std::vector<std::pair<double, const char*>> ttft_parts(const Setting& setting);
// Returns the differences (one - other) in these parts.
std::vector<std::pair<double, const char*>> ttft_parts_between(const Setting& one, const Setting& other);
// Returns the noticeable parts of `whole_ms`, largest first: "20.0 loading, 6.10 less queueing". `more`: the
// text between a positive part and what a request does in it.
std::string parts_text(std::vector<std::pair<double, const char*>> parts, double whole_ms,
                       const char* more = " ");
// Returns what a request does in a part of ttft_breakdown_ms: "queueing".
const char* doing_in_part(std::string_view part);

}  // namespace kvcap
