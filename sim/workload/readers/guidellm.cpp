// Reads GuideLLM's benchmarks.json. Each benchmark (one strategy at one rate) lists its successful, failed
// and interrupted requests with the times at which they were sent.
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/input_error.h"
#include "workload/logs/json_fields.h"
#include "workload/logs/json_file.h"
#include "workload/logs/request_log.h"

namespace kvcap {
namespace {

using Json = nlohmann::json;

// Returns the start of a request, whose key differs between versions.
std::optional<int64_t> start_ns(const Json& request) {
  for (const char* key : {"request_start_time", "start_time", "info.timings.request_start"}) {
    if (const auto time_ns = time_ns_at(request, key, TimeUnit::s)) return time_ns;
  }
  throw BadRowError{"request_start_time: missing, required"};
}

LoggedRequest read_request(const Json& request) {
  return {.time_ns = start_ns(request),
          .input_tokens = tokens_at(request, "prompt_tokens"),
          .output_tokens = tokens_at(request, "output_tokens", 0),
          .measured = {duration_s_at(request, "time_to_first_token_ms", TimeUnit::ms),
                       duration_s_at(request, "request_latency", TimeUnit::s)}};
}

// Returns a time of the benchmark in ns; 0 if it is missing.
int64_t time_ns_or_0(const Json& benchmark, std::string_view path) {
  const Json* value = find_dotted(benchmark, path);
  const double time_s = value && value->is_number() ? value->get<double>() : 0;
  return time_s > 0 && time_s <= kMaxLogTime_s ? std::llround(time_s * 1e9) : 0;
}

// Measured period of a benchmark. Some versions also list requests of the warm-up and cool-down phases; all
// record when the measurement began and ended.
class Measurement {
 public:
  explicit Measurement(const Json& benchmark)
      : begin_ns_(time_ns_or_0(benchmark, "scheduler_metrics.measure_start_time")),
        end_ns_(time_ns_or_0(benchmark, "scheduler_metrics.measure_end_time")) {}

  // Returns the counter in `left_out` for a request that was not measured; null if any part of the request
  // was measured.
  int64_t* kind_left_out(const LoggedRequest& request, LeftOut& left_out) const {
    if (end_ns_ <= begin_ns_) return nullptr;
    const double took_s = std::isnan(request.measured.e2el_s) ? 0 : request.measured.e2el_s;
    if (*request.time_ns + std::llround(took_s * 1e9) < begin_ns_) return &left_out.warm_up;
    return *request.time_ns > end_ns_ ? &left_out.cool_down : nullptr;
  }

 private:
  int64_t begin_ns_, end_ns_;
};

// Returns a note if the file has only a sample (--sample-requests) of the requests that the server received.
std::string note_on_sample(const Json& benchmark, int64_t kept) {
  const Json* all = find_dotted(benchmark, "metrics.request_totals.successful");
  if (!all || !all->is_number_integer() || all->get<int64_t>() <= kept) return "";
  return "the file has " + std::to_string(kept) + " of " + std::to_string(all->get<int64_t>()) +
         " successful requests (--sample-requests): the server saw a higher rate";
}

}  // namespace

Source read_guidellm(const SourceOptions& options, std::optional<int64_t> most) {
  const std::vector<Json> documents = read_json_documents(options.path, {"output", "prompt", "request_args"});
  const Json* benchmarks = documents.size() == 1 ? find_dotted(documents.front(), "benchmarks") : nullptr;
  if (!benchmarks || !benchmarks->is_array()) {
    throw InputError(options.path + ": benchmarks: missing, required: a benchmarks.json of GuideLLM");
  }
  RequestLog log(most);
  BadRows bad;
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < benchmarks->size(); ++i) {
    const Json& one = (*benchmarks)[i];
    const Json* requests = find_dotted(one, "requests.successful");
    const std::string path = "benchmarks." + std::to_string(i) + ".requests.successful";
    if (!requests) throw InputError(options.path + ": " + path + ": missing, required");
    log.enter_list(path + ".");
    const Measurement measurement(one);
    const BadRows its = for_each_entry(
        options.path, path, *requests, options.on_bad_row, [&](const Json& request, int64_t row) {
          LoggedRequest entry = read_request(request);
          entry.row = row;
          if (int64_t* count = measurement.kind_left_out(entry, log.left_out)) {
            ++*count;
            return true;
          }
          const std::string session = name_at(request, "info.conversation_id");
          if (session.empty()) {
            log.add(entry);
          } else {
            // Several benchmarks may contain the same conversation.
            log.add_turn(session + "/" + std::to_string(i), entry);
          }
          return true;
        });
    bad.count += its.count;
    if (bad.first.empty()) bad.first = its.first;
    if (std::string note = note_on_sample(one, std::ssize(*requests)); !note.empty()) notes.push_back(note);
    const auto size_of = [&one](const char* key) {
      const Json* others = find_dotted(one, key);
      return others && others->is_array() ? std::ssize(*others) : 0;
    };
    log.left_out.failed += size_of("requests.errored");
    log.left_out.cancelled += size_of("requests.incomplete");  // interrupted at the benchmark's end
  }
  Source source = log.finish(options.path, bad);
  if (benchmarks->size() > 1) {
    source.notes.push_back("the file has " + std::to_string(benchmarks->size()) +
                           " benchmarks, which are read as one log, one after the other");
  }
  for (const std::string& note : notes) {
    source.notes.push_back(note);
    source.warnings.push_back(options.path + ": " + note);
  }
  return source;
}

}  // namespace kvcap
