#include "observe/log.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/float_values.h"
#include "base/input_error.h"
#include "base/json_document.h"

namespace kvcap {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSchema = "kvcap.observed/1";

template <std::size_t n>
Json named(const std::array<double, n>& values, const std::string_view (&names)[n]) {
  Json object = Json::object();
  for (std::size_t i = 0; i < n; ++i) {
    if (!std::isnan(values[i])) object[std::string(names[i])] = values[i];
  }
  return object;
}

// The last bound, infinity, is none in JSON: it goes without saying.
Json counts_of(const Buckets& buckets) {
  Json bounds = buckets.bounds;
  bounds.erase(bounds.size() - 1);
  return {{"bounds", bounds}, {"counts", buckets.counts}, {"sum", buckets.sum}};
}

// Fields of one line, checked one by one; what is wrong is thrown as a text without its place.
struct BadField {
  std::string what;
};

double number_in(const Json& object, const std::string& key, bool required = true, double least = -1e300) {
  const auto found = object.find(key);
  if (found == object.end() && !required) return kNaN;
  if (found == object.end() || !found->is_number() || !std::isfinite(found->get<double>()) ||
      found->get<double>() < least) {
    throw BadField{key + ": " + (found == object.end() ? "missing" : "found " + found->dump()) +
                   ", allowed: a number" + (least == 0 ? " from 0 on" : "")};
  }
  return found->get<double>();
}

const Json& member(const Json& object, const std::string& key, Json::value_t kind, const char* allowed) {
  const auto found = object.find(key);
  if (found == object.end() || found->type() != kind)
    throw BadField{key + (found == object.end() ? ": missing" : ": found another kind of value") +
                   ", allowed: " + allowed};
  return *found;
}

std::string text_in(const Json& object, const std::string& key) {
  return member(object, key, Json::value_t::string, "a text").get<std::string>();
}

template <std::size_t n>
void read_named(const Json& line, const std::string& key, const std::string_view (&names)[n],
                std::array<double, n>& values) {
  const Json& object = member(line, key, Json::value_t::object, "an object");
  for (std::size_t i = 0; i < n; ++i) values[i] = number_in(object, std::string(names[i]), false, 0);
}

std::vector<double> ascending(const Json& object, const std::string& key) {
  std::vector<double> numbers;
  for (const Json& one : member(object, key, Json::value_t::array, "an array of numbers")) {
    if (!one.is_number() || !std::isfinite(one.get<double>()) || one.get<double>() < 0 ||
        (!numbers.empty() && one.get<double>() < numbers.back())) {
      throw BadField{key + ": found " + one.dump() + ", allowed: ascending numbers from 0 on"};
    }
    numbers.push_back(one.get<double>());
  }
  return numbers;
}

Buckets read_buckets(const Json& object) {
  Buckets buckets;
  buckets.bounds = ascending(object, "bounds");
  buckets.counts = ascending(object, "counts");
  buckets.sum = number_in(object, "sum");
  buckets.bounds.push_back(std::numeric_limits<double>::infinity());
  if (buckets.bounds.size() != buckets.counts.size())
    throw BadField{"counts: found " + std::to_string(buckets.counts.size()) +
                   ", allowed: one more than bounds"};
  return buckets;
}

struct Header {
  ObservedEngine engine = ObservedEngine::vllm;
  std::map<std::string, std::string> config;
  std::set<std::string> models;
  int64_t engines = 1;
  std::optional<double> started_s;
};

Header read_header(const Json& line, ObservedLog& log) {
  Header header;
  const std::string engine = text_in(line, "engine");
  const auto* const found =
      std::find(std::begin(kObservedEngineNames), std::end(kObservedEngineNames), engine);
  if (found == std::end(kObservedEngineNames))
    throw BadField{"engine: found \"" + engine + "\", allowed: vllm, sglang"};
  header.engine = static_cast<ObservedEngine>(found - std::begin(kObservedEngineNames));
  log.address = text_in(line, "address");
  log.every_s = number_in(line, "every_s");
  header.engines = static_cast<int64_t>(std::clamp(number_in(line, "engines"), 1.0, 1e6));
  if (line.contains("server_started_s")) header.started_s = number_in(line, "server_started_s");
  for (const Json& model : member(line, "models", Json::value_t::array, "an array of texts")) {
    if (!model.is_string()) throw BadField{"models: found " + model.dump() + ", allowed: texts"};
    header.models.insert(model.get<std::string>());
  }
  for (const auto& [key, value] : member(line, "config", Json::value_t::object, "an object").items()) {
    if (!value.is_string()) throw BadField{"config." + key + ": found " + value.dump() + ", allowed: a text"};
    header.config[key] = value.get<std::string>();
  }
  return header;
}

Snapshot read_snapshot(const Json& line, const Header& header) {
  Snapshot snapshot;
  snapshot.unix_s = number_in(line, "unix_s");
  snapshot.engine = header.engine;
  snapshot.config = header.config;
  snapshot.models = header.models;
  snapshot.engines = header.engines;
  snapshot.started_s = header.started_s;
  if (line.contains("server_started_s")) snapshot.started_s = number_in(line, "server_started_s");
  if (line.contains("refused")) {
    for (const auto& [figure, text] : member(line, "refused", Json::value_t::object, "an object").items()) {
      if (!text.is_string())
        throw BadField{"refused." + figure + ": found " + text.dump() + ", allowed: a text"};
      snapshot.refused[figure] = text.get<std::string>();
    }
  }
  read_named(line, "counters", kCounterNames, snapshot.counters);
  read_named(line, "gauges", kGaugeNames, snapshot.gauges);
  const Json& spreads = member(line, "histograms", Json::value_t::object, "an object");
  for (std::size_t i = 0; i < snapshot.spreads.size(); ++i) {
    const auto found = spreads.find(kSpreadNames[i]);
    if (found != spreads.end()) snapshot.spreads[i] = read_buckets(*found);
  }
  return snapshot;
}

Json parsed(std::string_view text, const std::string& place) {
  try {
    Json line = read_json<Json>(text);
    if (!line.is_object())
      throw InputError(place + ": found " + line.dump().substr(0, 40) + ", allowed: an object");
    return line;
  } catch (const JsonFault& fault) {
    throw InputError(place + ": " + fault.reason);
  }
}

}  // namespace

std::string log_header(const std::string& address, double every_s, const Snapshot& first) {
  Json line = {
      {"schema", kSchema},      {"engine", kObservedEngineNames[static_cast<std::size_t>(first.engine)]},
      {"address", address},     {"every_s", every_s},
      {"models", first.models}, {"engines", first.engines},
      {"config", first.config}};
  if (first.started_s) line["server_started_s"] = *first.started_s;
  return line.dump() + "\n";
}

std::string log_line(const Snapshot& snapshot) {
  Json spreads = Json::object();
  for (std::size_t i = 0; i < snapshot.spreads.size(); ++i) {
    if (!snapshot.spreads[i].empty()) spreads[std::string(kSpreadNames[i])] = counts_of(snapshot.spreads[i]);
  }
  Json line = {{"unix_s", snapshot.unix_s},
               {"counters", named(snapshot.counters, kCounterNames)},
               {"gauges", named(snapshot.gauges, kGaugeNames)},
               {"histograms", spreads}};
  if (snapshot.started_s) line["server_started_s"] = *snapshot.started_s;
  if (!snapshot.refused.empty()) line["refused"] = snapshot.refused;
  return line.dump() + "\n";
}

std::string log_line(const FailedScrape& failure) {
  return Json{{"unix_s", failure.unix_s}, {"failed", failure.reason}}.dump() + "\n";
}

bool is_observed_log(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  return line.starts_with('{') && line.find(kSchema) != std::string_view::npos;
}

ObservedLog parse_observed_log(std::string_view text, const std::string& place) {
  ObservedLog log;
  Header header;
  int64_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const std::string_view line = text.substr(begin, end - begin);
    begin = end == std::string_view::npos ? text.size() : end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (end == std::string_view::npos && number > 1) {
      log.notes.push_back("the last line of " + place + " is not whole and was left out");
      break;
    }
    const std::string at = place + ":" + std::to_string(number);
    const Json object = parsed(line, at);
    try {
      if (number == 1) {
        if (object.value("schema", Json()) != Json(kSchema))
          throw BadField{"schema: allowed: kvcap.observed/1"};
        header = read_header(object, log);
      } else if (object.contains("failed")) {
        log.failures.push_back({number_in(object, "unix_s"), text_in(object, "failed")});
      } else {
        log.samples.push_back(read_snapshot(object, header));
        // Lines that do not say when the server started may be of one that restarted.
        if (!object.contains("server_started_s") && log.samples.size() > 1)
          log.samples.back().started_s.reset();
      }
    } catch (const BadField& field) {
      throw InputError(at + ": " + field.what);
    }
  }
  if (log.samples.empty()) throw InputError(place + ": has no scrape that succeeded");
  put_in_order(log, place);
  return log;
}

void put_in_order(ObservedLog& log, const std::string& place) {
  for (const Snapshot& one : log.samples) {
    if (one.engine != log.samples.front().engine)
      throw InputError(place + ": found metrics of vLLM and of SGLang, allowed: those of one engine");
  }
  std::stable_sort(log.samples.begin(), log.samples.end(),
                   [](const Snapshot& a, const Snapshot& b) { return a.unix_s < b.unix_s; });
}

}  // namespace kvcap
