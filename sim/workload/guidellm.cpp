// GuideLLM's benchmarks.json: of each benchmark, one strategy at one rate, the requests that succeeded,
// failed or were cut off at its end, with the times at which they were sent.
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/input_error.h"
#include "workload/json_fields.h"
#include "workload/json_file.h"
#include "workload/request_log.h"

namespace kvcap {
namespace {

using Json = nlohmann::json;

// The first of several names that versions have given it.
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

}  // namespace

Source read_guidellm(const SourceOptions& options, std::optional<int64_t> most) {
  const std::vector<Json> documents = read_json_documents(options.path, {"output", "prompt", "request_args"});
  const Json* benchmarks = documents.size() == 1 ? find_dotted(documents.front(), "benchmarks") : nullptr;
  if (!benchmarks || !benchmarks->is_array()) {
    throw InputError(options.path + ": benchmarks: missing, required: a benchmarks.json of GuideLLM");
  }
  RequestLog log(most);
  BadRows bad;
  int64_t failed = 0;
  for (std::size_t i = 0; i < benchmarks->size(); ++i) {
    const Json& one = (*benchmarks)[i];
    const Json* requests = find_dotted(one, "requests.successful");
    const std::string path = "benchmarks." + std::to_string(i) + ".requests.successful";
    if (!requests) throw InputError(options.path + ": " + path + ": missing, required");
    log.enter_list(path + ".");
    const BadRows its = for_each_entry(options.path, path, *requests, options.on_bad_row,
                                       [&](const Json& request, int64_t row) {
                                         LoggedRequest entry = read_request(request);
                                         entry.row = row;
                                         const std::string session = name_at(request, "info.conversation_id");
                                         if (session.empty()) {
                                           log.add(entry);
                                         } else {
                                           // The same conversation may be asked in each benchmark.
                                           log.add_turn(session + "/" + std::to_string(i), entry);
                                         }
                                         return true;
                                       });
    bad.count += its.count;
    if (bad.first.empty()) bad.first = its.first;
    for (const char* key : {"requests.errored", "requests.incomplete"}) {
      const Json* others = find_dotted(one, key);
      if (others && others->is_array()) failed += std::ssize(*others);
    }
  }
  Source source = log.finish(options.path, bad);
  if (benchmarks->size() > 1) {
    source.notes.push_back("the file has " + std::to_string(benchmarks->size()) +
                           " benchmarks: their requests are one log, one benchmark after the other");
  }
  note_left_out(failed, "failed or unfinished request", "", source);
  return source;
}

}  // namespace kvcap
