// Parses the text format in which servers export metrics for Prometheus, one sample per line:
//
//   NAME{LABEL="VALUE",...} NUMBER [TIMESTAMP]
//
// with comments after #. https://prometheus.io/docs/instrumenting/exposition_formats/
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvcap {

struct MetricSample {
  std::string name;
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;              // may be NaN or infinite
  std::optional<double> unix_s;  // the sample's own timestamp, if given

  // Returns the label's value; empty if the sample has no such label.
  std::string_view label(std::string_view key) const;
};

// Returns the samples in order. `place` names the text in messages. Throws InputError with the line number if
// the text does not match the format.
std::vector<MetricSample> parse_metrics(std::string_view text, const std::string& place);

}  // namespace kvcap
