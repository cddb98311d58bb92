// Functions that format values, changes and failures for the pages of a plan.
#pragma once

#include <string>
#include <string_view>

#include "advise/judge.h"
#include "metrics/statistics/intervals.h"

namespace kvcap {

// Builds a text line by line, and wraps sentences at the width of the terminal.
class Page {
 public:
  void line(const std::string& text = "") { text_ += text + '\n'; }
  void sentence(const std::string& text, std::string_view indent = "");
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// Returns why a candidate does not meet its targets: "misses p99 TTFT (400 +-6 ms)", "is saturated", "may
// miss ..." or "may be saturated" if it is unclear, "cannot run: why".
std::string failure_text(const Candidate& candidate);

// Returns "240 +-30"; no interval for a value that is the same in every run.
std::string interval_text(const MeanInterval& value);
// Returns a change with its sign: "+240 +-30".
std::string signed_text(const MeanInterval& change);
std::string signed_number(double value);
// Returns a metric's value in its unit: "240 +-30 ms".
std::string value_text(std::string_view metric, const MeanInterval& value);
// Returns a change of a metric with its sign and unit: "+240 +-30 ms".
std::string change_text(std::string_view metric, const MeanInterval& change);
// Returns the changes with shortened paths: "policy.name=hcache ssd.count=2".
std::string values_of(const Changes& changes);

}  // namespace kvcap
