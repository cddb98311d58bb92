// Snapshot: what one scrape of a server says, under kvcap's names, whatever the engine calls it. The table of
// engines' names is in engine_metrics.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/names.h"
#include "observe/prometheus.h"

namespace kvcap {

enum class ObservedEngine : uint8_t { vllm, sglang };
inline constexpr std::string_view kObservedEngineNames[] = {"vllm", "sglang"};
constexpr Names names_of(ObservedEngine) { return kObservedEngineNames; }

// Totals since the server started. Tokens that were looked up and found are those of prompts; `external` are
// found by a KV connector, which does not say in which tier. Bytes are KV from and to below GPU memory, and
// `load_s` the time that the loads took.
enum class Counter : uint8_t {
  requests,
  prompt_tokens,
  output_tokens,
  queried_tokens,
  hbm_hit_tokens,
  host_hit_tokens,
  storage_hit_tokens,
  external_hit_tokens,
  preemptions,
  loaded_bytes,
  load_s,
  saved_bytes
};
inline constexpr std::string_view kCounterNames[] = {
    "requests",        "prompt_tokens",      "output_tokens",       "queried_tokens", "hbm_hit_tokens",
    "host_hit_tokens", "storage_hit_tokens", "external_hit_tokens", "preemptions",    "loaded_bytes",
    "load_s",          "saved_bytes"};

enum class Gauge : uint8_t { running, waiting, kv_usage, hit_rate, kv_capacity_tokens, block_size, blocks };
inline constexpr std::string_view kGaugeNames[] = {
    "running", "waiting", "kv_usage", "hit_rate", "kv_capacity_tokens", "block_size", "blocks"};

enum class Spread : uint8_t { ttft_s, itl_s, e2el_s, queue_s, prompt_tokens, output_tokens };
inline constexpr std::string_view kSpreadNames[] = {"ttft_s",  "itl_s",         "e2el_s",
                                                    "queue_s", "prompt_tokens", "output_tokens"};

// A histogram as it is exported: how many values were at most each bound. The last bound is infinity.
struct Buckets {
  std::vector<double> bounds;  // ascending
  std::vector<double> counts;  // cumulative, as many
  double sum = 0;

  double count() const { return counts.empty() ? 0 : counts.back(); }
  bool empty() const { return counts.empty(); }
};

struct Snapshot {
  double unix_s = 0;
  ObservedEngine engine = ObservedEngine::vllm;
  std::array<double, std::size(kCounterNames)> counters{};  // NaN: not exported
  std::array<double, std::size(kGaugeNames)> gauges{};      // NaN: not exported
  std::array<Buckets, std::size(kSpreadNames)> spreads;     // empty: not exported
  std::map<std::string, std::string> config;                // labels of the engine's cache_config_info
  std::set<std::string> models;
  int64_t engines = 1;  // that the figures are sums over
  // Figures that had a value which no server can have, negative or not finite, and are not known therefore:
  // {"counters.requests", "vllm:request_success_total is -5"}.
  std::map<std::string, std::string> refused;
  std::optional<double> started_s;  // Unix time from which totals count

  double operator[](Counter which) const { return counters[static_cast<std::size_t>(which)]; }
  double operator[](Gauge which) const { return gauges[static_cast<std::size_t>(which)]; }
  const Buckets& operator[](Spread which) const { return spreads[static_cast<std::size_t>(which)]; }

  bool has_refused(Counter which) const;
  bool has_refused(Spread which) const;

  // All KV of all engines; NaN where it is not exported.
  double kv_capacity_tokens() const;
  // Of the configuration; NaN where there is none.
  double block_size() const;
};

// `unix_s` is when the samples were taken; samples that state a time themselves know better. Throws
// InputError where there is no engine that kvcap knows.
Snapshot snapshot_of(const std::vector<MetricSample>& samples, double unix_s, const std::string& place);

}  // namespace kvcap
