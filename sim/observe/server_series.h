// Finds the servers to which the series of a Prometheus answer belong, and builds the snapshots of one
// server.
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

// The labels by which Prometheus distinguishes servers, with their values.
using ServerLabels = std::vector<std::pair<std::string, std::string>>;

// Returns the labels as matchers of PromQL: instance="10.0.0.1:8000",job="vllm".
std::string matchers_of(const ServerLabels& labels);

// Returns the server to which all series of engines belong. Throws InputError if there is none, or if there
// are several; the message then lists the matchers that select each of them, followed by `advice`.
ServerLabels only_server(const std::vector<MetricSeries>& series, const std::string& place,
                         const std::string& advice);

// Returns a snapshot for each time at which the engine's series have values. `scraped_ms` maps the times of
// points to the times at which they were scraped; a point that it lacks keeps its own time.
std::vector<Snapshot> snapshots_of(const std::vector<MetricSeries>& series,
                                   const std::map<int64_t, int64_t>& scraped_ms, const std::string& place);

}  // namespace kvcap
