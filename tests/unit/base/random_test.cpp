#include "base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace kvcap::random_test {
namespace {

constexpr uint64_t kDraws = 200000;

struct Moments {
  double mean, standard_deviation;
};

template <class Draw>
Moments moments(Draw draw) {
  double sum = 0, squares = 0;
  for (uint64_t i = 0; i < kDraws; ++i) {
    const double x = draw(i);
    sum += x;
    squares += x * x;
  }
  const double mean = sum / kDraws;
  return {mean, std::sqrt(squares / kDraws - mean * mean)};
}

TEST(RandomStream, DependsOnNothingButSeedNameAndIndices) {
  const RandomStream stream(7, "arrivals");
  const double tenth = stream.uniform(10);
  stream.uniform(3);
  EXPECT_EQ(stream.uniform(10), tenth);
  EXPECT_EQ(RandomStream(7, "arrivals").uniform(10), tenth);
  EXPECT_NE(RandomStream(8, "arrivals").uniform(10), tenth);
  EXPECT_NE(RandomStream(7, "think_time").uniform(10), tenth);
  EXPECT_NE(stream.uniform(10, 1), tenth);
  EXPECT_NE(stream.uniform(10, 1), stream.uniform(1, 10));
}

TEST(RandomStream, KeepsItsFirstDrawForEver) {
  // Pinned: other values would silently change every published result.
  EXPECT_DOUBLE_EQ(RandomStream(1, "arrivals").uniform(0), 0.61025016705544799);
}

TEST(RandomStream, GivesDifferentNumbersToNeighbouringIndices) {
  const RandomStream stream(1, "x");
  std::set<double> seen;
  for (uint64_t i = 0; i < 100; ++i) {
    for (uint64_t j = 0; j < 100; ++j) seen.insert(stream.uniform(i, j));
  }
  EXPECT_EQ(seen.size(), 10000u);
}

TEST(RandomStream, IsUniformInsideTheOpenUnitInterval) {
  const RandomStream stream(1, "x");
  const Moments found = moments([&](uint64_t i) {
    const double u = stream.uniform(i);
    EXPECT_GT(u, 0);
    EXPECT_LT(u, 1);
    return u;
  });
  // Five standard errors: 5 / sqrt(12 * 200,000) = 0.0032.
  EXPECT_NEAR(found.mean, 0.5, 0.0033);
  EXPECT_NEAR(found.standard_deviation, 1 / std::sqrt(12.0), 0.002);
}

TEST(RandomStream, HasUncorrelatedNeighbours) {
  const RandomStream stream(1, "x");
  double sum = 0;
  for (uint64_t i = 0; i < kDraws; ++i)
    sum += stream.normal(i) * stream.normal(i + 1) + stream.normal(i) * stream.normal(i, 1);
  EXPECT_NEAR(sum / kDraws, 0, 5 * std::sqrt(2.0 / kDraws));
}

TEST(RandomStream, DrawsNormalsAndExponentialsWithTheirMoments) {
  const RandomStream stream(2, "x");
  const Moments normal = moments([&](uint64_t i) { return stream.normal(i); });
  EXPECT_NEAR(normal.mean, 0, 0.012);
  EXPECT_NEAR(normal.standard_deviation, 1, 0.01);
  const Moments exponential = moments([&](uint64_t i) { return stream.exponential(i); });
  EXPECT_NEAR(exponential.mean, 1, 0.012);
  EXPECT_NEAR(exponential.standard_deviation, 1, 0.02);
}

TEST(RandomStream, DrawsGammasOfMeanOneAndVarianceOneOverShape) {
  const RandomStream stream(3, "x");
  for (double shape : {0.25, 0.5, 1.0, 4.0}) {
    const Moments found = moments([&](uint64_t i) { return stream.gamma(shape, i); });
    const double deviation = 1 / std::sqrt(shape);
    EXPECT_NEAR(found.mean, 1, 5 * deviation / std::sqrt(kDraws)) << shape;
    EXPECT_NEAR(found.standard_deviation, deviation, 0.03 * deviation) << shape;
  }
}

TEST(RandomStream, DrawsStudentsTOfVarianceOne) {
  const RandomStream stream(4, "x");
  // Of 4 degrees of freedom F(1) = 1/2 + 3/8 s (1 - s^2/12) with s = 1/sqrt(1.25).
  const double root = std::sqrt(2.0);  // of the variance 4 / (4 - 2)
  const Moments below = moments([&](uint64_t i) { return stream.student_t(4, i) * root < 1 ? 1.0 : 0.0; });
  EXPECT_NEAR(below.mean, 0.813049, 5 * 0.39 / std::sqrt(kDraws));
  // With many degrees of freedom it is a normal.
  const Moments found = moments([&](uint64_t i) { return stream.student_t(100, i); });
  EXPECT_NEAR(found.mean, 0, 0.012);
  EXPECT_NEAR(found.standard_deviation, 1, 0.01);
}

TEST(NormalQuantile, InvertsTheDistributionFunction) {
  EXPECT_EQ(normal_quantile(0.5), 0);
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 3e-9);
  EXPECT_NEAR(normal_quantile(0.001), -3.090232306167813, 4e-9);
  EXPECT_NEAR(normal_quantile(1e-12), -7.034483825301132, 9e-9);
  for (double p : {1e-6, 0.02, 0.024, 0.025, 0.3, 0.77, 0.976, 0.999}) {
    EXPECT_NEAR(normal_cdf(normal_quantile(p)) / p, 1, 1e-7) << p;
  }
}

}  // namespace
}  // namespace kvcap::random_test
