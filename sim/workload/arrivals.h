// Draws arrival times of sessions and think times of users, in seconds. Each draw depends on the seed, the
// session and the turn only, not on the order of calls.
#pragma once

#include <cstdint>
#include <vector>

#include "workload/workload.h"

namespace kvcap {

// Rate of sessions over time: pieces that are constant or ramp linearly to the next rate. The last piece is
// endless with a positive rate, or the curve repeats after a period.
class ArrivalCurve {
 public:
  // REQUIRES: `options.rates` is not empty and is as ArrivalOptions describes.
  ArrivalCurve(const ArrivalOptions& options, double turns_per_session);

  // Returns the time at which the integral of the rate from 0 on reaches `sessions`.
  double time_s(double sessions) const;
  // Returns the integral of the rate from 0 to the beginning of each piece.
  std::vector<double> sessions_before_rates() const;

 private:
  struct Piece {
    double from_s = 0;
    double rate = 0;      // 1/s, at from_s
    double slope = 0;     // 1/s per second
    double expected = 0;  // sessions up to from_s
  };
  double in_period_s(double sessions) const;

  std::vector<Piece> pieces_;
  double period_s_ = 0;    // 0: the curve does not repeat
  double per_period_ = 0;  // sessions
};

// Returns the rate in sessions per s where it is constant. `turns_per_session` converts a rate of requests.
double constant_rate(const ArrivalOptions& options, double turns_per_session);

// Returns the arrivals of `count` sessions in seconds, ascending; the first is 0 unless the rate is 0 there
// or the process is `even`. Gaps are drawn at one session per second and then stretched to the rate. With
// closed_loop all arrivals are 0. REQUIRES: the process is not `trace`.
std::vector<double> draw_arrivals(const ArrivalOptions& options, double turns_per_session, std::size_t count,
                                  uint64_t seed);

// Returns the time in seconds between the answer before turn `turn` (>= 1) of session `session` and that
// turn.
double draw_think_time_s(const ThinkTimeOptions& options, uint64_t seed, uint64_t session, uint64_t turn);

}  // namespace kvcap
