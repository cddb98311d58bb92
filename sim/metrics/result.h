// RunResult: one finished simulation as a plain record. Everything that is printed, written, compared or
// swept reads this; nothing here knows how it came about. Names and units are those of the result format
// (scenarios/README.md).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/tier.h"

namespace kvcap {

// One turn, as requests.csv prints it. Breakdown: ttft = earlier + queue + lookup + load + restore_compute +
// prefill, where queue = ttft - service_ttft - earlier and prefill is the rest.
struct TurnRecord {
  uint32_t session = 0;
  uint32_t turn = 0;  // from 0
  uint32_t history_tokens = 0;
  uint32_t input_tokens = 0;
  uint32_t output_tokens = 0;
  uint32_t hit_tokens = 0;  // at first admission
  std::array<uint32_t, kTiers.size()> tier_hit_tokens{};
  std::array<uint32_t, kTiers.size()> tier_used_tokens{};  // of them, those that take part (importance)
  bool cold = true;                                        // nobody has computed a part of its history before
  bool rejected = false;
  bool truncated = false;  // its history or its input lost its front
  bool warmup = false;
  uint16_t node = 0;     // of the fleet, that answered or refused it
  uint16_t retries = 0;  // nodes that failed while they served it
  double arrival_s = 0;  // when its client sent it first: latencies count from then
  double earlier_s = 0;  // from then to the attempt that was answered
  double ttft_s = 0;
  double service_ttft_s = 0;  // from first admission
  double e2el_s = 0;          // failed: until its client gave it up
  // Of a turn that one node computes and another decodes, from the end of its prefill on: until the other
  // node had room for its KV (decode_queue_s), until all of it had come, until the first token
  // (first_step_s).
  double transfer_s = 0;
  float restore_s = 0;  // admission to restored
  float lookup_s = 0;
  float load_s = 0;             // restoration with transfers queued or under way
  float restore_compute_s = 0;  // restoration after its last transfer
  float decode_queue_s = 0, first_step_s = 0;
  float api_s = 0;  // in the API server and its tokenizer, before the queue
  // Attempts that its client gave up; failed: for good, or an earlier turn of its session.
  uint16_t abandoned = 0;
  bool failed = false;

  bool answered() const { return !rejected && !failed; }
};

// A metric under its dotted name, e.g. "p99_ttft_ms" or "utilization.gpu". Null doubles are NaN.
using MetricValue = std::variant<double, int64_t, bool, std::string>;
struct Metric {
  std::string name;
  MetricValue value;
};

// Where an interval comes from: independent runs, or batches of one run's turns.
enum class IntervalMethod : uint8_t { replications, batch_means };
constexpr std::string_view name(IntervalMethod method) {
  return method == IntervalMethod::replications ? "replications" : "batch_means";
}

// 95 % interval of a mean: mean +- half_width.
struct Interval {
  std::string name;
  double mean = 0;
  double half_width = 0;
  IntervalMethod method = IntervalMethod::replications;
  int64_t n = 0;  // of replications or of batches
};

// What the machine may be and not what chance may bring: where a metric lies in 80 % of the machines that are
// consistent with what was measured (plan/model_draws.h).
struct ModelInterval {
  std::string name;
  double low = 0, high = 0;
  int64_t draws = 0;
};

using NamedSeries = std::vector<std::pair<std::string, std::vector<double>>>;

// Turns whose history has min_tokens to max_tokens, both included; the bounds are powers of two, 0 apart.
struct HistoryBin {
  int64_t min_tokens = 0, max_tokens = 0;
  int64_t count = 0;
  double mean_ttft_ms = 0;
  double p99_ttft_ms = 0;
};

struct RunResult {
  std::string scenario_name;
  std::string scenario_json;  // as resolved
  std::string from_json;      // how a launch line was read; empty: there was none
  std::string setting;        // in a comparison: what this column is called
  std::string policy;
  std::string policy_summary;  // what it does, in a line
  bool is_bound = false;       // cannot be built or bought: what others are measured against
  std::vector<Metric> metrics;
  NamedSeries distributions;           // 99 quantiles each (1 % .. 99 %)
  NamedSeries series;                  // "time_s" first, then one value a bin
  std::vector<HistoryBin> by_history;  // ascending; those with turns
  std::vector<Interval> intervals;
  std::vector<ModelInterval> model_intervals;  // empty: no machines were drawn
  std::vector<std::string> notes;
  std::string quality_note;  // empty: lossless
  std::string hardware_provenance;
  int64_t session_count = 0, turn_count = 0;  // served, rejected or failed
  double dropped_s = 0;                       // that attempts were inside which their clients gave up
  std::vector<TurnRecord> turns;              // in order of arrival, then session; empty where nobody asks

  // Returns the number behind a metric (bool as 0/1); NaN when there is no such number. "stable" is 1 where
  // the verdict is stable, 0 where it is saturated, NaN where it is undecided.
  double number(std::string_view metric) const;
  // The text behind a metric; empty when there is no such text.
  std::string_view text(std::string_view metric) const;
};

// Without what a plot of one run needs: turns, series and quantiles.
RunResult without_curves(RunResult result);

}  // namespace kvcap
