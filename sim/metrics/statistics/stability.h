// Decides whether a machine can serve a load in the long run.
//
// The requests inside the system, waiting or running, are a queue. Below the machine's capacity their number
// varies around a mean; above it the number grows with time; at capacity it does a random walk above zero.
// Over a window in which m sessions begin, that walk has the scale S = k sqrt(m (c_a^2 + c_w^2)): c_a and c_w
// are the coefficients of variation of the gaps between sessions and of the service time of a session, k is
// the mean number of concurrent turns per session (functional central limit theorem for queues: Whitt,
// Stochastic-Process Limits, chapter 9).
//
// The verdict is one of:
//
// - stable: the means over the window's 16 parts have a standard deviation below 0.11 S. At capacity, 5 of
//   100 runs meet this condition; at an overload of sqrt(c_a^2 + c_w^2) / sqrt(m), 1 of 100; at three times
//   that overload, none of 5,000.
// - saturated: the mean of the last part exceeds that of the first part by more than 2.8 S, and the number
//   still grows at least half as fast as before (filling caches slow the growth). At capacity, fewer than 1
//   run of 500 meets this condition.
// - undecided: neither.
//
// A load that differs from capacity by 3 % is decided within about 40,000 (c_a^2 + c_w^2) sessions, a load
// that differs by 10 % within a tenth of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "metrics/result.h"
#include "metrics/statistics/series.h"

namespace kvcap {

// The steady part of a run. It begins (from_s) when the number of active sessions has stopped growing, and
// ends (to_s) when the last session begins. from_s is the 95 % quantile, over all turns, of the time from the
// beginning of the turn's session to the end of the turn, but at most to_s / 2.
struct Window {
  double from_s = 0, to_s = 0;
  // False if that quantile exceeds half of the time in which sessions begin.
  bool is_steady = false;
  // False if that quantile exceeds half of that time even without queueing times, which may grow without end.
  bool is_filled = true;
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
// Returns these inputs. `rate_varies`: the rate of sessions changes over time; gap_variation is then at least
// the dispersion of the number of sessions per part of the window.
Chance chance_of(std::span<const TurnRecord> turns, const Window& window, bool rate_varies);

// Judges the number of waiting and running requests over time. If the window is not filled
// (Window::is_filled), the number of active sessions still grows, and with it the load. A growing number of
// waiting requests then shows that the machine is saturated, but nothing can show that it is stable.
Stability judge_stability(const TimeSeries& waiting, const TimeSeries& running, const Window& window,
                          const Chance& chance);

}  // namespace kvcap
