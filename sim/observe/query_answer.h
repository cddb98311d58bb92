// An answer of Prometheus' query_range: series of values over time.
// https://prometheus.io/docs/prometheus/latest/querying/api/
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvcap {

struct SeriesPoint {
  int64_t time_ms = 0;  // Unix time
  double value = 0;     // may be NaN or infinite
};

struct MetricSeries {
  std::string name;  // empty: the result of a function
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<SeriesPoint> points;  // in order of time, at most one per time

  // Returns the label's value; empty if the series has no such label.
  std::string_view label(std::string_view key) const;
};

struct QueryAnswer {
  std::vector<MetricSeries> series;
  std::vector<std::string> warnings;
};

// True iff the text is JSON and not a page of metrics. REQUIRES: the text is not a log (is_observed_log).
bool is_query_answer(std::string_view text);

// Adds the series of a JSON text that contains one answer or an array of answers. A series that `all` already
// has gets the points that it lacks. Throws InputError, for example if Prometheus answered with an error.
void add_query_answer(QueryAnswer& all, std::string_view text, const std::string& place);

// Returns the error of an answer with "status": "error"; empty for other texts.
std::string query_error(std::string_view text);

}  // namespace kvcap
