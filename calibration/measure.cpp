#include "calibration/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/check.h"

namespace kvcap::calibration {
namespace {

// Returns the quantile, interpolated linearly between the two neighbours.
double quantile(const std::vector<double>& ordered, double share) {
  const double place = share * static_cast<double>(ordered.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, ordered.size() - 1);
  return ordered[below] + (place - std::floor(place)) * (ordered[above] - ordered[below]);
}

int calls_in_batch(const Effort& effort, double call_s) {
  const double calls = std::ceil(effort.batch_s / std::max(call_s, 1e-9));
  return static_cast<int>(std::clamp(calls, 1.0, static_cast<double>(effort.max_calls)));
}

int batches_of(const Effort& effort, double call_s) {
  return call_s >= effort.long_call_s ? std::min(effort.batches, 3) : effort.batches;
}

// Returns the index of the lower end of the median's 95 % interval among `count` ordered times: the number of
// times below the median has a binomial distribution.
std::size_t lower_end(std::size_t count) {
  double fewer = 0, term = std::ldexp(1.0, -static_cast<int>(count));  // P(rank times are below the median)
  std::size_t rank = 0;
  while (2 * (fewer + term) <= 0.05) {
    fewer += term;
    term *= static_cast<double>(count - rank) / static_cast<double>(rank + 1);
    ++rank;
  }
  return rank > 0 ? rank - 1 : 0;
}

}  // namespace

Sample summarize(std::vector<double> times_s) {
  KVCAP_CHECK(!times_s.empty());
  std::sort(times_s.begin(), times_s.end());
  Sample sample;
  sample.median_s = quantile(times_s, 0.5);
  sample.time_s = sample.median_s;
  sample.min_s = times_s.front();
  sample.spread = (quantile(times_s, 0.75) - quantile(times_s, 0.25)) / sample.median_s;
  sample.batches = static_cast<int64_t>(times_s.size());
  sample.low_s = times_s[lower_end(times_s.size())];
  sample.high_s = times_s[times_s.size() - 1 - lower_end(times_s.size())];
  return sample;
}

double Effort::cost_s(double call_s) const {
  return (2 + (batches_of(*this, call_s) + 1) * calls_in_batch(*this, call_s)) * call_s + 1e-4;
}

Bench::Bench(Backend& backend, int64_t flush_bytes)
    : backend_(backend),
      stream_(backend.make_stream()),
      start_(backend.make_event()),
      end_(backend.make_event()) {
  if (flush_bytes > 0) flush_ = backend.allocate(Place::device, flush_bytes);
}

double Bench::once_s(const std::function<void()>& enqueue) {
  stream_->record(*start_);
  enqueue();
  stream_->record(*end_);
  end_->synchronize();
  return backend_.elapsed_s(*start_, *end_);
}

Sample Bench::time(const std::function<void(Stream&, int64_t)>& enqueue, const Effort& effort,
                   Launch launch) {
  int64_t number = 0;
  const auto one = [&] { enqueue(*stream_, number++); };
  once_s(one);  // excludes what the first call loads and selects
  const double call_s = once_s(one);
  const int calls = calls_in_batch(effort, call_s);
  std::unique_ptr<Graph> graph;
  if (launch == Launch::graph) {
    stream_->begin_capture();
    try {
      for (int i = 0; i < calls; ++i) one();
    } catch (...) {
      stream_->end_capture();
      throw;
    }
    graph = stream_->end_capture();
  }
  const auto batch = [&] {
    if (graph) return stream_->launch(*graph);
    for (int i = 0; i < calls; ++i) one();
  };
  const bool is_long = call_s >= effort.long_call_s;
  if (!is_long) once_s(batch);
  const bool adds = more_batches_ && !is_long && !backend_.info().shared;
  const auto most = static_cast<std::size_t>(adds ? effort.most_batches : batches_of(effort, call_s));
  std::vector<double> times_s;
  while (times_s.size() < most) {
    if (effort.cold && flush_.bytes() > 0) {
      stream_->zero(flush_.data(), flush_.bytes());
      // Otherwise the host enqueues single launches while the device flushes.
      if (!graph) stream_->synchronize();
    }
    times_s.push_back(once_s(batch) / calls);
    const bool enough = std::ssize(times_s) >= batches_of(effort, call_s);
    if (enough && summarize(times_s).half_width() <= effort.half_width) break;
  }
  return summarize(std::move(times_s));
}

Sample Bench::time_together(const std::vector<std::function<void(Stream&)>>& work, int batches) {
  std::vector<std::unique_ptr<Stream>> streams;
  for (std::size_t i = 0; i < work.size(); ++i) streams.push_back(backend_.make_stream());
  std::vector<double> times_s;
  for (int batch = 0; batch <= batches; ++batch) {
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < work.size(); ++i) work[i](*streams[i]);
    for (const std::unique_ptr<Stream>& stream : streams) stream->synchronize();
    const double time_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (batch > 0) times_s.push_back(time_s);  // the first batch warms up
  }
  return summarize(std::move(times_s));
}

}  // namespace kvcap::calibration
