// Recorded: everything that a Recorder collects during a run, from which summarise() computes the metrics.
// Besides the turn records, it needs about half a megabyte of memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/resource.h"
#include "base/tier.h"
#include "metrics/recorder.h"
#include "metrics/result.h"
#include "metrics/statistics/histogram.h"
#include "metrics/statistics/series.h"

namespace kvcap {

struct RecordedLevel {
  TimeSeries series;
  double value = 0;  // current sum over nodes, unchanged since since_s
  double since_s = 0;
  double peak = 0;
  double node_peak = 0;          // highest value of any node
  std::vector<double> of_nodes;  // value per node; empty with a single node

  // Returns the sum after a node's value becomes `part`.
  double sum_with(std::size_t node, double part) {
    node_peak = std::max(node_peak, part);
    if (node == 0 && of_nodes.empty()) return part;
    if (node >= of_nodes.size()) {
      if (of_nodes.empty()) of_nodes.push_back(value);
      of_nodes.resize(node + 1);
    }
    return value + part - std::exchange(of_nodes[node], part);
  }
};

struct Recorded {
  std::vector<TurnRecord> turns;
  GapHistogram gaps;
  std::array<RecordedLevel, kLevelCount> levels;
  std::array<TimeSeries, kResourceCount> busy;
  PerTier read_bytes{}, written_bytes{};
  TimeSeries written_to_ssds;      // bytes
  TimeSeries remote_requests;      // reads and writes
  std::vector<double> gpu_busy_s;  // per node
  TimeSeries prefill_gpu_busy;     // prefill nodes only
  int64_t handovers = 0, handovers_given_up = 0;
  double handover_bytes = 0, handover_s = 0;
  int64_t preemptions = 0;
  int64_t believed_tokens = 0, there_tokens = 0;  // tokens of routed prompts that the router expected on the
                                                  // chosen node, and those that were stored there
  int64_t drafts = 0, draft_tokens = 0, accepted_tokens = 0;
  int64_t retried = 0;
  int64_t abandoned = 0, wasted_prompt_tokens = 0, wasted_output_tokens = 0;
  double dropped_s = 0;
  int64_t reloaded_tokens = 0;
  double reloaded_bytes = 0;
  int64_t saves_refused = 0;
  double waiting_save_bytes = 0, peak_waiting_save_bytes = 0;
  double copied_bytes = 0, copied_s = 0;               // within KV buffers
  double reused_prefill_s = 0, restore_compute_s = 0;  // see Recorder::reused
  double restored_in_prefills_s = 0;                   // part of restore_compute_s that prefills contain

  void asked(Tier tier, double requests, double now_s) {
    if (tier == Tier::remote && requests > 0) remote_requests.add_at(requests, now_s);
  }

  RecordedLevel& operator[](Level which) { return levels[static_cast<std::size_t>(which)]; }
  const RecordedLevel& operator[](Level which) const { return levels[static_cast<std::size_t>(which)]; }
};

// Computes the metrics of a run. Latencies and hits exclude warm-up and unanswered turns. Totals, peaks and
// inter-token latencies (which are not recorded per turn) cover the whole run including its warm-up. Rates,
// utilizations and costs per hour or token cover the steady window (stability.h) if there is one.
RunResult summarise(Recorded recorded, const RunFacts& facts);

}  // namespace kvcap
