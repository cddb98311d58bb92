// Bench measures the time of a call on a backend. It runs several batches of calls, each between two events,
// so that launches and single interruptions do not count. The result is the median; its spread shows how
// quiet the machine was.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "calibration/backend.h"

namespace kvcap::calibration {

// Time of one call.
struct Sample {
  double time_s = 0;  // result: the median, or the minimum on a machine that other programs share
  double median_s = 0;
  double min_s = 0;
  double spread = 0;  // interquartile range over median
  int64_t batches = 0;
  double low_s = 0, high_s = 0;  // the median's 95 % interval; of fewer than 9 batches their range

  // Returns half the interval as a share of the median.
  double half_width() const { return (high_s - low_s) / 2 / median_s; }
};

// Requires at least one time.
Sample summarize(std::vector<double> times_s);

// Batches are added until the median's interval is narrow, but not on a machine that other programs share,
// whose result is the minimum.
struct Effort {
  int batches = 5;  // at least
  int most_batches = 15;
  double half_width = 0.01;
  double batch_s = 5e-4;  // target length of a batch
  int max_calls = 64;
  double long_call_s = 0.05;  // longer calls are timed three times, without more batches
  bool cold = false;          // flushes the device's cache before each batch

  // Returns the estimated time in seconds of measuring a call of `call_s`.
  double cost_s(double call_s) const;
};

enum class Launch : uint8_t { eager, graph };

class Bench {
 public:
  // `flush_bytes`: memory that is overwritten to flush the device's cache; more than the cache holds.
  explicit Bench(Backend& backend, int64_t flush_bytes = 0);

  Backend& backend() { return backend_; }
  Stream& stream() { return *stream_; }
  // Measures one call. enqueue(stream, i) enqueues call number i; operands can rotate by number to be cold.
  Sample time(const std::function<void(Stream&, int64_t)>& enqueue, const Effort& effort,
              Launch launch = Launch::eager);
  // Whether time() may add batches to those of the effort; initially it may.
  void allow_more_batches(bool allow) { more_batches_ = allow; }
  // Runs the functions concurrently, each on its own stream, and measures the time until all are done.
  Sample time_together(const std::vector<std::function<void(Stream&)>>& work, int batches);

 private:
  double once_s(const std::function<void()>& enqueue);

  Backend& backend_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Event> start_, end_;
  Buffer flush_;
  bool more_batches_ = true;
};

}  // namespace kvcap::calibration
