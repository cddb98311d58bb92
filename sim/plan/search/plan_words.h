// Words that the texts of a plan have in common.
#pragma once

#include <string>
#include <string_view>

#include "metrics/statistics/intervals.h"
#include "plan/search/plan.h"

namespace kvcap {

// Lines of 100 columns.
class Page {
 public:
  void line(const std::string& text = "") { text_ += text + '\n'; }
  void sentence(const std::string& text, std::string_view indent = "");
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// "240 +-30"; what is the same in every run needs no interval.
// What a candidate that does not meet its targets does: "misses p99_ttft_ms (400 +-6)", "is saturated",
// "may miss ..." or "may be saturated" where it is unclear, "cannot run: why".
std::string failure_text(const Candidate& candidate);

std::string interval_text(const MeanInterval& value);
// The same of a change: "+240 +-30".
std::string signed_text(const MeanInterval& change);
std::string signed_number(double value);
// "policy.name=hcache ssd.count=2"
std::string values_of(const Changes& changes);

}  // namespace kvcap
