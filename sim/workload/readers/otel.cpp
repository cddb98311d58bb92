// Reads spans of OpenTelemetry's conventions for generative AI: OTLP in JSON, as the collector's file
// exporter writes it, or flat with one span per object, as other exporters write it.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/input_error.h"
#include "workload/logs/json_fields.h"
#include "workload/logs/json_file.h"
#include "workload/logs/request_log.h"

namespace kvcap {
namespace {

using Json = nlohmann::json;

// Current names come first, followed by those of older conventions and of vLLM's own spans.
constexpr std::array<const char*, 2> kInputKeys = {"gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"};
constexpr std::array<const char*, 2> kOutputKeys = {"gen_ai.usage.output_tokens",
                                                    "gen_ai.usage.completion_tokens"};
constexpr std::array<const char*, 3> kTtftKeys = {"gen_ai.response.time_to_first_chunk",
                                                  "gen_ai.server.time_to_first_token",
                                                  "gen_ai.latency.time_to_first_token"};
constexpr std::array<const char*, 4> kStart = {"startTimeUnixNano", "start_time_unix_nano", "start_time",
                                               "startTime"};
constexpr std::array<const char*, 4> kEnd = {"endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime"};
constexpr std::array<const char*, 3> kCalls = {"chat", "text_completion", "generate_content"};

template <std::size_t N>
const Json* first_of(const Json& object, const std::array<const char*, N>& names, std::string& name) {
  for (const char* one : names) {
    name = one;
    if (const Json* found = find_dotted(object, one)) return found;
  }
  return nullptr;
}

// Converts [{"key": k, "value": {"intValue": "12"}}] to {k: "12"}.
Json plain_attributes(const Json& list) {
  Json attributes = Json::object();
  for (const Json& one : list) {
    const Json* key = find_dotted(one, "key");
    const Json* value = find_dotted(one, "value");
    if (!key || !key->is_string() || !value || !value->is_object() || value->empty()) continue;
    attributes[key->get_ref<const std::string&>()] = value->front();
  }
  return attributes;
}

class Spans {
 public:
  explicit Spans(std::optional<int64_t> most) : log_(most) {
    log_.count_repeated_ids();
    log_.enter_list("call ");
  }

  // Adds a span whose attributes are in its member `attributes` or among its own fields. Throws BadRowError.
  void take(const Json& span) {
    const Json* own = find_dotted(span, "attributes");
    const Json attributes = !own ? span : own->is_array() ? plain_attributes(*own) : *own;
    const std::string operation = name_at(attributes, "gen_ai.operation.name");
    std::string input, output, start;
    if (!first_of(attributes, kInputKeys, input) ||
        (!operation.empty() && std::find(kCalls.begin(), kCalls.end(), operation) == kCalls.end())) {
      ++others_;
      return;
    }
    if (!first_of(attributes, kOutputKeys, output) || count(attributes, output, 0) == 0) {
      ++unanswered_;
      return;
    }
    LoggedRequest request{.input_tokens = count(attributes, input, 1),
                          .output_tokens = count(attributes, output, 1)};
    const Json* begin = first_of(span, kStart, start);
    if (!begin) throw BadRowError{std::string(kStart.front()) + ": missing, required"};
    request.time_ns = time_ns(*begin, start);
    std::string name;
    if (const Json* end = first_of(span, kEnd, name)) {
      request.measured.e2el_s = static_cast<double>(time_ns(*end, name) - *request.time_ns) / 1e9;
      if (request.measured.e2el_s < 0) bad_value(name, *end, "a time not before " + start);
    }
    if (first_of(attributes, kTtftKeys, name))
      request.measured.ttft_s = duration_s_at(attributes, name, TimeUnit::s);
    request.id = name_at(span, "spanId");
    request.row = ++calls_;
    const std::string session = name_at(attributes, "gen_ai.conversation.id");
    if (session.empty()) {
      log_.add(request);
    } else {
      log_.add_turn(session, request);
    }
  }

  Source finish(const std::string& path, const BadRows& bad) {
    Source source = log_.finish(path, bad);
    note_left_out(others_, "span", " of other operations or without tokens", source);
    note_left_out(unanswered_, "call", " without output tokens (failed, embeddings)", source);
    for (const auto& [name, clock] : clocks_) {
      if (!clock.note().empty()) source.notes.push_back(clock.note());
    }
    return source;
  }

 private:
  // Reads a token count; OTLP writes 64-bit integers as strings.
  static uint32_t count(const Json& attributes, const std::string& name, int64_t least) {
    const Json* value = find_dotted(attributes, name);
    if (!value->is_string()) return token_count(*value, name, least);
    const std::string& text = value->get_ref<const std::string&>();
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    return token_count(whole ? Json(number) : *value, name, least);
  }
  int64_t time_ns(const Json& value, const std::string& name) {
    LogClock& clock = clocks_.try_emplace(name, name).first->second;
    const auto time_ns = clock.read_ns(value.is_string() ? value.get<std::string>() : value.dump());
    if (!time_ns) bad_value(name, value, clock.allowed());
    return *time_ns;
  }

  RequestLog log_;
  std::map<std::string, LogClock> clocks_;  // by the name of the time's field
  int64_t others_ = 0, unanswered_ = 0, calls_ = 0;
};

// Calls `take` with each span of a document and with the name that messages give the span.
template <typename Take>
void for_each_span(const Json& document, std::size_t number, const Take& take) {
  const std::string place = "object " + std::to_string(number);
  const Json* resources = find_dotted(document, "resourceSpans");
  if (!resources) return take(document, place);
  for (const Json& resource : *resources) {
    for (const char* scopes : {"scopeSpans", "instrumentationLibrarySpans"}) {
      const Json* all = find_dotted(resource, scopes);
      if (!all) continue;
      for (const Json& scope : *all) {
        const Json* spans = find_dotted(scope, "spans");
        if (!spans) continue;
        for (const Json& span : *spans) {
          const Json* id = find_dotted(span, "spanId");
          take(span, place + ", span " + (id ? shown_in_row(*id) : "without a spanId"));
        }
      }
    }
  }
}

}  // namespace

Source read_otel(const SourceOptions& options, std::optional<int64_t> most) {
  Spans spans(most);
  BadRows bad;
  std::size_t number = 0;
  for_each_json_document(
      options.path, {"gen_ai.input.messages", "gen_ai.output.messages"}, [&](const Json& document) {
        if (!document.is_object()) {
          throw InputError(options.path + ": found " + shown_in_row(document) +
                           ", allowed: objects with spans");
        }
        for_each_span(document, ++number, [&](const Json& span, const std::string& place) {
          try {
            spans.take(span);
          } catch (const BadRowError& error) {
            count_bad_row(options.path + ": " + place + ": " + error.reason, options.on_bad_row, bad);
          }
        });
      });
  return spans.finish(options.path, bad);
}

}  // namespace kvcap
