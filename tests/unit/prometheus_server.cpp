#include "unit/prometheus_server.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <regex>
#include <utility>

#include "observe/prometheus.h"

namespace kvcap {
namespace {

using Json = nlohmann::json;

struct Matcher {
  std::string label, value;
  std::optional<std::regex> pattern;

  bool matches(const Json& metric) const {
    const std::string found = metric.value(label, "");
    return pattern ? std::regex_match(found, *pattern) : found == value;
  }
};

std::vector<Matcher> matchers_in(const std::string& query) {
  static const std::regex kMatcher("(\\w+)(=~|=)\"((?:[^\"\\\\]|\\\\.)*)\"");
  std::vector<Matcher> matchers;
  for (std::sregex_iterator it(query.begin(), query.end(), kMatcher), end; it != end; ++it) {
    matchers.push_back({(*it)[1], (*it)[3], {}});
    if ((*it)[2] == "=~") matchers.back().pattern.emplace(matchers.back().value);
  }
  return matchers;
}

struct Stored {
  int64_t time_ms;
  bool is_up;
  std::map<std::string, std::pair<Json, double>> values;  // by the metric's JSON
};

std::string value_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

// The matching values of each target's scrapes, in the order in which they were given.
std::map<std::map<std::string, std::string>, std::vector<Stored>> stored(
    const std::vector<StoredScrape>& scrapes, const std::string& query) {
  const std::vector<Matcher> matchers = matchers_in(query);
  std::map<std::map<std::string, std::string>, std::vector<Stored>> targets;
  for (const StoredScrape& scrape : scrapes) {
    Stored one{std::llround(1e3 * scrape.unix_s), !scrape.page.empty(), {}};
    for (const MetricSample& sample : parse_metrics(scrape.page, "page")) {
      Json metric = {{"__name__", sample.name}};
      for (const auto& [key, value] : sample.labels) metric[key] = value;
      for (const auto& [key, value] : scrape.target) metric[key] = value;
      bool is_meant = true;
      for (const Matcher& matcher : matchers) is_meant = is_meant && matcher.matches(metric);
      if (is_meant) one.values[metric.dump()] = {metric, sample.value};
    }
    targets[scrape.target].push_back(std::move(one));
  }
  return targets;
}

}  // namespace

std::string query_range(const std::vector<StoredScrape>& scrapes, const std::string& query, double start_s,
                        double end_s, double step_s) {
  constexpr int64_t kLookback_ms = 300'000;
  const int64_t start_ms = std::llround(1e3 * start_s), end_ms = std::llround(1e3 * end_s),
                step_ms = std::llround(1e3 * step_s);
  const bool asks_time = query.starts_with("timestamp(");
  Json result = Json::array();
  for (const auto& [target, times] : stored(scrapes, query)) {
    std::map<std::string, Json> series;
    std::size_t next = 0;
    for (int64_t t = start_ms; t <= end_ms; t += step_ms) {
      while (next < times.size() && times[next].time_ms <= t) ++next;
      if (next == 0 || t - times[next - 1].time_ms >= kLookback_ms) continue;
      const Stored& last = times[next - 1];
      for (const auto& [key, found] : last.values) {
        Json& one =
            series.try_emplace(key, Json{{"metric", found.first}, {"values", Json::array()}}).first->second;
        if (asks_time) one["metric"].erase("__name__");
        const double value = asks_time ? 1e-3 * static_cast<double>(last.time_ms) : found.second;
        one["values"].push_back({1e-3 * static_cast<double>(t), value_text(value)});
      }
    }
    for (auto& [key, one] : series) result.push_back(std::move(one));
  }
  return Json{{"status", "success"}, {"data", {{"resultType", "matrix"}, {"result", result}}}}.dump();
}

PrometheusServer::PrometheusServer(std::vector<StoredScrape> scrapes)
    : scrapes_(std::move(scrapes)), server_([this](const WebRequest& request) { return answer(request); }) {}

WebAnswer PrometheusServer::answer(const WebRequest& request) const {
  if (other_answer_) return *other_answer_;
  if (request.path != "/api/v1/query_range") return {"", 404};
  const auto number = [&](const char* name) { return std::stod(request.parameters.at(name)); };
  if ((number("end") - number("start")) / number("step") > 11'000) {
    const std::string error = "exceeded maximum resolution of 11,000 points";
    return {Json{{"status", "error"}, {"error", error}}.dump(), 400};
  }
  static const std::regex kQuery("\\{.*\\}|timestamp\\(\\{.*\\}\\)");
  if (!std::regex_match(request.parameters.at("query"), kQuery)) {
    return {Json{{"status", "error"}, {"error", "parse error"}}.dump(), 400};
  }
  return {
      query_range(scrapes_, request.parameters.at("query"), number("start"), number("end"), number("step"))};
}

}  // namespace kvcap
