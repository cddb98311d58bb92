#include "observe/history.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include "base/input_error.h"
#include "base/text/joined.h"
#include "base/text/plain_text.h"
#include "base/text/progress.h"
#include "observe/engine_metrics.h"
#include "observe/observation.h"
#include "observe/server_series.h"

namespace kvcap {
namespace {

// Prometheus refuses queries for more than 11,000 points per series. A smaller number keeps answers small.
constexpr int64_t kMostTimesPerQuery = 2000;

// The range of times of one query, including both ends.
struct TimeRange {
  int64_t from_ms = 0, to_ms = 0;
};

std::string url_encoded(std::string_view text) {
  std::string encoded;
  for (const auto letter : text) {
    char code[4] = {letter, '\0'};
    const bool is_plain = (letter >= 'a' && letter <= 'z') || letter == '_';
    if (!is_plain) std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned char>(letter));
    encoded += code;
  }
  return encoded;
}

std::string seconds_text(int64_t ms) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3f", 1e-3 * static_cast<double>(ms));
  return text;
}

// Returns a selector of all metrics with one of the names.
std::string selector(const std::set<std::string>& names, const std::string& matchers) {
  return "{__name__=~\"" + joined(names, "|") + "\"" + (matchers.empty() ? "" : "," + matchers) + "}";
}

std::string running_metric(ObservedEngine engine) {
  for (const EngineMetric<Gauge>& row : gauge_metrics()) {
    if (row.engine == engine && row.meter == Gauge::running) return std::string(row.name);
  }
  return "";
}

std::set<std::string> single_value_metrics(ObservedEngine engine) {
  std::set<std::string> names = {std::string(config_metric(engine))};
  const auto add = [&](const auto& rows) {
    for (const auto& row : rows) {
      if (row.engine == engine) names.emplace(row.name);
    }
  };
  add(counter_metrics());
  add(gauge_metrics());
  return names;
}

// One Prometheus server, and the times at which it is asked.
class Prometheus {
 public:
  Prometheus(const std::string& address, const HistoryOptions& options)
      : place_(address), options_(options), server_(parse_http_address(address, "/")) {
    if (server_.path.find('?') != std::string::npos)
      throw InputError("address: found \"" + address +
                       "\", allowed: a Prometheus server's address without a query");
    while (server_.path.ends_with('/')) server_.path.pop_back();
    options_.http.accept = "application/json";
  }

  QueryAnswer ask(const std::string& query, const TimeRange& range, int64_t step_ms) {
    const std::string path = server_.path + "/api/v1/query_range?query=" + url_encoded(query) +
                             "&start=" + seconds_text(range.from_ms) + "&end=" + seconds_text(range.to_ms) +
                             "&step=" + seconds_text(step_ms);
    const HttpAnswer answer = http_get({server_.server, path}, options_.http);
    if (!answer.error.empty()) throw InputError(place_ + ": " + error_of(answer));
    QueryAnswer parsed;
    add_query_answer(parsed, answer.body, place_);
    for (const std::string& one : parsed.warnings) warnings_.insert(one);
    return parsed;
  }

  const std::set<std::string>& warnings() const { return warnings_; }

 private:
  std::string error_of(const HttpAnswer& answer) const {
    constexpr int kUnauthorized = 401, kForbidden = 403, kNotFound = 404, kTooMuch = 422;
    const std::string reported = query_error(answer.body);
    const std::string error =
        reported.empty() ? answer.error : "Prometheus refuses the query: " + beginning(reported, 600);
    if (answer.status == kUnauthorized || answer.status == kForbidden) {
      return error + (options_.http.bearer_token.empty() ? "; set PROMETHEUS_TOKEN to a bearer token"
                                                         : "; it does not accept PROMETHEUS_TOKEN");
    }
    if (answer.status == kTooMuch || reported.find("maximum resolution") != std::string::npos)
      return error + "; give a longer --step or a shorter time";
    if (answer.status == kNotFound && reported.empty())
      return error + ": no Prometheus server answers at this address";
    return error;
  }

  std::string place_;
  HistoryOptions options_;
  HttpAddress server_;
  std::set<std::string> warnings_;
};

class HistoryReader {
 public:
  HistoryReader(const std::string& address, const HistoryOptions& options)
      : prometheus_(address, options),
        place_(address),
        matchers_(options.matchers),
        step_ms_(std::llround(1e3 * options.step_s)) {
    const int64_t start_ms = std::llround(1e3 * options.start_s), end_ms = std::llround(1e3 * options.end_s);
    for (int64_t from_ms = start_ms; from_ms <= end_ms; from_ms += kMostTimesPerQuery * step_ms_)
      ranges_.push_back({from_ms, std::min(end_ms, from_ms + (kMostTimesPerQuery - 1) * step_ms_)});
  }

  ObservedLog read() {
    find_server();
    Progress progress("reading the history");
    ObservedLog log{.address = place_ + " {" + all_matchers() + "}",
                    .every_s = 1e-3 * static_cast<double>(step_ms_)};
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      progress.show(static_cast<double>(i) / static_cast<double>(ranges_.size()));
      read_range(ranges_[i], log);
    }
    if (log.samples.empty())
      throw InputError(place_ + ": Prometheus no longer has the metrics of " + log.address);
    put_in_order(log, place_);
    std::erase_if(log.failures, [&](const FailedScrape& one) {
      return one.unix_s < log.samples.front().unix_s || one.unix_s > log.samples.back().unix_s;
    });
    for (const std::string& one : prometheus_.warnings()) log.notes.push_back("Prometheus warns: " + one);
    return log;
  }

 private:
  // Finds the only server with metrics, by its metric of running requests.
  void find_server() {
    const std::string vllm = running_metric(ObservedEngine::vllm),
                      sglang = running_metric(ObservedEngine::sglang);
    std::vector<MetricSeries> series;
    for (const TimeRange& range : ranges_) {
      const QueryAnswer answer = prometheus_.ask(selector({vllm, sglang}, matchers_), range, step_ms_);
      for (const MetricSeries& one : answer.series) series.push_back({one.name, one.labels, {}});
    }
    if (series.empty()) {
      throw InputError(place_ + ": found neither " + vllm + " nor " + sglang +
                       (matchers_.empty() ? "" : " with {" + matchers_ + "}") + " from " +
                       utc_text(1e-3 * static_cast<double>(ranges_.front().from_ms)) + " to " +
                       utc_text(1e-3 * static_cast<double>(ranges_.back().to_ms)) +
                       ", allowed: a time and --match of a server that Prometheus scrapes");
    }
    server_ = only_server(series, place_, "pick it with --match, for example --match 'LABEL=\"VALUE\"'");
    const bool is_vllm =
        std::any_of(series.begin(), series.end(), [&](const MetricSeries& one) { return one.name == vllm; });
    engine_ = is_vllm ? ObservedEngine::vllm : ObservedEngine::sglang;
  }

  // Returns the user's matchers, and the server's matchers that are missing from them.
  std::string all_matchers() const {
    std::string all = matchers_;
    for (const auto& label : server_) {
      const std::string matcher = matchers_of({label});
      if (all.find(matcher) == std::string::npos) all += (all.empty() ? "" : ",") + matcher;
    }
    return all;
  }

  void read_range(const TimeRange& range, ObservedLog& log) {
    std::vector<MetricSeries> series;
    const auto ask = [&](const std::string& query) {
      QueryAnswer answer = prometheus_.ask(query, range, step_ms_);
      std::move(answer.series.begin(), answer.series.end(), std::back_inserter(series));
    };
    ask(selector(single_value_metrics(engine_), all_matchers()));
    for (const EngineMetric<Spread>& row : spread_metrics()) {
      if (row.engine == engine_) ask(selector({std::string(row.name) + "_(bucket|sum)"}, all_matchers()));
    }
    ask(start_query());
    const std::vector<Snapshot> samples = snapshots_of(series, scrape_times(range), place_);
    add_gaps(range, series, log);
    for (const Snapshot& one : samples) {
      // With steps shorter than the scrape interval, a scrape appears several times.
      if (log.samples.empty() || log.samples.back().unix_s != one.unix_s) log.samples.push_back(one);
    }
  }

  // Returns the query for the times at which the server started to count. The process metric lacks the
  // engine's labels, so a query without server labels would match all processes.
  std::string start_query() const {
    const std::string created = std::string(metric_prefix(engine_)) + ".+_created";
    if (server_.empty()) return selector({created}, matchers_);
    return selector({"process_start_time_seconds", created}, matchers_of(server_));
  }

  // Returns the time at which the values of each point were scraped, by the time of the point.
  std::map<int64_t, int64_t> scrape_times(const TimeRange& range) {
    const QueryAnswer answer = prometheus_.ask(
        "timestamp(" + selector({running_metric(engine_)}, all_matchers()) + ")", range, step_ms_);
    std::map<int64_t, int64_t> times;
    for (const MetricSeries& one : answer.series) {
      for (const SeriesPoint& point : one.points) {
        const bool is_time = point.value > 0 && point.value <= 1e-3 * static_cast<double>(point.time_ms);
        if (!is_time) continue;
        int64_t& scraped_ms = times[point.time_ms];
        scraped_ms = std::max<int64_t>(scraped_ms, std::llround(1e3 * point.value));
      }
    }
    return times;
  }

  void add_gaps(const TimeRange& range, const std::vector<MetricSeries>& series, ObservedLog& log) const {
    std::set<int64_t> times;
    for (const MetricSeries& one : series) {
      if (!one.name.starts_with(metric_prefix(engine_))) continue;
      for (const SeriesPoint& point : one.points) times.insert(point.time_ms);
    }
    for (int64_t time_ms = range.from_ms; time_ms <= range.to_ms; time_ms += step_ms_) {
      if (!times.contains(time_ms))
        log.failures.push_back(
            {1e-3 * static_cast<double>(time_ms),
             "Prometheus has no values for " + utc_text(1e-3 * static_cast<double>(time_ms))});
    }
  }

  Prometheus prometheus_;
  std::string place_, matchers_;
  int64_t step_ms_;
  std::vector<TimeRange> ranges_;
  ServerLabels server_;
  ObservedEngine engine_ = ObservedEngine::vllm;
};

}  // namespace

ObservedLog read_history(const std::string& address, const HistoryOptions& options) {
  return HistoryReader(address, options).read();
}

ObservedLog history_of(QueryAnswer answer, const std::string& place) {
  std::erase_if(answer.series, [](const MetricSeries& one) { return one.name.empty(); });
  only_server(answer.series, place, "give its labels to the query, for example {instance=\"HOST:PORT\"}");
  ObservedLog log{.address = place, .samples = snapshots_of(answer.series, {}, place)};
  if (log.samples.empty())
    throw InputError(place + ": found series without values, allowed: at least one value");
  for (const std::string& one : answer.warnings) log.notes.push_back("Prometheus warns: " + one);
  put_in_order(log, place);
  return log;
}

}  // namespace kvcap
