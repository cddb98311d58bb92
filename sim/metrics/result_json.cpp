#include <nlohmann/json.hpp>

#include "base/check.h"
#include "metrics/write.h"

namespace kvcap {
namespace {

// Keeps the order of insertion; writes NaN as null.
using Json = nlohmann::ordered_json;

// Returns the member for a dotted name, and creates it if necessary: "cost.total_usd" is {"cost":
// {"total_usd": ...}}.
Json& at_dotted(Json& object, std::string_view name) {
  Json* place = &object;
  for (std::size_t dot; (dot = name.find('.')) != std::string_view::npos; name.remove_prefix(dot + 1))
    place = &(*place)[std::string(name.substr(0, dot))];
  return (*place)[std::string(name)];
}

Json metrics_object(const RunResult& result) {
  Json metrics = Json::object();
  for (const Metric& metric : result.metrics)
    std::visit([&](const auto& value) { at_dotted(metrics, metric.name) = value; }, metric.value);
  return metrics;
}

Json series_object(const NamedSeries& series) {
  Json object = Json::object();
  for (const auto& [name, values] : series) object[name] = values;
  return object;
}

Json history_array(const RunResult& result) {
  Json bins = Json::array();
  for (const HistoryBin& bin : result.by_history) {
    bins.push_back({{"min_tokens", bin.min_tokens},
                    {"max_tokens", bin.max_tokens},
                    {"count", bin.count},
                    {"mean_ttft_ms", bin.mean_ttft_ms},
                    {"p99_ttft_ms", bin.p99_ttft_ms}});
  }
  return bins;
}

Json intervals_object(const RunResult& result) {
  Json object = Json::object();
  for (const Interval& interval : result.intervals)
    object[interval.name] = {{"mean", interval.mean},
                             {"half_width", interval.half_width},
                             {"method", name(interval.method)},
                             {"n", interval.n}};
  return object;
}

Json model_intervals_object(const RunResult& result) {
  Json object = Json::object();
  for (const ModelInterval& interval : result.model_intervals) {
    object[interval.name] = {
        {"low", interval.low}, {"high", interval.high}, {"share", kModelShare}, {"draws", interval.draws}};
  }
  return object;
}

Json model_object(const ModelReport& model) {
  Json rankings = Json::array(), saturated = Json::object();
  for (const Ranking& one : model.rankings) {
    rankings.push_back({{"setting", one.setting},
                        {"against", one.against},
                        {"metric", one.metric},
                        {"share_of_machines", one.share}});
  }
  for (const auto& [setting, machines] : model.saturated) saturated[setting] = machines;
  return {{"draws", model.draws},
          {"sessions", model.sessions},
          {"rankings", rankings},
          {"saturated", saturated},
          {"outside_validation", model.outside}};
}

// Adds the object "from" on how a launch line was read, and the warnings on the launch line at the top level
// of the result.
void add_from(const std::string& from_json, Json& object) {
  if (from_json.empty()) return;
  object["from"] = Json::parse(from_json);
  object["warnings"] = object["from"]["warnings"];
}

Json scenario_object(const RunResult& result) {
  if (result.scenario_json.empty()) return nullptr;
  Json scenario = Json::parse(result.scenario_json, nullptr, false);
  KVCAP_CHECK(!scenario.is_discarded());
  return scenario;
}

Json result_object(const RunResult& result) {
  Json object;
  object["schema"] = "kvcap.result/1";
  object["scenario"] = scenario_object(result);
  if (!result.setting.empty()) object["setting"] = result.setting;
  object["policy"] = result.policy;
  object["policy_summary"] = result.policy_summary;
  object["is_bound"] = result.is_bound;
  object["metrics"] = metrics_object(result);
  object["distributions"] = series_object(result.distributions);
  object["series"] = series_object(result.series);
  object["by_history"] = history_array(result);
  object["quality_note"] = result.quality_note.empty() ? Json() : Json(result.quality_note);
  object["intervals"] = intervals_object(result);
  if (!result.samples.empty()) object["samples"] = series_object(result.samples);
  if (!result.model_intervals.empty()) object["model_intervals"] = model_intervals_object(result);
  object["notes"] = result.notes;
  add_from(result.from_json, object);
  object["provenance"] = {{"hardware", result.hardware_provenance}, {"kvcap_version", KVCAP_VERSION}};
  return object;
}

Json differences_array(const std::vector<Difference>& differences) {
  Json array = Json::array();
  for (const Difference& difference : differences) {
    Json interval, method;  // the two ends of the 95 % interval; null if not known
    if (difference.half_width == difference.half_width) {
      interval = {difference.difference - difference.half_width,
                  difference.difference + difference.half_width};
      method = name(difference.method);
    }
    array.push_back({{"setting", difference.setting},
                     {"against", difference.against},
                     {"metric", difference.metric},
                     {"difference", difference.difference},
                     {"interval", interval},
                     {"method", method}});
  }
  return array;
}

// Prints objects on several lines and arrays of numbers on one: the 99 quantiles of a metric are one line.
void print(const Json& value, const std::string& indent, std::string& text) {
  const bool holds_structures =
      !value.empty() && (value.is_object() || (value.is_array() && value.front().is_structured()));
  if (!holds_structures) {
    text += value.dump(-1, ' ', false, Json::error_handler_t::replace);  // notes may contain file names that
                                                                         // are not UTF-8
    return;
  }
  const std::string inner = indent + "  ";
  text += value.is_object() ? '{' : '[';
  const char* separator = "\n";
  for (const auto& [key, item] : value.items()) {
    text += separator + inner;
    if (value.is_object()) text += Json(key).dump() + ": ";
    print(item, inner, text);
    separator = ",\n";
  }
  text += "\n" + indent;
  text += value.is_object() ? '}' : ']';
}

std::string printed(const Json& value) {
  std::string text;
  print(value, "", text);
  return text + "\n";
}

}  // namespace

std::string result_json(const RunResult& result) { return printed(result_object(result)); }

std::string compare_json(const std::vector<RunResult>& results, const std::vector<Difference>& differences,
                         const std::vector<Difference>& pairs, const ModelReport& model,
                         const std::string& from_json) {
  Json object;
  object["schema"] = "kvcap.compare/1";
  object["results"] = Json::array();
  for (const RunResult& result : results) object["results"].push_back(result_object(result));
  object["differences"] = differences_array(differences);
  object["pairs"] = differences_array(pairs);
  if (model.draws > 0) object["model"] = model_object(model);
  add_from(from_json, object);
  return printed(object);
}

}  // namespace kvcap
