#include "observe/server_series.h"

#include <algorithm>
#include <set>

#include "base/input_error.h"
#include "base/text/joined.h"
#include "base/text/plain_text.h"
#include "observe/engine_metrics.h"

namespace kvcap {
namespace {

// The labels that Prometheus, Kubernetes and groups of Prometheus servers give to a scraped server.
constexpr std::string_view kServerLabels[] = {
    "cluster", "prometheus", "prometheus_replica", "replica", "namespace", "job", "pod", "instance"};
// The labels that engines give to most of their metrics.
constexpr std::string_view kEngineLabels[] = {"model_name", "engine",  "engine_type", "tp_rank",
                                              "pp_rank",    "dp_rank", "moe_ep_rank", "pid"};

bool is_of_engine(const MetricSeries& series) {
  return series.name.starts_with(metric_prefix(ObservedEngine::vllm)) ||
         series.name.starts_with(metric_prefix(ObservedEngine::sglang));
}

ServerLabels server_of(const MetricSeries& series) {
  ServerLabels labels;
  for (const std::string_view key : kServerLabels) {
    if (!series.label(key).empty()) labels.emplace_back(key, series.label(key));
  }
  return labels;
}

// Returns the labels of the server that are not common to all servers.
ServerLabels own_labels(const ServerLabels& server, const std::set<ServerLabels>& servers) {
  ServerLabels own;
  for (const auto& label : server) {
    const bool is_shared = std::all_of(servers.begin(), servers.end(), [&](const ServerLabels& other) {
      return std::find(other.begin(), other.end(), label) != other.end();
    });
    if (!is_shared) own.push_back(label);
  }
  return own;
}

// Returns the names of the models that a server serves.
std::string models_of(const std::vector<MetricSeries>& series, const ServerLabels& server) {
  std::set<std::string> models;
  for (const MetricSeries& one : series) {
    if (server_of(one) == server && !one.label("model_name").empty()) models.emplace(one.label("model_name"));
  }
  return joined(models);
}

// Returns the labels that Prometheus has added to all series.
ServerLabels added_labels(const std::vector<MetricSeries>& series) {
  ServerLabels common = series.front().labels;
  for (const MetricSeries& one : series) {
    std::erase_if(common, [&](const auto& label) { return one.label(label.first) != label.second; });
  }
  std::erase_if(common, [](const auto& label) {
    return std::find(std::begin(kEngineLabels), std::end(kEngineLabels), label.first) !=
           std::end(kEngineLabels);
  });
  return common;
}

// SamplesInTime: returns the samples of successive times, one for each series that has a value at that time.
class SamplesInTime {
 public:
  explicit SamplesInTime(const std::vector<MetricSeries>& series) : series_(series), next_(series.size(), 0) {
    const ServerLabels added = added_labels(series);
    for (const MetricSeries& one : series) {
      labels_.push_back(one.labels);
      std::erase_if(labels_.back(), [&](const auto& label) {
        return std::find(added.begin(), added.end(), label) != added.end();
      });
    }
  }

  // REQUIRES: time_ms is later than in the previous call.
  const std::vector<MetricSample>& at(int64_t time_ms) {
    std::vector<std::size_t> present;
    for (std::size_t i = 0; i < series_.size(); ++i) {
      const std::vector<SeriesPoint>& points = series_[i].points;
      while (next_[i] < points.size() && points[next_[i]].time_ms < time_ms) ++next_[i];
      if (next_[i] < points.size() && points[next_[i]].time_ms == time_ms) present.push_back(i);
    }
    if (present != present_) take(present);
    for (std::size_t i = 0; i < present.size(); ++i)
      samples_[i].value = series_[present[i]].points[next_[present[i]]].value;
    return samples_;
  }

 private:
  void take(const std::vector<std::size_t>& present) {
    present_ = present;
    samples_.clear();
    for (const std::size_t i : present) samples_.push_back({.name = series_[i].name, .labels = labels_[i]});
  }

  const std::vector<MetricSeries>& series_;
  std::vector<ServerLabels> labels_;
  std::vector<std::size_t> next_, present_;
  std::vector<MetricSample> samples_;
};

}  // namespace

std::string matchers_of(const ServerLabels& labels) {
  return joined(labels, ",", [](const auto& label) {
    std::string value;
    for (const char letter : label.second) {
      if (letter == '"' || letter == '\\') value += '\\';
      value += letter == '\n' ? std::string("\\n") : std::string(1, letter);
    }
    return label.first + "=\"" + value + "\"";
  });
}

ServerLabels only_server(const std::vector<MetricSeries>& series, const std::string& place,
                         const std::string& advice) {
  std::set<ServerLabels> servers;
  for (const MetricSeries& one : series) {
    if (is_of_engine(one)) servers.insert(server_of(one));
  }
  if (servers.empty()) {
    throw InputError(place +
                     ": found no metrics of an engine, allowed: metrics of vLLM (vllm:...) or SGLang "
                     "(sglang:..., with --enable-metrics)");
  }
  if (servers.size() == 1) return *servers.begin();
  std::vector<std::string> texts;
  for (const ServerLabels& one : servers) {
    const std::string models = models_of(series, one);
    texts.push_back("{" + matchers_of(own_labels(one, servers)) + "}" +
                    (models.empty() ? "" : " (" + models + ")"));
  }
  constexpr std::size_t kShown = 12;
  throw InputError(place + ": found " + std::to_string(servers.size()) +
                   " servers: " + first_few(texts, kShown) + "; allowed: one; " + advice);
}

std::vector<Snapshot> snapshots_of(const std::vector<MetricSeries>& series,
                                   const std::map<int64_t, int64_t>& scraped_ms, const std::string& place) {
  std::set<int64_t> times;
  for (const MetricSeries& one : series) {
    if (!is_of_engine(one)) continue;
    for (const SeriesPoint& point : one.points) times.insert(point.time_ms);
  }
  std::vector<Snapshot> snapshots;
  if (times.empty()) return snapshots;
  SamplesInTime samples(series);
  for (const int64_t time_ms : times) {
    const auto scraped = scraped_ms.find(time_ms);
    const int64_t own_ms = scraped == scraped_ms.end() ? time_ms : scraped->second;
    snapshots.push_back(snapshot_of(samples.at(time_ms), 1e-3 * static_cast<double>(own_ms), place));
  }
  return snapshots;
}

}  // namespace kvcap
