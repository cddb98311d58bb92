// When sessions begin and how long users think: seconds drawn by session and turn, in no order.
#pragma once

#include <cstdint>
#include <vector>

#include "workload/workload.h"

namespace kvcap {

// A rate of sessions over time, in pieces, each constant or a linear ramp to the rate of the next. The last
// piece has no end and a positive rate, or all repeat after a period.
class ArrivalCurve {
 public:
  // REQUIRES: `rates` of the options is as ArrivalOptions says.
  ArrivalCurve(const ArrivalOptions& options, double turns_per_session);

  // When the integral of the rate from 0 on exceeds `sessions`.
  double time_s(double sessions) const;
  // The integral from 0 to where each rate begins.
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
  double period_s_ = 0;    // 0: they do not repeat
  double per_period_ = 0;  // sessions
};

// Sessions a second where the rate is constant. `turns_per_session`: for a rate of requests.
double constant_rate(const ArrivalOptions& options, double turns_per_session);

// Arrivals of `count` sessions in seconds, not decreasing; the first at 0 unless the rate is 0 there. The
// gaps of the process at one session a second are drawn and then stretched as the rate says. All are 0 with
// closed_loop. Not for `trace`.
std::vector<double> draw_arrivals(const ArrivalOptions& options, double turns_per_session, std::size_t count,
                                  uint64_t seed);

// Time before turn `turn` (>= 1) of session `session`.
double draw_think_time_s(const ThinkTimeOptions& options, uint64_t seed, uint64_t session, uint64_t turn);

}  // namespace kvcap
