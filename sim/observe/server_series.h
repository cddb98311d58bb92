// The series of one server: which servers the series of an answer belong to, and the snapshots of one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "observe/query_answer.h"
#include "observe/snapshot.h"

namespace kvcap {

// The labels by which Prometheus tells servers apart, with their values.
using ServerLabels = std::vector<std::pair<std::string, std::string>>;

// Returns the labels as matchers of PromQL: instance="10.0.0.1:8000",job="vllm".
std::string matchers_of(const ServerLabels& labels);

// Returns the server that all series of engines belong to. Throws InputError if there is none, or several:
// then with the matchers that pick each of them, and `advice`.
ServerLabels only_server(const std::vector<MetricSeries>& series, const std::string& place,
                         const std::string& advice);

// Returns a snapshot for each time at which the engine's series have values. `scraped_ms`: the times at which
// they were scraped, by the times of the points; without one, the point's own time counts.
std::vector<Snapshot> snapshots_of(const std::vector<MetricSeries>& series,
                                   const std::map<int64_t, int64_t>& scraped_ms, const std::string& place);

}  // namespace kvcap
