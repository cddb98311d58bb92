// The engines' names of the observed metrics. If a metric has several names, the first exported one counts:
// for some versions, engines export an old name together with its successor.
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
  // Selects samples whose label equals this value or starts with it and `_`; if the value is empty, samples
  // without the label.
  std::string_view label = {}, value = {};
};

std::span<const EngineMetric<Counter>> counter_metrics();
std::span<const EngineMetric<Gauge>> gauge_metrics();
std::span<const EngineMetric<Spread>> spread_metrics();

// Return the prefix "vllm:", and the name of the metric whose labels are the configuration.
std::string_view metric_prefix(ObservedEngine engine);
std::string_view config_metric(ObservedEngine engine);

}  // namespace kvcap
