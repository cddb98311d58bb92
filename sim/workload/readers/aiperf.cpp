// Reads AIPerf's profile_export.jsonl, one request per line, and the profile_export.json of its predecessor
// GenAI-Perf, which contains texts and times but no token counts.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/input_error.h"
#include "base/text/json_document.h"
#include "workload/logs/estimate.h"
#include "workload/logs/json_fields.h"
#include "workload/logs/json_file.h"
#include "workload/logs/request_log.h"

namespace kvcap {
namespace {

using Json = nlohmann::json;

// Returns the unit of a metric; AIPerf writes "sec" and "ms", and a metric without a unit is in seconds.
TimeUnit unit_of_metric(const Json& record, const std::string& name) {
  constexpr std::pair<std::string_view, TimeUnit> kUnitWords[] = {{"s", TimeUnit::s},
                                                                  {"sec", TimeUnit::s},
                                                                  {"seconds", TimeUnit::s},
                                                                  {"ms", TimeUnit::ms},
                                                                  {"us", TimeUnit::us},
                                                                  {"ns", TimeUnit::ns},
                                                                  {"milliseconds", TimeUnit::ms},
                                                                  {"microseconds", TimeUnit::us},
                                                                  {"nanoseconds", TimeUnit::ns}};
  const std::string path = "metrics." + name + ".unit";
  const Json* unit = find_dotted(record, path);
  if (!unit) return TimeUnit::s;
  for (const auto& [word, meant] : kUnitWords) {
    if (unit->is_string() && unit->get_ref<const std::string&>() == word) return meant;
  }
  bad_value(path, *unit, "sec, ms, us, ns");
}

// Reads a metric such as {"value": 30, "unit": "tokens"}.
uint32_t metric_tokens(const Json& record, const std::string& name, int64_t least = 1) {
  const std::string path = "metrics." + name;
  const Json* unit = find_dotted(record, path + ".unit");
  if (unit && *unit != "tokens") bad_value(path + ".unit", *unit, "tokens");
  return tokens_at(record, path + ".value", least);
}

// Reads a metric such as {"value": 255.9, "unit": "ms"} and returns seconds.
double metric_s(const Json& record, const std::string& name) {
  return duration_s_at(record, "metrics." + name + ".value", unit_of_metric(record, name));
}

void take_gaps(const Json& record, std::vector<float>& itls_s) {
  const Json* gaps = find_dotted(record, "metrics.inter_chunk_latency.value");
  if (!gaps || !gaps->is_array()) return;
  const double unit_s = seconds_in(unit_of_metric(record, "inter_chunk_latency"));
  for (const Json& gap : *gaps) {
    if (!gap.is_number()) bad_value("metrics.inter_chunk_latency.value", gap, "a number");
    itls_s.push_back(static_cast<float>(gap.get<double>() * unit_s));
  }
}

// Appends the texts of a prompt or an answer: the strings under known keys, at any depth.
void gather_text(const Json& value, std::string& text) {
  if (!value.is_structured()) return;
  for (const auto& item : value.items()) {
    const bool says = item.key() == "content" || item.key() == "prompt" || item.key() == "text" ||
                      item.key() == "text_input" || item.key() == "text_output";
    if (says && item.value().is_string()) text += item.value().get_ref<const std::string&>();
    gather_text(item.value(), text);
  }
}

// Appends the text of a request or response body, which GenAI-Perf stores as JSON in a string. The string of
// a streamed answer begins with "data: ".
void gather_body(const Json& holder, std::string& text) {
  gather_text(holder, text);
  for (const char* key : {"payload", "response"}) {
    const Json* body = find_dotted(holder, key);
    if (!body || !body->is_string()) continue;
    std::string_view line = body->get_ref<const std::string&>();
    constexpr std::string_view kEvent = "data: ";
    if (line.starts_with(kEvent)) line.remove_prefix(kEvent.size());
    try {
      gather_text(read_json<Json>(line), text);
    } catch (const JsonFault& fault) {
      if (fault.is_refused_json) throw BadRowError{std::string(key) + ": " + fault.reason};
    }
  }
}

uint32_t estimated(const std::string& text) {
  return static_cast<uint32_t>(std::clamp<int64_t>(estimate_tokens(text), 1, kMaxTokens));
}

LoggedRequest read_texts(const Json& request, std::vector<float>& itls_s) {
  LoggedRequest entry;
  entry.time_ns = time_ns_at(request, "timestamp", TimeUnit::ns);
  if (!entry.time_ns) throw BadRowError{"timestamp: missing, required"};
  std::string prompt, answer;
  if (const Json* inputs = find_dotted(request, "request_inputs")) gather_body(*inputs, prompt);
  if (const Json* outputs = find_dotted(request, "response_outputs"); outputs && outputs->is_array()) {
    for (const Json& one : *outputs) gather_body(one, answer);
  }
  entry.input_tokens = estimated(prompt);
  entry.output_tokens = estimated(answer);
  const Json* times = find_dotted(request, "response_timestamps");
  if (!times || !times->is_array() || times->empty()) {
    throw BadRowError{"response_timestamps: missing, required: an array with at least one time"};
  }
  std::vector<int64_t> times_ns;
  for (const Json& one : *times) {
    if (!one.is_number_integer() || one.get<int64_t>() < *entry.time_ns) {
      bad_value("response_timestamps", one, "nanoseconds, none before timestamp");
    }
    times_ns.push_back(one.get<int64_t>());
  }
  std::sort(times_ns.begin(), times_ns.end());
  entry.measured.e2el_s = static_cast<double>(times_ns.back() - *entry.time_ns) / 1e9;
  if (times_ns.size() == 1) return entry;  // not streamed
  entry.measured.ttft_s = static_cast<double>(times_ns.front() - *entry.time_ns) / 1e9;
  for (std::size_t i = 1; i < times_ns.size(); ++i) {
    itls_s.push_back(static_cast<float>(static_cast<double>(times_ns[i] - times_ns[i - 1]) / 1e9));
  }
  return entry;
}

bool is_true(const Json& record, std::string_view path) {
  const Json* value = find_dotted(record, path);
  return value && value->is_boolean() && value->get<bool>();
}

// Returns the counter in `left_out` for a request that was not measured; null if the request was measured.
int64_t* kind_left_out(const Json& record, LeftOut& left_out) {
  if (name_at(record, "metadata.benchmark_phase") == "warmup") return &left_out.warm_up;
  if (is_true(record, "metadata.was_cancelled")) return &left_out.cancelled;
  return find_dotted(record, "error") ? &left_out.failed : nullptr;
}

}  // namespace

Source read_aiperf(const SourceOptions& options, std::optional<int64_t> most) {
  RequestLog log(most);
  const BadRows bad = for_each_row(options.path, options.on_bad_row, [&](const Json& record, int64_t line) {
    if (int64_t* count = kind_left_out(record, log.left_out)) {
      ++*count;
      return true;
    }
    LoggedRequest entry;
    entry.row = line;
    entry.time_ns = time_ns_at(record, "metadata.request_start_ns", TimeUnit::ns);
    if (!entry.time_ns) throw BadRowError{"metadata.request_start_ns: missing, required"};
    // The server's count, if given, includes the chat template and the history.
    const bool is_counted = find_dotted(record, "metrics.usage_prompt_tokens.value");
    entry.input_tokens = metric_tokens(record, is_counted ? "usage_prompt_tokens" : "input_sequence_length");
    entry.output_tokens = metric_tokens(record, "output_sequence_length", 0);
    entry.measured = {metric_s(record, "time_to_first_token"), metric_s(record, "request_latency")};
    // Several users may run the same conversation of the data set, but each has its own correlation id.
    std::string session = name_at(record, "metadata.x_correlation_id");
    if (session.empty()) session = name_at(record, "metadata.conversation_id");
    const std::size_t gaps = log.itls_s.size();
    take_gaps(record, log.itls_s);
    const bool is_added = session.empty() ? log.add(entry) : log.add_turn(session, entry);
    if (!is_added) log.itls_s.resize(gaps);
    return true;
  });
  return log.finish(options.path, bad);
}

Source read_genai_perf(const SourceOptions& options, std::optional<int64_t> most) {
  const std::vector<Json> documents = read_json_documents(options.path);
  const Json* experiments = documents.size() == 1 ? find_dotted(documents.front(), "experiments") : nullptr;
  if (!experiments || !experiments->is_array() || experiments->size() != 1) {
    throw InputError(options.path + ": experiments: found " +
                     (experiments && experiments->is_array() ? std::to_string(experiments->size()) : "none") +
                     ", allowed: one");
  }
  RequestLog log(most);
  const Json* requests = find_dotted((*experiments)[0], "requests");
  if (!requests) throw InputError(options.path + ": experiments.0.requests: missing, required");
  log.enter_list("experiments.0.requests.");
  const BadRows bad = for_each_entry(options.path, "experiments.0.requests", *requests, options.on_bad_row,
                                     [&](const Json& request, int64_t row) {
                                       const std::size_t gaps = log.itls_s.size();
                                       LoggedRequest entry = read_texts(request, log.itls_s);
                                       entry.row = row;
                                       if (!log.add(entry)) log.itls_s.resize(gaps);
                                       return true;
                                     });
  Source source = log.finish(options.path, bad);
  source.notes.emplace_back(kEstimateNote);
  return source;
}

}  // namespace kvcap
