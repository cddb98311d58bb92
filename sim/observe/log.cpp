#include "observe/log.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/float_values.h"
#include "base/input_error.h"
#include "base/read_fields.h"
#include "base/text/json_document.h"

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

// Returns a histogram as JSON, without the last bound, which is infinity and not valid JSON.
Json counts_of(const Buckets& buckets) {
  Json bounds = buckets.bounds;
  bounds.erase(bounds.size() - 1);
  return {{"bounds", bounds}, {"counts", buckets.counts}, {"sum", buckets.sum}};
}

constexpr double kMostTotal = 1e18;  // upper limit of a total

struct HeaderLine {
  ObservedEngine engine = ObservedEngine::vllm;
  std::string address;
  double every_s = 0;
  int64_t engines = 1;
  std::optional<double> started_s;
  std::vector<std::string> models;
  std::map<std::string, std::string> config;
};

FieldSpec time_spec(std::string_view meaning, bool required) {
  return {.meaning = meaning, .unit = "s", .min = 0, .max = 1e12, .required = required};
}

void describe(FieldVisitor& v, HeaderLine& o) {
  v.schema(kSchema, true);
  v.field("engine", o.engine, {.meaning = "engine of the server", .required = true});
  v.field("address", o.address, {.meaning = "address as the user gave it", .required = true});
  v.field("every_s", o.every_s, time_spec("interval between scrapes; 0: no fixed interval", true));
  v.field("engines", o.engines,
          {.meaning = "engines that the figures are summed over", .min = 1, .max = 1e6, .required = true});
  v.field("server_started_s", o.started_s, time_spec("Unix time from which totals count", false));
  v.field("models", o.models, {.meaning = "served models", .required = true});
  v.field("config", o.config, {.meaning = "labels of the engine's cache_config_info", .required = true});
}

template <std::size_t n>
void describe_named(FieldVisitor& v, std::string_view key, const std::string_view (&names)[n],
                    std::array<double, n>& values) {
  values.fill(kNaN);
  v.group(key, {.required = true}, [&](FieldVisitor& in) {
    for (std::size_t i = 0; i < n; ++i) in.field(names[i], values[i], {.min = 0, .max = kMostTotal});
  });
}

}  // namespace

// These functions are outside the anonymous namespace, so that FieldVisitor finds them by argument-dependent
// lookup.
static void describe(FieldVisitor& v, Buckets& o) {
  v.field("bounds", o.bounds, {.meaning = "ascending", .min = 0, .max = kMostTotal, .required = true});
  v.field("counts", o.counts,
          {.meaning = "number of values up to each bound, and of all values",
           .min = 0,
           .max = kMostTotal,
           .required = true});
  v.field("sum", o.sum,
          {.meaning = "sum of the values", .min = -kMostTotal, .max = kMostTotal, .required = true});
}

static void describe(FieldVisitor& v, Snapshot& o) {
  v.field("unix_s", o.unix_s, time_spec("Unix time of the scrape", true));
  v.field("server_started_s", o.started_s, time_spec("Unix time from which totals count", false));
  v.field("refused", o.refused, {.meaning = "figures with values that no server can have"});
  describe_named(v, "counters", kCounterNames, o.counters);
  describe_named(v, "gauges", kGaugeNames, o.gauges);
  v.group("histograms", {.required = true}, [&](FieldVisitor& in) {
    for (std::size_t i = 0; i < o.spreads.size(); ++i) in.field(kSpreadNames[i], o.spreads[i]);
  });
}

static void describe(FieldVisitor& v, FailedScrape& o) {
  v.field("unix_s", o.unix_s, time_spec("Unix time of the attempt", true));
  v.field("failed", o.reason, {.meaning = "why", .required = true});
}

namespace {

void check_ascending(const std::vector<double>& numbers, const std::string& place) {
  const auto falls = std::is_sorted_until(numbers.begin(), numbers.end());
  if (falls != numbers.end()) refuse_field(place, *falls, "ascending numbers");
}

// Appends the last bound, infinity, which the file omits.
void close_buckets(Buckets& buckets, const std::string& place) {
  if (buckets.bounds.empty() && buckets.counts.empty()) return;
  check_ascending(buckets.bounds, place + ".bounds");
  check_ascending(buckets.counts, place + ".counts");
  buckets.bounds.push_back(kInfinity);
  if (buckets.bounds.size() == buckets.counts.size()) return;
  throw InputError(place + ".counts: found " + std::to_string(buckets.counts.size()) +
                   ", allowed: one more than bounds");
}

Snapshot read_snapshot(const Json& line, const HeaderLine& header, const std::string& place) {
  Snapshot snapshot = read_fields<Snapshot>(line, place);
  snapshot.engine = header.engine;
  snapshot.config = header.config;
  snapshot.models = {header.models.begin(), header.models.end()};
  snapshot.engines = header.engines;
  for (std::size_t i = 0; i < snapshot.spreads.size(); ++i) {
    close_buckets(snapshot.spreads[i], place + ": histograms." + std::string(kSpreadNames[i]));
  }
  return snapshot;
}

Json parsed(std::string_view text, const std::string& place) {
  try {
    return read_json<Json>(text);
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
  HeaderLine header;
  int64_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const std::string_view line = text.substr(begin, end - begin);
    begin = end == std::string_view::npos ? text.size() : end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (end == std::string_view::npos && number > 1) {
      log.notes.push_back("the last line of " + place + " is incomplete and was left out");
      break;
    }
    const std::string at = place + ":" + std::to_string(number);
    const Json object = parsed(line, at);
    if (number == 1) {
      header = read_fields<HeaderLine>(object, at);
      log.address = header.address;
      log.every_s = header.every_s;
    } else if (object.contains("failed")) {
      log.failures.push_back(read_fields<FailedScrape>(object, at));
    } else {
      Snapshot snapshot = read_snapshot(object, header, at);
      // Only the first scrape may use the header's start time: later ones may come from a restarted server.
      if (!snapshot.started_s && log.samples.empty()) snapshot.started_s = header.started_s;
      log.samples.push_back(std::move(snapshot));
    }
  }
  if (log.samples.empty()) throw InputError(place + ": contains no successful scrape");
  put_in_order(log, place);
  return log;
}

void put_in_order(ObservedLog& log, const std::string& place) {
  for (const Snapshot& one : log.samples) {
    if (one.engine != log.samples.front().engine)
      throw InputError(place + ": found metrics of vLLM and of SGLang, allowed: metrics of one engine");
  }
  std::stable_sort(log.samples.begin(), log.samples.end(),
                   [](const Snapshot& a, const Snapshot& b) { return a.unix_s < b.unix_s; });
}

}  // namespace kvcap
