// What engines call their metrics. Of several names of one figure the first that is exported counts: engines
// export an old name beside its successor for some versions.
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
  // Only samples whose label has this value, or one that begins with it and `_`; where the value is empty,
  // only samples without the label.
  std::string_view label = {}, value = {};
};

std::span<const EngineMetric<Counter>> counter_metrics();
std::span<const EngineMetric<Gauge>> gauge_metrics();
std::span<const EngineMetric<Spread>> spread_metrics();

// "vllm:", and the metric whose labels are the configuration.
std::string_view metric_prefix(ObservedEngine engine);
std::string_view config_metric(ObservedEngine engine);

}  // namespace kvcap
