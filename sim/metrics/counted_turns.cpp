#include "metrics/counted_turns.h"

#include "metrics/statistics/warmup.h"

namespace kvcap {

Settling settling_of(const std::vector<TurnRecord>& turns) {
  WarmupDetector detector;
  Settling settling;
  for (const TurnRecord& turn : turns) {
    if (!turn.answered()) continue;
    detector.add(turn.ttft_s);
    ++settling.served;
  }
  const WarmupDetector::Found found = detector.find();
  settling.can_tell = found.can_tell;
  settling.method = "mser-" + std::to_string(found.group);
  for (int64_t left = found.values; left > 0; ++settling.turns) left -= turns[settling.turns].answered();
  return settling;
}

std::string cut_warmup(const Settling& settling, bool asked, std::vector<TurnRecord>& turns) {
  const std::string of_all =
      std::to_string(settling.turns) + " of " + std::to_string(turns.size()) + " turns";
  if (!settling.can_tell) {
    if (settling.served < WarmupDetector::kFewestValues)
      return asked ? "warm-up: too few turns to detect it, so no turns are excluded (workload.warmup auto)"
                   : "";
    return "warm-up: not detected, because the TTFTs have not settled in the first half (" + settling.method +
           " would exclude " + of_all + "): run longer" + (asked ? "; no turns are excluded" : "");
  }
  if (!asked) return "";
  for (std::size_t i = 0; i < settling.turns; ++i) turns[i].warmup = true;
  return "warm-up: " + settling.method + " excludes the first " + of_all;
}

std::string cut_unsteady(const Window& window, std::vector<TurnRecord>& turns) {
  if (!window.is_steady)
    return "no steady window: sessions last longer than half of the time in which they begin, so no turns "
           "are excluded (workload.warmup steady): run longer";
  for (TurnRecord& turn : turns) turn.warmup = turn.warmup || !window.has(turn.arrival_s);
  return "";
}

}  // namespace kvcap
