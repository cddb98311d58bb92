#include "base/random.h"

#include <cmath>

#include "base/check.h"

namespace kvcap {
namespace {

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection in which every input bit reaches every
// output bit.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Returns the k-th number of the draw (i, j). 52 bits and a half step exclude 0 and 1.
double uniform_of(uint64_t key, uint64_t i, uint64_t j, uint64_t k) {
  const uint64_t bits = mix(mix(mix(key ^ mix(i)) + j) ^ (k * 0xd1342543de82ef95u));
  return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
}

}  // namespace

RandomStream::RandomStream(uint64_t seed, std::string_view name) : key_(mix(seed)) {
  for (char letter : name) key_ = mix(key_ ^ static_cast<unsigned char>(letter));
}

double RandomStream::uniform(uint64_t i, uint64_t j) const { return uniform_of(key_, i, j, 0); }

double RandomStream::normal(uint64_t i, uint64_t j) const { return normal_quantile(uniform(i, j)); }

double RandomStream::exponential(uint64_t i, uint64_t j) const { return -std::log(uniform(i, j)); }

double RandomStream::gamma(double shape, uint64_t i, uint64_t j) const {
  KVCAP_CHECK(shape > 0);
  uint64_t next = 1;
  // The method requires shape >= 1; below 1, G(a) = G(a + 1) U^(1/a).
  const double boost = shape < 1 ? std::pow(uniform_of(key_, i, j, next++), 1 / shape) : 1;
  const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal_quantile(uniform_of(key_, i, j, next++));
    const double u = uniform_of(key_, i, j, next++);
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) return boost * d * v / shape;
  }
}

double RandomStream::student_t(double freedom, uint64_t i, uint64_t j) const {
  KVCAP_CHECK(freedom > 2);
  const double squared_radius = std::pow(uniform_of(key_, i, j, 0), -2 / freedom) - 1;  // divided by freedom
  const double angle = 2 * std::acos(-1.0) * uniform_of(key_, i, j, 1);
  return std::sqrt((freedom - 2) * squared_radius) * std::cos(angle);
}

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

// P. J. Acklam, "An algorithm for computing the inverse normal cumulative distribution function": one
// rational function for the middle, one for each tail.
double normal_quantile(double p) {
  KVCAP_CHECK(p > 0 && p < 1);
  constexpr double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                          1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr double b[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                          6.680131188771972e+01, -1.328068155288572e+01};
  constexpr double c[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                          -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                          3.754408661907416e+00};
  constexpr double tail = 0.02425;
  if (p >= tail && p <= 1 - tail) {
    const double q = p - 0.5;
    const double r = q * q;
    return (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
           (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
  }
  const double q = std::sqrt(-2 * std::log(p < tail ? p : 1 - p));
  const double x = (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
                   ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
  return p < tail ? x : -x;
}

}  // namespace kvcap
