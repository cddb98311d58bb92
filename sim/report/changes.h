// Before and after: what both sides of a report have, figure by figure.
#pragma once

#include <string>
#include <vector>

#include "report/report_data.h"

namespace kvcap {

struct Change {
  std::string input;    // of the side after
  std::string setting;  // a setting, a policy, a check
  std::string metric;
  std::string what, unit;  // as a person reads the metric: "p99 TTFT", "ms"; values are in this unit
  double before = 0, after = 0;
  // Of after - before at 95 %, as if both were independent; 0: both are exact, NaN: a single run each.
  double half_width = 0;

  double difference() const { return after - before; }
  bool is_same() const;
  bool can_tell() const;  // beyond the interval; true where there is none
};

// Results are matched by scenario and setting, restorations by what is restored and policy, checks by id,
// points of sweeps by the values that vary, answers of plans by the plan's name.
std::vector<Change> changes(const std::vector<ReportInput>& inputs);

// Paragraphs; none without a side before.
std::vector<std::string> change_sentences(const std::vector<ReportInput>& inputs);

}  // namespace kvcap
