#include "metrics/turn_means.h"

#include <algorithm>
#include <utility>

namespace kvcap {
namespace {

using Sums = Stretches::Sums;

bool always(const TurnRecord&) { return true; }
bool is_cold(const TurnRecord& turn) { return turn.cold; }
bool is_warm(const TurnRecord& turn) { return !turn.cold; }
bool has_history(const TurnRecord& turn) { return turn.history_tokens > 0; }
double ttft_s(const TurnRecord& turn) { return turn.ttft_s; }
double service_ttft_s(const TurnRecord& turn) { return turn.service_ttft_s; }
double e2el_s(const TurnRecord& turn) { return turn.e2el_s; }
double restore_s(const TurnRecord& turn) { return turn.restore_s; }

template <bool (*counts)(const TurnRecord&), double (*seconds)(const TurnRecord&)>
Sums latency_ms(const TurnRecord& turn) {
  return counts(turn) ? Sums{1e3 * seconds(turn), 1} : Sums{};
}

Sums reused_tokens(const TurnRecord& turn) {
  return {static_cast<double>(turn.hit_tokens),
          static_cast<double>(turn.history_tokens) + static_cast<double>(turn.input_tokens)};
}
Sums reuses(const TurnRecord& turn) { return {turn.hit_tokens > 0 ? 1.0 : 0.0, 1}; }

uint64_t key(const TurnRecord& turn) { return uint64_t{turn.session} << 32 | turn.turn; }

bool is_same(const TurnRecord& a, const TurnRecord& b) {
  return key(a) == key(b) && a.input_tokens == b.input_tokens && a.output_tokens == b.output_tokens &&
         (a.turn > 0 || a.arrival_s == b.arrival_s);
}

Sums measured(const TurnMean& mean, const TurnRecord& turn) {
  return is_measured(turn) ? mean.of(turn) : Sums{};
}

}  // namespace

double before_service_s(const TurnRecord& turn) { return std::max(0.0, turn.ttft_s - turn.service_ttft_s); }
double queue_s(const TurnRecord& turn) {
  return std::max(0.0, turn.ttft_s - turn.service_ttft_s - turn.earlier_s - turn.api_s);
}
bool has_tpot(const TurnRecord& turn) { return turn.output_tokens > 1; }
double tpot_s(const TurnRecord& turn) { return (turn.e2el_s - turn.ttft_s) / (turn.output_tokens - 1.0); }

const std::vector<TurnMean>& turn_means() {
  static const std::vector<TurnMean> means = {
      {"mean_ttft_ms", "ttft_ms", latency_ms<always, ttft_s>},
      {"mean_service_ttft_ms", "service_ttft_ms", latency_ms<always, service_ttft_s>},
      {"mean_cold_ttft_ms", "cold_ttft_ms", latency_ms<is_cold, ttft_s>},
      {"mean_warm_ttft_ms", "warm_ttft_ms", latency_ms<is_warm, ttft_s>},
      {"mean_tpot_ms", "tpot_ms", latency_ms<has_tpot, tpot_s>},
      {"mean_e2el_ms", "e2el_ms", latency_ms<always, e2el_s>},
      {"mean_queue_ms", "queue_ms", latency_ms<always, queue_s>},
      {"mean_restore_ms", "restore_ms", latency_ms<always, restore_s>},
      {"mean_service_ttft_with_history_ms", "", latency_ms<has_history, service_ttft_s>},
      {"token_hit_rate", "", reused_tokens},
      {"request_hit_rate", "", reuses},
  };
  return means;
}

std::vector<Interval> batch_intervals(const std::vector<TurnRecord>& turns) {
  std::vector<Interval> intervals;
  for (const TurnMean& mean : turn_means()) {
    Stretches stretches;
    std::size_t count = 0;
    for (const TurnRecord& turn : turns) {
      if (!is_measured(turn)) continue;
      const Sums sums = mean.of(turn);
      stretches.add(sums.value, sums.weight);
      count += sums.weight > 0;
    }
    if (count < kFewestStretches) continue;
    const BatchInterval interval = batch_interval(stretches.errors());
    if (interval.batches == 0) continue;
    intervals.push_back({std::string(mean.metric), stretches.ratio(), interval.half_width,
                         IntervalMethod::batch_means, interval.batches});
  }
  return intervals;
}

PairedTurns::PairedTurns(const std::vector<TurnRecord>& against, const std::vector<TurnRecord>& setting) {
  if (against.size() != setting.size()) return;
  std::vector<const TurnRecord*> others;
  others.reserve(setting.size());
  for (const TurnRecord& turn : setting) others.push_back(&turn);
  std::sort(others.begin(), others.end(),
            [](const TurnRecord* a, const TurnRecord* b) { return key(*a) < key(*b); });
  std::vector<Pair> pairs;
  pairs.reserve(against.size());
  for (const TurnRecord& turn : against) {
    const auto other =
        std::lower_bound(others.begin(), others.end(), key(turn),
                         [](const TurnRecord* a, uint64_t wanted) { return key(*a) < wanted; });
    if (other == others.end() || !is_same(turn, **other)) return;
    pairs.push_back({&turn, *other});
  }
  pairs_ = std::move(pairs);
}

BatchInterval PairedTurns::interval(std::string_view metric) const {
  const auto mean = std::find_if(turn_means().begin(), turn_means().end(),
                                 [metric](const TurnMean& one) { return one.metric == metric; });
  if (mean == turn_means().end()) return {};
  Stretches against, setting;
  std::size_t count = 0;
  for (const Pair& pair : pairs_) {
    const Sums a = measured(*mean, *pair.against), s = measured(*mean, *pair.setting);
    if (!is_measured(*pair.against) && !is_measured(*pair.setting)) continue;
    against.add(a.value, a.weight);
    setting.add(s.value, s.weight);
    count += a.weight > 0 && s.weight > 0;
  }
  if (count < kFewestStretches) return {};
  std::vector<double> errors = setting.errors();
  const std::vector<double> others = against.errors();
  for (std::size_t i = 0; i < errors.size(); ++i) errors[i] -= others[i];
  return batch_interval(errors);
}

}  // namespace kvcap
