// Snapshot: the metrics of one scrape of a server, under kvcap's names. engine_metrics.cpp lists the engines'
// names.
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

// Totals since the server started. Queried and hit tokens are tokens of prompts. `external` tokens were hit
// by a KV connector, which does not export the tier. Bytes are KV moved between GPU memory and lower tiers;
// `load_s` is the time of the loads. A draft is the drafted tokens of one step for one sequence;
// accepted_at_1 counts the drafts whose first token was accepted, accepted_at_2 those whose first two were
// accepted, and so on.
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
  saved_bytes,
  drafts,
  draft_tokens,
  accepted_tokens,
  accepted_at_1,
  accepted_at_2,
  accepted_at_3,
  accepted_at_4,
  accepted_at_5,
  accepted_at_6,
  accepted_at_7,
  accepted_at_8
};
inline constexpr std::string_view kCounterNames[] = {"requests",
                                                     "prompt_tokens",
                                                     "output_tokens",
                                                     "queried_tokens",
                                                     "hbm_hit_tokens",
                                                     "host_hit_tokens",
                                                     "storage_hit_tokens",
                                                     "external_hit_tokens",
                                                     "preemptions",
                                                     "loaded_bytes",
                                                     "load_s",
                                                     "saved_bytes",
                                                     "drafts",
                                                     "draft_tokens",
                                                     "accepted_tokens",
                                                     "accepted_at_1",
                                                     "accepted_at_2",
                                                     "accepted_at_3",
                                                     "accepted_at_4",
                                                     "accepted_at_5",
                                                     "accepted_at_6",
                                                     "accepted_at_7",
                                                     "accepted_at_8"};
inline constexpr std::size_t kDraftPositions = 8;  // accepted_at_1 to accepted_at_8

enum class Gauge : uint8_t {
  running,
  waiting,
  kv_usage,
  hit_rate,
  kv_capacity_tokens,
  block_size,
  blocks,
  mean_acceptance_length  // tokens per step and sequence, including the verifier's
};
inline constexpr std::string_view kGaugeNames[] = {"running",
                                                   "waiting",
                                                   "kv_usage",
                                                   "hit_rate",
                                                   "kv_capacity_tokens",
                                                   "block_size",
                                                   "blocks",
                                                   "mean_acceptance_length"};

enum class Spread : uint8_t { ttft_s, itl_s, e2el_s, queue_s, prompt_tokens, output_tokens };
inline constexpr std::string_view kSpreadNames[] = {"ttft_s",  "itl_s",         "e2el_s",
                                                    "queue_s", "prompt_tokens", "output_tokens"};

// A histogram as exported: the number of values up to each bound. The last bound is infinity.
struct Buckets {
  std::vector<double> bounds;  // ascending
  std::vector<double> counts;  // cumulative, one per bound
  double sum = 0;

  double count() const { return counts.empty() ? 0 : counts.back(); }
  bool empty() const { return counts.empty(); }
};

struct Snapshot {
  double unix_s = 0;
  ObservedEngine engine = ObservedEngine::vllm;
  std::array<double, std::size(kCounterNames)> counters{};  // NaN: not exported, or refused
  std::array<double, std::size(kGaugeNames)> gauges{};      // NaN: not exported
  std::array<Buckets, std::size(kSpreadNames)> spreads;     // empty: not exported
  std::map<std::string, std::string> config;                // labels of the engine's cache_config_info
  std::set<std::string> models;
  int64_t engines = 1;  // number of engines over which the metrics are summed
  // Metrics that were discarded because of an impossible value (negative or not finite):
  // {"counters.requests", "vllm:request_success_total is -5"}.
  std::map<std::string, std::string> refused;
  std::optional<double> started_s;  // Unix time at which totals were 0

  double operator[](Counter which) const { return counters[static_cast<std::size_t>(which)]; }
  double operator[](Gauge which) const { return gauges[static_cast<std::size_t>(which)]; }
  const Buckets& operator[](Spread which) const { return spreads[static_cast<std::size_t>(which)]; }

  bool has_refused(Counter which) const;
  bool has_refused(Spread which) const;

  // Returns the KV capacity of all engines; NaN if not exported.
  double kv_capacity_tokens() const;
  // Returns the block size of the configuration in tokens; NaN if not exported.
  double block_size() const;
};

// Builds a snapshot. `unix_s` is the time of the scrape; timestamps in the samples override it. Throws
// InputError if the metrics are not those of a known engine.
Snapshot snapshot_of(const std::vector<MetricSample>& samples, double unix_s, const std::string& place);

}  // namespace kvcap
