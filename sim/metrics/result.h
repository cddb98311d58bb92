// RunResult: the result of one simulation, as a plain record that all code which prints, writes, compares or
// sweeps results reads. Names and units are those of the result format (scenarios/results.md).
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

// The record of one turn, as in requests.csv. The TTFT is earlier + queue + lookup + load + restore_compute +
// prefill, where queue = ttft - service_ttft - earlier, and prefill is the rest.
struct TurnRecord {
  uint32_t session = 0;
  uint32_t turn = 0;  // index in its session, from 0
  uint32_t history_tokens = 0;
  uint32_t input_tokens = 0;
  uint32_t output_tokens = 0;
  uint32_t hit_tokens = 0;  // at the first admission
  std::array<uint32_t, kTiers.size()> tier_hit_tokens{};
  std::array<uint32_t, kTiers.size()> tier_used_tokens{};  // of these, tokens that attention uses
  bool cold = true;                                        // no part of its history was computed before
  bool rejected = false;
  bool truncated = false;  // the front of its history or input was cut off
  bool warmup = false;
  uint16_t node = 0;     // fleet node that answered or rejected it
  uint16_t retries = 0;  // number of nodes that failed while serving it
  double arrival_s = 0;  // when its client first sent it; latencies count from here
  double earlier_s = 0;  // time from arrival_s to the attempt that was answered
  double ttft_s = 0;
  double service_ttft_s = 0;  // time from the first admission to the first token
  double e2el_s = 0;          // end-to-end latency; for a failed turn, time until its client gave up
  // Phases of a disaggregated turn after the end of its prefill, each from the end of the previous one:
  // decode_queue_s until the decode node has room for the KV, transfer_s until all KV has arrived,
  // first_step_s until the first token.
  double transfer_s = 0;
  float restore_s = 0;  // time from admission to the end of the restoration
  float lookup_s = 0;
  float load_s = 0;             // part of restore_s with transfers queued or in progress
  float restore_compute_s = 0;  // part of restore_s after the last transfer
  float decode_queue_s = 0, first_step_s = 0;
  float api_s = 0;  // time in the API server and its tokenizer, before the queue
  // abandoned: number of attempts that the client gave up. failed: the client gave up this turn, or an
  // earlier turn of the same session, for good.
  uint16_t abandoned = 0;
  bool failed = false;

  bool answered() const { return !rejected && !failed; }
};

// A metric with its dotted name, e.g. "p99_ttft_ms" or "utilization.gpu". A number that is null in the JSON
// is NaN here.
using MetricValue = std::variant<double, int64_t, bool, std::string>;
struct Metric {
  std::string name;
  MetricValue value;
};

// Source of an interval: independent runs, or batches of one run's turns.
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
  int64_t n = 0;  // replications or batches
};

// The range of a metric on 80 % of the machines that are consistent with the measurements
// (plan/model_draws.h). It reflects uncertainty about the machine, not chance.
struct ModelInterval {
  std::string name;
  double low = 0, high = 0;
  int64_t draws = 0;
};

using NamedSeries = std::vector<std::pair<std::string, std::vector<double>>>;

// Turns with a history of min_tokens to max_tokens, inclusive. Bins span from a power of two to the next one
// minus 1; a history of 0 has its own bin.
struct HistoryBin {
  int64_t min_tokens = 0, max_tokens = 0;
  int64_t count = 0;
  double mean_ttft_ms = 0;
  double p99_ttft_ms = 0;
};

struct RunResult {
  std::string scenario_name;
  std::string scenario_json;  // resolved scenario
  std::string from_json;      // how a launch line was read, as JSON; empty: no launch line
  std::string setting;        // column name in a comparison
  std::string policy;
  std::string policy_summary;                 // one line: what the policy does
  bool is_bound = false;                      // true: cannot be built or bought, and only serves as a bound
  double slo_ttft_ms = -1, slo_tpot_ms = -1;  // bounds on the 99th percentile; negative: none
  std::vector<Metric> metrics;
  NamedSeries distributions;           // 99 quantiles each (1 % .. 99 %)
  NamedSeries series;                  // "time_s" first, then one value per bin
  std::vector<HistoryBin> by_history;  // ascending; only bins with turns
  std::vector<Interval> intervals;
  std::vector<ModelInterval> model_intervals;  // empty: no machines were drawn
  NamedSeries samples;                         // pairs this result with another (metrics/samples.h)
  std::vector<std::string> notes;
  std::string quality_note;  // empty: lossless
  std::string hardware_provenance;
  int64_t session_count = 0, turn_count = 0;  // includes rejected and failed turns
  double dropped_s = 0;                       // total time that attempts given up by clients spent in engines
  std::vector<TurnRecord> turns;              // order: arrival, then session; empty if not requested

  // Returns the number of a metric (bool as 0/1); NaN if the metric is missing or not a number. "stable" is 1
  // if the verdict is stable, 0 if saturated, NaN if undecided.
  double number(std::string_view metric) const;
  // Returns the text of a metric; empty if the metric is missing or not a text.
  std::string_view text(std::string_view metric) const;
};

// Returns the result without the data for plots of one run: turns, series and quantiles.
RunResult without_curves(RunResult result);

}  // namespace kvcap
