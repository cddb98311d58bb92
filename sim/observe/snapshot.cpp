#include "observe/snapshot.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/float_values.h"
#include "base/input_error.h"
#include "observe/engine_metrics.h"

namespace kvcap {
namespace {

template <class Meter>
constexpr std::size_t index(Meter meter) {
  return static_cast<std::size_t>(meter);
}

bool has_engine(const std::vector<MetricSample>& samples, ObservedEngine engine) {
  return std::any_of(samples.begin(), samples.end(),
                     [&](const MetricSample& one) { return one.name.starts_with(metric_prefix(engine)); });
}

ObservedEngine engine_of(const std::vector<MetricSample>& samples, const std::string& place) {
  if (has_engine(samples, ObservedEngine::vllm)) return ObservedEngine::vllm;
  if (has_engine(samples, ObservedEngine::sglang)) return ObservedEngine::sglang;
  const std::string found =
      samples.empty() ? "no metrics" : "only metrics such as \"" + samples.front().name + "\"";
  throw InputError(place + ": found " + found +
                   ", allowed: metrics of vLLM (vllm:...) or SGLang (sglang:..., with --enable-metrics)");
}

template <class Meter>
bool is_meant(const EngineMetric<Meter>& row, const MetricSample& sample) {
  if (row.label.empty()) return true;
  const std::string_view value = sample.label(row.label);
  if (row.value.empty() || value == row.value) return value == row.value;
  return value.starts_with(row.value) && value[row.value.size()] == '_';
}

// Calls `take` with the samples of each metric, under the first of its names that has samples.
template <class Meter, class Take>
void for_each_figure(const std::vector<MetricSample>& samples, std::span<const EngineMetric<Meter>> rows,
                     ObservedEngine engine, std::string_view suffix, const Take& take) {
  std::map<Meter, std::string_view> names;
  for (const EngineMetric<Meter>& row : rows) {
    if (row.engine != engine) continue;
    const std::string name = std::string(row.name) + std::string(suffix);
    for (const MetricSample& sample : samples) {
      if (sample.name != name || !is_meant(row, sample)) continue;
      const auto [chosen, is_new] = names.try_emplace(row.meter, row.name);
      if (chosen->second == row.name) take(row.meter, sample);
    }
  }
}

double number_of(const std::string& text) {
  double value = kNaN;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : kNaN;
}

void add(double& total, double value) { total = std::isnan(total) ? value : total + value; }

// True iff a count or a time is possible; larger values would lose precision in sums.
bool is_possible(double value) {
  constexpr double kMost = 1e18;
  return value >= 0 && value <= kMost;
}

std::string counter_key(std::size_t which) { return "counters." + std::string(kCounterNames[which]); }
std::string gauge_key(std::size_t which) { return "gauges." + std::string(kGaugeNames[which]); }
std::string spread_key(std::size_t which) { return "histograms." + std::string(kSpreadNames[which]); }

// Stores the first impossible value of a metric.
void refuse(Snapshot& snapshot, const std::string& key, const MetricSample& sample) {
  char value[32];
  std::snprintf(value, sizeof value, "%g", sample.value);
  snapshot.refused.try_emplace(key, sample.name + " is " + value);
}

void read_counters(const std::vector<MetricSample>& samples, Snapshot& snapshot) {
  snapshot.counters.fill(kNaN);
  for_each_figure(samples, counter_metrics(), snapshot.engine, "",
                  [&](Counter which, const MetricSample& one) {
                    if (!is_possible(one.value)) refuse(snapshot, counter_key(index(which)), one);
                    add(snapshot.counters[index(which)], one.value);
                  });
  for (std::size_t i = 0; i < snapshot.counters.size(); ++i) {
    if (snapshot.refused.contains(counter_key(i))) snapshot.counters[i] = kNaN;
  }
}

// Reads gauges. Shares, the block size and the acceptance length are means over engines; other gauges are
// sums.
void read_gauges(const std::vector<MetricSample>& samples, Snapshot& snapshot) {
  snapshot.gauges.fill(kNaN);
  std::array<double, std::size(kGaugeNames)> seen{};
  for_each_figure(samples, gauge_metrics(), snapshot.engine, "", [&](Gauge which, const MetricSample& one) {
    // Engines export -1 for "none yet".
    if (one.value == -1) return;
    // SGLang exports 0 without speculation, and before the first draft.
    if (which == Gauge::mean_acceptance_length && one.value < 1) return;
    if (!is_possible(one.value)) return refuse(snapshot, gauge_key(index(which)), one);
    add(snapshot.gauges[index(which)], one.value);
    ++seen[index(which)];
  });
  for (const Gauge share :
       {Gauge::kv_usage, Gauge::hit_rate, Gauge::block_size, Gauge::mean_acceptance_length}) {
    if (seen[index(share)] > 0) snapshot.gauges[index(share)] /= seen[index(share)];
  }
  snapshot.engines = std::max<int64_t>(1, static_cast<int64_t>(seen[index(Gauge::running)]));
}

// Sums the histograms of all engines at the bounds that all of them share.
void read_spreads(const std::vector<MetricSample>& samples, Snapshot& snapshot) {
  struct Sum {
    double count = 0;
    int parts = 0;
  };
  std::array<std::map<double, Sum>, std::size(kSpreadNames)> bounds;
  const auto take_bucket = [&](Spread which, const MetricSample& one) {
    const std::string le(one.label("le"));
    const double bound = le == "+Inf" ? kInfinity : number_of(le);
    if (!is_possible(one.value)) return refuse(snapshot, spread_key(index(which)), one);
    if (std::isnan(bound)) return;
    Sum& sum = bounds[index(which)][bound];
    sum.count += one.value;
    ++sum.parts;
  };
  for_each_figure(samples, spread_metrics(), snapshot.engine, "_bucket", take_bucket);
  for (std::size_t which = 0; which < bounds.size(); ++which) {
    const auto infinite = bounds[which].find(kInfinity);
    if (infinite == bounds[which].end()) continue;
    Buckets& buckets = snapshot.spreads[which];
    for (const auto& [bound, sum] : bounds[which]) {
      if (sum.parts != infinite->second.parts) continue;
      buckets.bounds.push_back(bound);
      // Keeps counts ascending, because a server under load does not read all buckets at the same instant.
      buckets.counts.push_back(buckets.empty() ? sum.count : std::max(sum.count, buckets.counts.back()));
    }
  }
  for_each_figure(samples, spread_metrics(), snapshot.engine, "_sum",
                  [&](Spread which, const MetricSample& one) {
                    if (!is_possible(one.value)) refuse(snapshot, spread_key(index(which)), one);
                    snapshot.spreads[index(which)].sum += one.value;
                  });
  for (std::size_t i = 0; i < snapshot.spreads.size(); ++i) {
    if (snapshot.refused.contains(spread_key(i))) snapshot.spreads[i] = {};
  }
}

// Returns the number in a label, summed over the engines that export their configuration.
double config_number(const std::vector<const MetricSample*>& configs, const char* label) {
  double total = kNaN;
  for (const MetricSample* one : configs) {
    const double value = number_of(std::string(one->label(label)));
    if (is_possible(value)) add(total, value);
  }
  return total;
}

void read_config(const std::vector<MetricSample>& samples, Snapshot& snapshot) {
  std::vector<const MetricSample*> configs;
  for (const MetricSample& one : samples) {
    if (one.name == config_metric(snapshot.engine)) configs.push_back(&one);
  }
  if (configs.empty()) return;
  for (const auto& [key, value] : configs.front()->labels) {
    if (key != "engine" && key != "model_name") snapshot.config[key] = value;
  }
  const bool is_vllm = snapshot.engine == ObservedEngine::vllm;
  const auto parts = static_cast<double>(configs.size());
  // Versions without the label "engine" export one sample for all engines.
  const double engines = parts == 1 ? static_cast<double>(snapshot.engines) : 1;
  const auto take = [&](Gauge which, double value) {
    if (std::isnan(snapshot[which])) snapshot.gauges[index(which)] = value;
  };
  take(Gauge::block_size, config_number(configs, is_vllm ? "block_size" : "page_size") / parts);
  take(Gauge::blocks, config_number(configs, is_vllm ? "num_gpu_blocks" : "num_pages") * engines);
  take(Gauge::kv_capacity_tokens, config_number(configs, "kv_cache_size_tokens") * engines);
}

void read_identity(const std::vector<MetricSample>& samples, Snapshot& snapshot) {
  const std::string_view prefix = metric_prefix(snapshot.engine);
  double stated_s = kNaN, process_s = kNaN;
  for (const MetricSample& one : samples) {
    if (one.unix_s) stated_s = std::isnan(stated_s) ? *one.unix_s : std::max(stated_s, *one.unix_s);
    if (one.name == "process_start_time_seconds" && std::isfinite(one.value)) process_s = one.value;
    if (!one.name.starts_with(prefix)) continue;
    const std::string_view model = one.label("model_name");
    if (!model.empty()) snapshot.models.emplace(model);
    if (one.name.ends_with("_created") && one.value > 0 && std::isfinite(one.value)) {
      snapshot.started_s = std::min(snapshot.started_s.value_or(one.value), one.value);
    }
  }
  if (!std::isnan(stated_s)) snapshot.unix_s = stated_s;
  if (!snapshot.started_s && process_s > 0) snapshot.started_s = process_s;
}

}  // namespace

bool Snapshot::has_refused(Counter which) const { return refused.contains(counter_key(index(which))); }
bool Snapshot::has_refused(Spread which) const { return refused.contains(spread_key(index(which))); }

double Snapshot::kv_capacity_tokens() const {
  const double stated = (*this)[Gauge::kv_capacity_tokens];
  return std::isnan(stated) ? (*this)[Gauge::blocks] * block_size() : stated;
}

double Snapshot::block_size() const { return (*this)[Gauge::block_size]; }

Snapshot snapshot_of(const std::vector<MetricSample>& samples, double unix_s, const std::string& place) {
  Snapshot snapshot;
  snapshot.unix_s = unix_s;
  snapshot.engine = engine_of(samples, place);
  read_counters(samples, snapshot);
  read_gauges(samples, snapshot);
  read_spreads(samples, snapshot);
  read_config(samples, snapshot);
  read_identity(samples, snapshot);
  return snapshot;
}

}  // namespace kvcap
