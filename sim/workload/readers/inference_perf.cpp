// Reads inference-perf's per_request_lifecycle_metrics.json: an array with one entry per request. The times
// come from a performance counter with an arbitrary zero.
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/input_error.h"
#include "workload/logs/json_fields.h"
#include "workload/logs/json_file.h"
#include "workload/logs/request_log.h"

namespace kvcap {
namespace {

using Json = nlohmann::json;

// Returns the first path that exists; the name of a field differs between versions.
std::string first_of(const Json& request, std::initializer_list<const char*> paths) {
  for (const char* path : paths) {
    if (find_dotted(request, path)) return path;
  }
  return *paths.begin();
}

double required_s(const Json& request, const char* path) {
  const double time_s = duration_s_at(request, path, TimeUnit::s);
  if (std::isnan(time_s)) throw BadRowError{std::string(path) + ": missing, required"};
  return time_s;
}

// Returns the arrival times of the tokens of a streamed answer, in seconds from the request's start.
std::vector<double> token_times_s(const Json& request, double start_s) {
  const std::string path =
      first_of(request, {"info.response_metrics.output_token_times", "info.output_token_times"});
  const Json* times = find_dotted(request, path);
  if (!times) return {};
  if (!times->is_array()) bad_value(path, *times, "an array of seconds");
  std::vector<double> list;
  for (const Json& one : *times) {
    const double time_s = one.is_number() ? one.get<double>() - start_s : NAN;
    if (!(time_s >= (list.empty() ? 0 : list.back()))) {
      bad_value(path, one, "seconds that ascend, none before start_time");
    }
    list.push_back(time_s);
  }
  return list;
}

LoggedRequest read_request(const Json& request, double first_start_s, std::vector<float>& itls_s) {
  const double start_s = required_s(request, "start_time"), end_s = required_s(request, "end_time");
  LoggedRequest entry{
      .time_ns = std::llround((start_s - first_start_s) * 1e9),
      .input_tokens = tokens_at(
          request, first_of(request, {"info.request_metrics.text.input_tokens", "info.input_tokens"})),
      // The server's count, if given.
      .output_tokens =
          tokens_at(request,
                    first_of(request, {"info.response_metrics.server_usage.completion_tokens",
                                       "info.response_metrics.output_tokens", "info.output_tokens"}),
                    0),
      .measured = {.e2el_s = end_s - start_s}};
  const std::vector<double> times_s = token_times_s(request, start_s);
  if (!times_s.empty()) entry.measured.ttft_s = times_s.front();
  for (std::size_t i = 1; i < times_s.size(); ++i) {
    itls_s.push_back(static_cast<float>(times_s[i] - times_s[i - 1]));
  }
  return entry;
}

bool has_failed(const Json& request) {
  return find_dotted(request, "error") || !find_dotted(request, "info");
}

double first_start_of(const Json& requests) {
  double first_s = INFINITY;
  for (const Json& one : requests) {
    const Json* start = one.is_object() ? find_dotted(one, "start_time") : nullptr;
    if (start && start->is_number() && !has_failed(one)) first_s = std::min(first_s, start->get<double>());
  }
  return std::isfinite(first_s) ? first_s : 0;
}

}  // namespace

Source read_inference_perf(const SourceOptions& options, std::optional<int64_t> most) {
  // Drops texts, which may be most of a file.
  const std::vector<Json> documents =
      read_json_documents(options.path, {"request", "response", "response_chunks"});
  if (documents.size() != 1 || !documents.front().is_array()) {
    throw InputError(
        options.path +
        ": found no array of requests, allowed: inference-perf's per_request_lifecycle_metrics.json");
  }
  const Json& requests = documents.front();
  const double first_start_s = first_start_of(requests);
  RequestLog log(most);
  log.enter_list("request ");
  const BadRows bad = for_each_entry(
      options.path, "requests", requests, options.on_bad_row, [&](const Json& request, int64_t row) {
        if (has_failed(request)) {
          ++log.left_out.failed;
          return true;
        }
        const std::size_t gaps = log.itls_s.size();
        LoggedRequest entry = read_request(request, first_start_s, log.itls_s);
        entry.row = row;
        std::string session = name_at(request, "session_id");
        if (session.empty()) session = name_at(request, "info.extra_info.user_session");
        const bool is_added = session.empty() ? log.add(entry) : log.add_turn(session, entry);
        if (!is_added) log.itls_s.resize(gaps);
        return true;
      });
  return log.finish(options.path, bad);
}

}  // namespace kvcap
