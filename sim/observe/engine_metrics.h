// The names that engines give to the observed metrics. If a metric has several names, the first one that the
// engine exports is read, because some versions export an old name together with its successor.
#pragma once

#include <span>
#include <string_view>

#include "observe/snapshot.h"

namespace kvcap {

template <class Meter>
struct EngineMetric {
  ObservedEngine engine;
  std::string_view name;
  Meter meter;
  // Selects samples whose `label` equals `value` or begins with `value` and `_`. If `value` is empty, selects
  // samples without the label.
  std::string_view label = {}, value = {};
};

std::span<const EngineMetric<Counter>> counter_metrics();
std::span<const EngineMetric<Gauge>> gauge_metrics();
std::span<const EngineMetric<Spread>> spread_metrics();

// Return the prefix of an engine's metrics, e.g. "vllm:", and the name of the metric whose labels contain its
// configuration.
std::string_view metric_prefix(ObservedEngine engine);
std::string_view config_metric(ObservedEngine engine);

}  // namespace kvcap
