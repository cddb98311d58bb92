// TimeSeries: the integral of a quantity over time, by time bin. The memory is constant although the length
// of the run is not known in advance: there are 2048 bins, whose width doubles when the run outgrows them.
// Adding an interval of any length takes constant time.
#pragma once

#include <cstddef>
#include <vector>

namespace kvcap {

class TimeSeries {
 public:
  // Adds `rate` to the quantity throughout [from_s, to_s]. Intervals may overlap and come in any order.
  // REQUIRES 0 <= from_s; an empty interval adds nothing.
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
  // Adds `amount` to the integral at one moment.
  void add_at(double amount, double at_s);

  bool is_zero() const { return partial_.empty(); }
  // Returns the integral over [0, until_s]. The quantity is taken to be constant within a bin and, in the
  // last bin, up to the last addition.
  double integral(double until_s) const;
  double integral(double from_s, double to_s) const { return integral(to_s) - integral(from_s); }
  // Returns the means over `bins` equal parts of [from_s, to_s]. Means below 1e-9 of the greatest are
  // rounding errors and become 0.
  std::vector<double> means(int bins, double from_s, double to_s) const;
  std::vector<double> means(int bins, double duration_s) const { return means(bins, 0, duration_s); }

 private:
  // Returns the integrals from 0 to the beginning of every bin, and to the end of the last bin.
  std::vector<double> cumulative() const;
  double integral(const std::vector<double>& cumulative, double until_s) const;
  void grow(double to_s);

  // The integral over bin k is partial_[k] + width_s_ (rise_[0] + .. + rise_[k]): intervals that begin or end
  // in a bin add to partial_; the sum of rise_ covers the bins in between. Allocated at first use, with one
  // bin more than kLevelBins for intervals that end exactly at end_s_.
  std::vector<double> partial_, rise_;
  double width_s_ = 0;
  double bins_per_s_ = 0;
  double end_s_ = 0;   // end of the bins
  double last_s_ = 0;  // end of the last addition
};

// Weighted means of values over `bins` equal parts of [0, duration_s); NaN for a part without values. Values
// at or after duration_s belong to the last part.
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
