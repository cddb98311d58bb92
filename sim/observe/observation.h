// Observation: summarises a log over its window, from the first to the last scrape: the growth of counters
// and the means of gauges. A log of one scrape covers the time since the server started. A restarted server
// counts from 0; its counts between the last scrape and the restart are lost.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "observe/log.h"

namespace kvcap {

// A quantile of a histogram, which is known only up to the bounds of its bucket.
struct QuantileRange {
  double low = 0, high = 0;  // high may be infinity
  double value = 0;          // interpolated between the bounds; `low` if `high` is infinity
};

// Returns the bounds of the bucket that contains a quantile. REQUIRES: the histogram has values; 0 <= q <= 1.
QuantileRange quantile_of(const Buckets& buckets, double q);
// Returns the range from the quantile q - margin to the quantile q + margin, which contains the true quantile
// if `margin` is the sampling error.
QuantileRange quantile_of(const Buckets& buckets, double q, double margin);
double mean_of(const Buckets& buckets);

// The requests that arrived between two scrapes.
struct ArrivalCount {
  double from_s = 0, to_s = 0;  // times since the beginning of the window
  double requests = 0;
};

struct GaugeSummary {
  double mean = 0, most = 0;  // NaN: not exported
};

struct Observation {
  ObservedEngine engine = ObservedEngine::vllm;
  std::string address;
  std::vector<std::string> models;
  std::map<std::string, std::string> config;
  int64_t engines = 1;
  double from_unix_s = 0;
  double duration_s = 0;  // NaN: one scrape, and the server does not export its start time
  int64_t scrapes = 0, failed = 0, restarts = 0;
  double requests_before = 0;                               // requests before the window
  std::array<double, std::size(kCounterNames)> counters{};  // growth; NaN: not exported
  std::array<GaugeSummary, std::size(kGaugeNames)> gauges{};
  std::array<Buckets, std::size(kSpreadNames)> spreads;
  std::vector<ArrivalCount> arrivals;             // empty: unknown
  double block_size = 0, kv_capacity_tokens = 0;  // capacity of all engines; NaN: not exported
  std::vector<std::string> notes;

  double operator[](Counter which) const { return counters[static_cast<std::size_t>(which)]; }
  const GaugeSummary& operator[](Gauge which) const { return gauges[static_cast<std::size_t>(which)]; }
  const Buckets& operator[](Spread which) const { return spreads[static_cast<std::size_t>(which)]; }

  double requests_per_s() const;
  double mean_prompt_tokens() const;
  double mean_output_tokens() const;
  // Return the hit tokens of one tier and of all tiers as shares of the queried tokens; NaN: not exported.
  double hit_rate(Counter tier) const;
  double token_hit_rate() const;
  // Return means of speculative decoding: the tokens of a draft, and the tokens that a step yields per
  // sequence, including the verifier's token. NaN: not exported.
  double tokens_per_draft() const;
  double mean_acceptance_length() const;
  // Returns, for each position, the probability that all drafted tokens up to this position are accepted, in
  // steps that draft, as in serving.speculative.acceptance_by_position. Empty: not exported, or the server
  // drafts more tokens than kDraftPositions.
  std::vector<double> acceptance_by_position() const;
  // Returns the share of the sequences' decode steps that drafted; vLLM does not count the other steps. NaN:
  // not exported.
  double drafting_share() const;
};

Observation observation_of(const ObservedLog& log);

// Returns "2026-01-31 09:05:00 UTC".
std::string utc_text(double unix_s);

}  // namespace kvcap
