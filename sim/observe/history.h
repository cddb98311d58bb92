// Reads the metrics of one server from a Prometheus server and reconstructs the scrapes.
#pragma once

#include <string>
#include <vector>

#include "observe/http.h"
#include "observe/log.h"
#include "observe/query_answer.h"

namespace kvcap {

struct HistoryOptions {
  double start_s = 0, end_s = 0;  // Unix times
  double step_s = 60;
  std::string matchers;  // label matchers of PromQL: job="vllm",pod=~"llama-.*"; empty: all servers
  HttpOptions http;
};

// Asks the Prometheus server at `address` for the metrics of one server, at `start_s`, `start_s + step_s` and
// so on. If several of these times show the same scrape, it is read once, with its own time. Times for which
// Prometheus has no values count as failed scrapes. Throws InputError, for example if several servers match.
ObservedLog read_history(const std::string& address, const HistoryOptions& options);

// Reads saved answers of query_range with the metrics of one server. Messages begin with `place`.
ObservedLog history_of(QueryAnswer answer, const std::string& place);

}  // namespace kvcap
