// TimeSeries: the integral over time of a quantity, accumulated in constant memory while a run of unknown
// length goes on: 2048 bins whose width doubles when the run outgrows them. Adding a stretch of any length
// takes constant time.
#pragma once

#include <cstddef>
#include <vector>

namespace kvcap {

class TimeSeries {
 public:
  // The quantity was higher by `rate` throughout [from_s, to_s]. Stretches may overlap and come in any
  // order. REQUIRES 0 <= from_s; an empty stretch adds nothing.
  void add(double rate, double from_s, double to_s) {
    if (rate == 0 || !(to_s > from_s)) return;
    if (to_s > end_s_) grow(to_s);
    if (to_s > last_s_) last_s_ = to_s;
    const auto first = static_cast<std::size_t>(from_s * bins_per_s_);
    const auto last = static_cast<std::size_t>(to_s * bins_per_s_);
    if (first == last) {
      partial_[first] += rate * (to_s - from_s);
      return;
    }
    partial_[first] += rate * (static_cast<double>(first + 1) * width_s_ - from_s);
    partial_[last] += rate * (to_s - static_cast<double>(last) * width_s_);
    rise_[first + 1] += rate;
    rise_[last] -= rate;
  }
  // `amount` at one moment.
  void add_at(double amount, double at_s);

  bool is_zero() const { return partial_.empty(); }
  // Integral over [0, until_s]; within a bin the quantity counts as constant, as far as anything was added.
  double integral(double until_s) const;
  double integral(double from_s, double to_s) const { return integral(to_s) - integral(from_s); }
  // Means over `bins` equal parts of [from_s, to_s]. What is below 1e-9 of the greatest mean is rounding
  // and reads as 0.
  std::vector<double> means(int bins, double from_s, double to_s) const;
  std::vector<double> means(int bins, double duration_s) const { return means(bins, 0, duration_s); }

 private:
  // Integral from 0 to the beginning of every bin, and to the end of the last.
  std::vector<double> cumulative() const;
  double integral(const std::vector<double>& cumulative, double until_s) const;
  void grow(double to_s);

  // The integral over bin k is partial_[k] + width_s_ (rise_[0] + .. + rise_[k]): stretches that begin or
  // end in a bin go to partial_, those that cover it are the sum of the rises so far. Allocated at first
  // use; one bin more than kBins for stretches that end at end_s_ exactly.
  std::vector<double> partial_, rise_;
  double width_s_ = 0;
  double bins_per_s_ = 0;
  double end_s_ = 0;   // of the bins
  double last_s_ = 0;  // of what was added
};

// Values with weights at moments of [0, duration_s): their weighted means over `bins` equal parts of it, NaN
// where a part has none. What comes at the end or later belongs to the last part.
class BinnedMeans {
 public:
  BinnedMeans(int bins, double duration_s) : bins_(static_cast<std::size_t>(bins)), duration_s_(duration_s) {}
  // REQUIRES: at_s >= 0.
  void add(double at_s, double value, double weight = 1);
  std::vector<double> means() const;

 private:
  struct Bin {
    double sum = 0, weight = 0;
  };
  std::vector<Bin> bins_;
  double duration_s_;
};

}  // namespace kvcap
