// Can this machine serve this rate? A queue that grows for as long as sessions arrive says no.
#pragma once

#include <cstdint>

#include "metrics/series.h"

namespace kvcap {

// Returns true iff the number waiting grew throughout [0, window_s], in which `sessions` sessions arrived.
// The means of the window's four quarters must rise each time, the last must be 1.5 times that of the
// first half or more (constant growth makes it 3.5 times, growth with the square root of time 2 times),
// and the rise from the first quarter to the last must be more than chance makes: a queue at exact balance
// strays by about the square root of its arrivals. At least 4, so that a handful of sessions is no trend.
bool queue_grew(const TimeSeries& waiting, double window_s, int64_t sessions);

}  // namespace kvcap
