#include "observe/query_answer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/input_error.h"
#include "base/read_fields.h"
#include "base/text/json_document.h"
#include "base/text/json_values.h"
#include "base/text/plain_text.h"

namespace kvcap {
namespace {

using SeriesKey = std::pair<std::string, std::vector<std::pair<std::string, std::string>>>;

constexpr double kMostUnixTime_s = 1e12;

[[noreturn]] void refuse_answer(const std::string& place, const std::string& found,
                                const std::string& allowed) {
  throw InputError(place + ": found " + found + ", allowed: " + allowed +
                   " of an answer of Prometheus' /api/v1/query_range");
}

SeriesPoint point_of(const Json& pair, const std::string& place) {
  const auto refuse = [&] { refuse_answer(place, shown(pair), "[UNIX_TIME, \"NUMBER\"] as a value"); };
  if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number() || !pair[1].is_string()) refuse();
  const auto time_s = pair[0].get<double>();
  if (!(time_s >= 0 && time_s <= kMostUnixTime_s)) refuse();
  std::string_view text = pair[1].get_ref<const std::string&>();
  if (text.starts_with('+')) text.remove_prefix(1);
  SeriesPoint point{.time_ms = std::llround(1e3 * time_s)};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), point.value);
  // Digits beyond the range of a double are a valid number.
  const bool is_number = error == std::errc() || error == std::errc::result_out_of_range;
  if (!is_number || text.empty() || end != text.data() + text.size()) refuse();
  return point;
}

MetricSeries series_of(const Json& item, const std::string& place) {
  const Json& metric = value_of(item, "metric");
  if (!metric.is_object())
    refuse_answer(place, shown(item), "an object with \"metric\" and \"values\" as a series");
  MetricSeries series;
  for (const auto& [key, value] : metric.items()) {
    if (!value.is_string()) refuse_answer(place, shown(value), "a text as a label");
    if (key == "__name__") {
      series.name = value.get<std::string>();
    } else {
      series.labels.emplace_back(key, value.get<std::string>());
    }
  }
  std::sort(series.labels.begin(), series.labels.end());
  for (const Json& pair : list_of(item, "values")) series.points.push_back(point_of(pair, place));
  return series;
}

bool is_earlier(const SeriesPoint& a, const SeriesPoint& b) { return a.time_ms < b.time_ms; }

void put_points_in_order(std::vector<SeriesPoint>& points) {
  std::stable_sort(points.begin(), points.end(), is_earlier);
  const auto same = [](const SeriesPoint& a, const SeriesPoint& b) { return a.time_ms == b.time_ms; };
  points.erase(std::unique(points.begin(), points.end(), same), points.end());
}

void add_one_answer(QueryAnswer& all, const Json& answer, const std::string& place) {
  const std::string error = text_of(answer, "error");
  if (text_of(answer, "status") == "error")
    throw InputError(place + ": Prometheus reports the error: " + error);
  const Json& data = value_of(answer, "data");
  const std::string type = text_of(data, "resultType");
  if (type != "matrix") {
    refuse_answer(place, type.empty() ? "JSON without a \"resultType\"" : "the resultType \"" + type + "\"",
                  "the resultType \"matrix\"");
  }
  for (const std::string& warning : texts_of(list_of(answer, "warnings"))) all.warnings.push_back(warning);
  for (const Json& item : list_of(data, "result")) all.series.push_back(series_of(item, place));
}

}  // namespace

std::string_view MetricSeries::label(std::string_view key) const {
  for (const auto& label : labels) {
    if (label.first == key) return label.second;
  }
  return {};
}

bool is_query_answer(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos && (text[begin] == '{' || text[begin] == '[');
}

void add_query_answer(QueryAnswer& all, std::string_view text, const std::string& place) {
  const Json json = read_json<Json>(text, place);
  if (json.is_array()) {
    for (const Json& answer : json) add_one_answer(all, answer, place);
  } else {
    add_one_answer(all, json, place);
  }
  std::map<SeriesKey, MetricSeries> merged;
  for (MetricSeries& one : all.series) {
    MetricSeries& known = merged.try_emplace({one.name, one.labels}).first->second;
    known.points.insert(known.points.end(), one.points.begin(), one.points.end());
  }
  all.series.clear();
  for (auto& [key, one] : merged) {
    put_points_in_order(one.points);
    all.series.push_back({key.first, key.second, std::move(one.points)});
  }
}

std::string query_error(std::string_view text) {
  try {
    const Json json = read_json<Json>(text);
    return text_of(json, "status") == "error" ? text_of(json, "error") : "";
  } catch (const JsonFault&) {
    return "";
  }
}

}  // namespace kvcap
