// Decides whether a machine can serve a load in the long run.
//
// The requests inside the system, waiting or running, are a queue. Below the machine's capacity their number
// varies around a mean; above it the number grows with time; at capacity it does a random walk above zero.
// Over a window in which m sessions begin, that walk has the scale S = k sqrt(m (c_a^2 + c_w^2)): c_a and c_w
// are the coefficients of variation of the gaps between sessions and of the service time of a session, k is
// the mean number of concurrent turns per session (functional central limit theorem for queues: Whitt,
// Stochastic-Process Limits, chapter 9).
//
// stable: the means over the window's 16 parts have a standard deviation below 0.11 S. At capacity, 5 of 100
// runs meet this; at an overload of sqrt(c_a^2 + c_w^2) / sqrt(m), 1 of 100; at three times that overload,
// none of 5,000. saturated: the last part's mean exceeds the first one's by more than 2.8 S and still rises,
// at least half as fast as before (filling caches slow the growth); at capacity, fewer than 1 run of 500
// meets this. undecided: neither. A load 3 % off capacity is decided within about 40,000 (c_a^2 + c_w^2)
// sessions, a load 10 % off within a tenth of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "metrics/result.h"
#include "metrics/statistics/series.h"

namespace kvcap {

// The steady part of a run: it begins when the number of active sessions has stopped growing and ends when
// the last session begins. from_s is the 95 % quantile of the time from the beginning of a session to the end
// of each of its turns, at most to_s / 2.
struct Window {
  double from_s = 0, to_s = 0;
  bool is_steady = false;  // false: that quantile exceeds half of the time in which sessions begin
  bool is_filled = true;   // false: without queueing time, that quantile still exceeds half of the time
                           // (queueing alone may grow without end)
  double length_s() const { return to_s - from_s; }
  bool has(double time_s) const { return from_s <= time_s && time_s <= to_s; }
  // Returns the share of [begin_s, end_s] inside the window; 0 or 1 for a single moment.
  double share(double begin_s, double end_s) const {
    if (!(end_s > begin_s)) return has(begin_s) ? 1 : 0;
    return std::max(0.0, std::min(end_s, to_s) - std::max(begin_s, from_s)) / (end_s - begin_s);
  }
};
// REQUIRES: `turns` in order of arrival.
Window steady_window(std::span<const TurnRecord> turns);

enum class Verdict : uint8_t { stable, saturated, undecided };
constexpr std::string_view name(Verdict verdict) {
  constexpr std::string_view kNames[] = {"stable", "saturated", "undecided"};
  return kNames[static_cast<std::size_t>(verdict)];
}

// First words of the reason if clients give up turns for good, so that no queue can grow.
inline constexpr std::string_view kClientsGiveUp = "clients give up";

struct Stability {
  Verdict verdict = Verdict::undecided;
  std::string reason;  // a clause
};

// The inputs of S, the scale of the random walk of the number of requests in the system.
struct Chance {
  int64_t sessions = 0;  // number of sessions that begin inside the window
  double gap_variation = 0, work_variation = 0;
  double turns_at_once = 1;
  double scale() const;
};
// `rate_varies`: the rate of sessions changes over time; the variation of gaps is then at least the
// dispersion of the sessions per part of the window.
Chance chance_of(std::span<const TurnRecord> turns, const Window& window, bool rate_varies);

// Judges the number of waiting and running requests over time. If the window is not filled (is_filled), the
// number of active sessions and so the load still grows; then a growing number of waiting requests shows a
// saturated machine, and nothing shows a stable one.
Stability judge_stability(const TimeSeries& waiting, const TimeSeries& running, const Window& window,
                          const Chance& chance);

}  // namespace kvcap
