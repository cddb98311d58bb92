// Draws arrival times of sessions and think times of users, in seconds. Each draw depends only on the seed,
// the session and the turn, not on the order of calls.
#pragma once

#include <cstdint>
#include <vector>

#include "workload/workload.h"

namespace kvcap {

// Arrival rate of sessions as a piecewise function of time. Within a piece the rate is constant or changes
// linearly to the rate of the next piece. Either the last piece never ends and has a positive rate, or the
// curve repeats after a period.
class ArrivalCurve {
 public:
  // REQUIRES: `options.rates` is not empty and satisfies the conditions of ArrivalOptions.
  ArrivalCurve(const ArrivalOptions& options, double turns_per_session);

  // Returns the time at which the integral of the rate from 0 on reaches `sessions`.
  double time_s(double sessions) const;
  // Returns the integral of the rate from 0 to the beginning of each piece.
  std::vector<double> sessions_before_rates() const;

 private:
  struct Piece {
    double from_s = 0;
    double rate = 0;      // sessions per s at from_s
    double slope = 0;     // 1/s per second
    double expected = 0;  // expected sessions before from_s
  };
  double in_period_s(double sessions) const;

  std::vector<Piece> pieces_;
  double period_s_ = 0;    // 0: the curve does not repeat
  double per_period_ = 0;  // sessions per period
};

// Returns the constant rate in sessions per s. `turns_per_session` converts a rate of requests.
double constant_rate(const ArrivalOptions& options, double turns_per_session);

// Returns the arrival times of `count` sessions in seconds, in ascending order. The first session arrives at
// 0 unless the rate is 0 there or the process is `even`. Gaps are drawn for a rate of one session per second
// and then scaled to the actual rate. With closed_loop all times are 0. REQUIRES: the process is not `trace`.
std::vector<double> draw_arrivals(const ArrivalOptions& options, double turns_per_session, std::size_t count,
                                  uint64_t seed);

// Returns the think time before turn `turn` (>= 1) of session `session`: the seconds between the answer that
// the turn waits for and the turn's arrival.
double draw_think_time_s(const ThinkTimeOptions& options, uint64_t seed, uint64_t session, uint64_t turn);

}  // namespace kvcap
