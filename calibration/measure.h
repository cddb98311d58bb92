// How long work takes: several batches of calls, each between two events, so that the time of one call is
// free of the launch before it and of single interruptions. Medians speak; spreads tell how quiet the machine
// was.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "calibration/backend.h"

namespace kvcap::calibration {

// Of one call.
struct Sample {
  double time_s = 0;  // the one that speaks: the median, or the minimum where interruptions are others' doing
  double median_s = 0;
  double min_s = 0;
  double spread = 0;  // distance of the quartiles over the median
  int64_t batches = 0;
};

// Requires at least one time.
Sample summarize(std::vector<double> times_s);

struct Effort {
  int batches = 5;
  double batch_s = 5e-4;  // a batch has as many calls as fill this
  int max_calls = 64;
  double long_call_s = 0.05;  // a call this long is timed three times and not in more batches

  // What timing a call of `call_s` costs, in seconds.
  double cost_s(double call_s) const;
};

enum class Launch : uint8_t { eager, graph };

class Bench {
 public:
  explicit Bench(Backend& backend);

  Backend& backend() { return backend_; }
  Stream& stream() { return *stream_; }
  // enqueue(stream, i) enqueues call number i: numbers let operands rotate, so that they are cold.
  Sample time(const std::function<void(Stream&, int64_t)>& enqueue, const Effort& effort,
              Launch launch = Launch::eager);
  // Several streams at once, each with `calls` calls of its own work: seconds until the last has ended.
  Sample time_together(const std::vector<std::function<void(Stream&)>>& work, int batches);

 private:
  double once_s(const std::function<void()>& enqueue);

  Backend& backend_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Event> start_, end_;
};

}  // namespace kvcap::calibration
