// Is the verdict on stability right? Settings drawn at random (machine, policy, tiers, engine, workload), the
// true limit of each measured another way, and the verdict that users get at a random share of that limit.
//
// The limit is a rate of sessions. Three long runs of a mild overload (4, 8 and 12 % beyond) complete
// sessions as fast as the machine can: their completions a second over the second half of the time in which
// sessions begin are the limit, its error that of the three, at least 1.5 %. Long runs below it then have to
// complete as many sessions as begin, to 2 %; where they do not, as with caches that an overload empties and
// that do not recover, the limit is only known to lie between the two. Nothing of
// metrics/statistics/stability.h is used.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "metrics/statistics/stability.h"

namespace kvcap::soak {

struct VerdictCase {
  uint64_t number = 0;
  double low_per_s = 0, high_per_s = 0;  // sessions a second: the limit is between them
  double ratio = 0;                      // rate over the middle of the two, 0.5 to 1.5
  Verdict verdict = Verdict::undecided;
  int64_t sessions = 0;  // of the run that it took

  double rate_per_s() const { return ratio * (low_per_s + high_per_s) / 2; }
  bool truth_is_known() const { return rate_per_s() < low_per_s || rate_per_s() > high_per_s; }
  bool is_wrong() const;
  // Of an undecided one: how far the rate is from the nearest rate that may be the limit, as a share of it.
  double distance() const;
};

struct VerdictTally {
  int64_t told = 0;  // right or undecided, and the truth is known
  int64_t wrong = 0;
  int64_t undecided = 0;
  int64_t undecided_far = 0;  // farther than 3 % from what may be the limit
  int64_t unknown = 0;        // the rate lies where the limit may be
  int64_t refused = 0;        // cannot run, or no limit was found
};

// Setting number N as a scenario file, at a rate that means nothing.
std::string verdict_scenario(uint64_t number);

// Settings `first` to `first + count - 1`. The limit's runs have `long_sessions` each.
VerdictTally check_verdicts(uint64_t first, uint64_t count, int64_t long_sessions,
                            const std::function<void(const VerdictCase&)>& on_case);

}  // namespace kvcap::soak
