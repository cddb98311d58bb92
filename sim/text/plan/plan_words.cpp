#include "text/plan/plan_words.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "base/text/format.h"
#include "base/text/width.h"
#include "metrics/unserved.h"
#include "text/titles.h"

namespace kvcap {

void Page::sentence(const std::string& text, std::string_view indent) {
  for (const std::string& one : wrap(text, text_columns(), indent)) line(one);
}

std::string failure_text(const Candidate& candidate) {
  const std::string& reason = candidate.reason;
  if (candidate.verdict == Judgement::cannot_run) return "cannot run: " + reason;
  if (reason == "unstable") return "is saturated";
  if (reason == "stable") return "may be saturated";
  if (std::ranges::find(kUnserved, reason) != std::end(kUnserved))
    return "has " + reason + " turns (" + interval_text(candidate.metric(reason)) + " a run)";
  return (candidate.verdict == Judgement::unclear ? "may miss " : "misses ") + metric_title(reason) + " (" +
         value_text(reason, candidate.metric(reason)) + ")";
}

namespace {

double half_width_of(const MeanInterval& value) {
  const bool same = std::abs(value.half_width) <= 1e-9 * std::abs(value.mean);
  return same ? std::numeric_limits<double>::quiet_NaN() : value.half_width;
}

}  // namespace

std::string interval_text(const MeanInterval& value) {
  return format_interval(value.mean, half_width_of(value));
}

std::string value_text(std::string_view metric, const MeanInterval& value) {
  return metric_text(metric, value.mean, half_width_of(value));
}

std::string change_text(std::string_view metric, const MeanInterval& change) {
  return (change.mean > 0 ? "+" : "") + metric_change_text(metric, change.mean, half_width_of(change));
}

std::string signed_text(const MeanInterval& change) {
  return (change.mean > 0 ? "+" : "") + interval_text(change);
}

std::string signed_number(double value) { return (value > 0 ? "+" : "") + format_number(value); }

std::string values_of(const Changes& changes) {
  std::string text;
  for (const std::string& change : changes) {
    // Prints "hardware.ssd.count=2" as "ssd.count=2": the last two names identify the field.
    std::string path = change.substr(0, change.find('='));
    const std::string value = change.substr(change.find('='));
    const std::size_t last = path.rfind('.');
    const std::size_t before = last == std::string::npos || last == 0 ? last : path.rfind('.', last - 1);
    if (before != std::string::npos) path = path.substr(before + 1);
    if (!text.empty()) text += ' ';
    text += path + value;
  }
  return text;
}

}  // namespace kvcap
