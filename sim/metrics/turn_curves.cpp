#include "metrics/turn_curves.h"

#include <algorithm>
#include <bit>
#include <map>
#include <string>

#include "metrics/counted_turns.h"
#include "metrics/statistics/quantiles.h"
#include "metrics/statistics/series.h"

namespace kvcap {

void add_turn_series(const std::vector<TurnRecord>& turns, int bins, double duration_s, NamedSeries& series) {
  BinnedMeans hit_rate(bins, duration_s), ttft_ms(bins, duration_s);
  for (const TurnRecord& turn : turns) {
    if (!turn.answered()) continue;
    const double prompt_tokens = static_cast<double>(turn.history_tokens) + turn.input_tokens;
    if (prompt_tokens > 0) hit_rate.add(turn.arrival_s, turn.hit_tokens / prompt_tokens, prompt_tokens);
    ttft_ms.add(turn.arrival_s, 1e3 * turn.ttft_s);
  }
  series.emplace_back("token_hit_rate", hit_rate.means());
  series.emplace_back("mean_ttft_ms", ttft_ms.means());
}

std::vector<HistoryBin> by_history(const std::vector<TurnRecord>& turns) {
  std::map<int64_t, std::vector<double>> ttfts_ms;  // key: least history of the bin
  for (const TurnRecord& turn : turns)
    if (is_measured(turn)) ttfts_ms[std::bit_floor(turn.history_tokens)].push_back(1e3 * turn.ttft_s);
  std::vector<HistoryBin> bins;
  for (auto& [min_tokens, values_ms] : ttfts_ms) {
    const Distribution ttft_ms = describe(values_ms);
    bins.push_back({.min_tokens = min_tokens,
                    .max_tokens = std::max<int64_t>(2 * min_tokens - 1, 0),
                    .count = std::ssize(values_ms),
                    .mean_ttft_ms = ttft_ms.mean,
                    .p99_ttft_ms = ttft_ms.p99});
  }
  return bins;
}

}  // namespace kvcap
