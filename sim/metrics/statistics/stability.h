// Can this machine serve this load in the long run?
//
// Requests inside the system, waiting or running, are a queue. Below the machine's capacity their number
// varies around a mean; above it they grow with the time; at capacity they do a random walk above zero. Over
// a window in which m sessions begin, that walk has the scale S = k sqrt(m (c_a^2 + c_w^2)): c_a and c_w are
// the coefficients of variation of the gaps between sessions and of the time that a session is served for, k
// is how many turns of a session are inside at once (functional central limit theorem for queues: Whitt,
// Stochastic-Process Limits, chapter 9).
//
// stable: the means over the window's 16 parts stray (standard deviation) by less than 0.11 S. At capacity
// that happens to 5 runs of 100, at an overload of sqrt(c_a^2 + c_w^2) / sqrt(m) to 1, at three times that to
// none of 5,000. saturated: the last part's mean is above the first one's by more than 2.8 S and still
// rising, at least half as fast as before (caches that fill slow it down); at capacity that happens to fewer
// than 1 run of 500. undecided: neither. What is 3 % off capacity
// is decided within about 40,000 (c_a^2 + c_w^2) sessions, what is 10 % off within a tenth of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "metrics/result.h"
#include "metrics/statistics/series.h"

namespace kvcap {

// Of a run: without its beginning, until as much is under way as ever will be, and without its end, in which
// no sessions begin. It begins where for 95 % of the turns the time since their session began is over.
struct Window {
  double from_s = 0, to_s = 0;
  bool is_steady = false;  // false: the beginning takes more than half of the time in which sessions begin
  bool is_filled = true;   // the same where queueing is left out, which alone may be without end
  double length_s() const { return to_s - from_s; }
  bool has(double time_s) const { return from_s <= time_s && time_s <= to_s; }
  // Of the time from one moment to another, what lies inside; of a moment, all or nothing.
  double share(double begin_s, double end_s) const {
    if (!(end_s > begin_s)) return has(begin_s) ? 1 : 0;
    return std::max(0.0, std::min(end_s, to_s) - std::max(begin_s, from_s)) / (end_s - begin_s);
  }
};
// `turns` in order of arrival.
Window steady_window(std::span<const TurnRecord> turns);

enum class Verdict : uint8_t { stable, saturated, undecided };
constexpr std::string_view name(Verdict verdict) {
  constexpr std::string_view kNames[] = {"stable", "saturated", "undecided"};
  return kNames[static_cast<std::size_t>(verdict)];
}

// How the reason begins where clients give up turns for good, so that no queue can grow.
inline constexpr std::string_view kClientsGiveUp = "clients give up";

struct Stability {
  Verdict verdict = Verdict::undecided;
  std::string reason;  // a clause
};

// How the requests inside vary: S and what it follows from.
struct Chance {
  int64_t sessions = 0;  // that begin inside the window
  double gap_variation = 0, work_variation = 0;
  double turns_at_once = 1;
  double scale() const;
};
// `rate_varies`: sessions begin at a rate that changes with the time, so that how many begin in the window's
// parts tells how bursty they are where that is more.
Chance chance_of(std::span<const TurnRecord> turns, const Window& window, bool rate_varies);

// How many requests wait and run, over time. As long as more sessions are under way only because the first
// have not ended (not is_filled), nothing can be told.
Stability judge_stability(const TimeSeries& waiting, const TimeSeries& running, const Window& window,
                          const Chance& chance);

}  // namespace kvcap
