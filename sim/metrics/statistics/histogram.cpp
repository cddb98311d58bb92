#include "metrics/statistics/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/float_values.h"

namespace kvcap {
namespace {

// The leading bits of an IEEE double determine the bin of a gap: its exponent and the first 8 bits of its
// fraction. Bins cover 2^-30 s (1 ns) to 2^14 s (4.5 h); bin 0 contains shorter gaps, the last bin longer
// ones.
constexpr int kFractionBits = 8;
constexpr int kShift = 52 - kFractionBits;
constexpr int kLeastExponent = -30;
constexpr int kOctaves = 44;
constexpr int64_t kHistogramBins = (int64_t{kOctaves} << kFractionBits) + 1;
constexpr int64_t kOffset = (int64_t{1023 + kLeastExponent} << kFractionBits) - 1;

int64_t bin_of(double gap_s) {
  const auto leading = static_cast<int64_t>(std::bit_cast<uint64_t>(gap_s) >> kShift);
  return std::clamp<int64_t>(leading - kOffset, 0, kHistogramBins - 1);
}

// Returns the least gap of `bin` > 0, which is the end of the bin before it.
double begin_of(int64_t bin) { return std::bit_cast<double>(static_cast<uint64_t>(bin + kOffset) << kShift); }

double middle_of(int64_t bin) { return bin == 0 ? 0 : 0.5 * (begin_of(bin) + begin_of(bin + 1)); }

}  // namespace

GapHistogram::GapHistogram()
    : bins_(kHistogramBins, 0), least_s_(std::numeric_limits<double>::infinity()), greatest_s_(0) {}

void GapHistogram::join(double count, double sum_s, double squares_s2) {
  const auto before = static_cast<double>(count_);
  if (before > 0) {
    const double apart_s = sum_s / count - sum_s_ / before;
    squares_s2_ += apart_s * apart_s * before * count / (before + count);
  }
  squares_s2_ += squares_s2;
  sum_s_ += sum_s;
}

void GapHistogram::add(double gap_s, int64_t count) {
  KVCAP_CHECK(gap_s >= 0);
  if (count <= 0) return;
  join(static_cast<double>(count), gap_s * static_cast<double>(count), 0);
  bins_[bin_of(gap_s)] += count;
  count_ += count;
  least_s_ = std::min(least_s_, gap_s);
  greatest_s_ = std::max(greatest_s_, gap_s);
}

void GapHistogram::add_ramp(double first_s, double growth_s, int64_t steps, int64_t each) {
  if (steps <= 0 || each <= 0) return;
  if (growth_s < 0) {  // reversed: equal gaps in ascending order
    first_s += growth_s * static_cast<double>(steps - 1);
    growth_s = -growth_s;
  }
  KVCAP_CHECK(first_s >= 0);
  const auto gap_s = [&](int64_t i) { return first_s + static_cast<double>(i) * growth_s; };

  const auto n = static_cast<double>(steps), m = static_cast<double>(each);
  join(n * m, m * (n * first_s + growth_s * n * (n - 1) / 2), m * growth_s * growth_s * n * (n * n - 1) / 12);
  count_ += steps * each;
  least_s_ = std::min(least_s_, first_s);
  greatest_s_ = std::max(greatest_s_, gap_s(steps - 1));

  const int64_t last_bin = bin_of(gap_s(steps - 1));
  for (int64_t i = 0; i < steps;) {
    const int64_t bin = bin_of(gap_s(i));
    int64_t next = steps;  // the first step whose gap is in a later bin
    if (bin < last_bin) {
      const double guess = std::ceil((begin_of(bin + 1) - first_s) / growth_s);
      next = static_cast<int64_t>(std::clamp(guess, static_cast<double>(i + 1), n - 1));
      // Rounding of the division may move `next` across the edge of the bin; bin_of decides.
      while (next > i + 1 && bin_of(gap_s(next - 1)) > bin) --next;
      while (bin_of(gap_s(next)) == bin) ++next;
    }
    bins_[bin] += (next - i) * each;
    i = next;
  }
}

double GapHistogram::mean_s() const { return count_ == 0 ? kNaN : sum_s_ / static_cast<double>(count_); }

double GapHistogram::std_s() const {
  return count_ == 0 ? kNaN : std::sqrt(squares_s2_ / static_cast<double>(count_));
}

double GapHistogram::quantile_s(double q) const {
  KVCAP_CHECK(q >= 0 && q <= 1);
  if (count_ == 0) return kNaN;
  const double position = q * static_cast<double>(count_ - 1);
  const auto below = static_cast<int64_t>(position);
  int64_t bin = 0, seen = bins_[0];
  const auto gap_at = [&](int64_t rank) {  // ranks ascend from call to call
    while (seen <= rank) seen += bins_[++bin];
    return std::clamp(middle_of(bin), least_s_, greatest_s_);
  };
  const double lower_s = gap_at(below);
  const double upper_s = gap_at(std::min(below + 1, count_ - 1));
  return lower_s + (position - static_cast<double>(below)) * (upper_s - lower_s);
}

Distribution GapHistogram::describe_ms() const {
  Distribution result{.mean = 1e3 * mean_s(),
                      .median = 1e3 * quantile_s(0.5),
                      .std = 1e3 * std_s(),
                      .p90 = 1e3 * quantile_s(0.90),
                      .p95 = 1e3 * quantile_s(0.95),
                      .p99 = 1e3 * quantile_s(0.99),
                      .quantiles = {}};
  for (int percent = 1; percent <= kQuantileCount; ++percent)
    result.quantiles.push_back(1e3 * quantile_s(percent / 100.0));
  return result;
}

}  // namespace kvcap
