// Theory against values worked out elsewhere: textbooks, integrals, and brute force.
#include "validate/theory/theory.h"

#include <gtest/gtest.h>

#include <cmath>
#include <list>

#include "base/random.h"

namespace kvcap::theory_test {
namespace {

TEST(ErlangB, TurnsAwayWhatTheSumSays) {
  // a^c / c! over the sum of a^k / k!, c = 4, a = 2: (16 / 24) / (1 + 2 + 2 + 8 / 6 + 16 / 24) = 2 / 21
  EXPECT_NEAR(erlang_b(4, 2), 2.0 / 21, 1e-12);
  EXPECT_EQ(erlang_b(1, 0), 0);
}

TEST(QueueTheory, HasTheTextbookWaits) {
  EXPECT_DOUBLE_EQ(mg1_wait_s(0.5, 1, 0), 0.5);  // M/D/1: rho S / (2 (1 - rho))
  EXPECT_DOUBLE_EQ(mg1_wait_s(0.5, 1, 1), 1);    // M/M/1: rho S / (1 - rho)
  EXPECT_DOUBLE_EQ(mg1_wait_s(0.25, 2, 1), 2);   // the same with slower customers
  EXPECT_NEAR(erlang_c(1, 0.7), 0.7, 1e-15);     // a single server is busy with probability rho
  EXPECT_NEAR(erlang_c(2, 1), 1.0 / 3, 1e-15);   // 2 rho^2 / (1 + rho) at rho = 1/2
  EXPECT_NEAR(erlang_c(3, 2), 4.0 / 9, 1e-15);   // (8/6)(3) / (1 + 2 + 2 + 4)
  EXPECT_NEAR(mmc_wait_s(2, 1, 6), 2, 1e-14);    // C S / (c - a) = 6 / 3
  EXPECT_NEAR(mmc_wait_exceeds(1, 0.5, 2), 0.5 * std::exp(-1), 1e-15);
}

TEST(QueueTheory, OfMD1AgreesWithItsOwnMean) {
  for (double load : {0.3, 0.7, 0.85}) {
    EXPECT_NEAR(md1_wait_exceeds(load, 0), load, 1e-15);
    EXPECT_NEAR(md1_wait_exceeds(load, 0.5), 1 - (1 - load) * std::exp(load / 2), 1e-15);
    // E[W] is the integral of P(W > t); the tail beyond 20 services is geometric.
    constexpr int kSteps = 1000;
    double integral = 0;
    for (int i = 0; i < 20 * kSteps; ++i) integral += md1_wait_exceeds(load, (i + 0.5) / kSteps) / kSteps;
    const double end = md1_wait_exceeds(load, 20), before = md1_wait_exceeds(load, 19);
    if (end > 1e-9) integral += end / std::log(before / end);
    EXPECT_NEAR(integral, mg1_wait_s(load, 1, 0), 1e-4) << load;
  }
}

TEST(PipelineTheory, IsTheLongestWayThrough) {
  // Four layers alike, 3 to load and 2 to compute: 4 x 3 + 2, and the same the other way round.
  const std::vector<double> threes(4, 3.0), twos(4, 2.0);
  EXPECT_EQ(flow_shop_makespan_s(threes, twos), 14);
  EXPECT_EQ(flow_shop_makespan_s(twos, threes), 14);
  // loads 1 5 2 end at 1 6 8, computations 4 1 3 at 5 7 11
  EXPECT_EQ(flow_shop_makespan_s(std::vector<double>{1, 5, 2}, std::vector<double>{4, 1, 3}), 11);
}

TEST(CacheTheory, HitsInProportionWhereAllAreAlike) {
  const std::vector<double> alike(40, 1.0 / 40);
  EXPECT_NEAR(lru_hit_rate(alike, 10), 0.25, 1e-12);
  EXPECT_NEAR(fifo_hit_rate(alike, 10), 0.25, 1e-12);
}

TEST(CacheTheory, SolvesChesEquationForTwoKinds) {
  // One item of 1/2 and two of 1/4: with x = e^(-T/4), 3 - x^2 - 2 x = 2 gives x = sqrt(2) - 1; hit rate
  // (1 - x^2) / 2 + (1 - x) / 2 = (2 - x - x^2) / 2 = (1 + x) / 2 = 1 / sqrt(2).
  EXPECT_NEAR(lru_hit_rate(std::vector<double>{0.5, 0.25, 0.25}, 2), std::sqrt(0.5), 1e-12);
  // FIFO of one place with y = T / 4: 2 y / (1 + 2 y) + 2 y / (1 + y) = 1, that is 4 y^2 + y = 1.
  const double y = (std::sqrt(17.0) - 1) / 8;
  EXPECT_NEAR(fifo_hit_rate(std::vector<double>{0.5, 0.25, 0.25}, 1), y / (1 + 2 * y) + y / (2 * (1 + y)),
              1e-12);
}

TEST(CacheTheory, OfATtlIsTheChanceOfAnotherUseInTime) {
  EXPECT_NEAR(ttl_hit_rate(std::vector<double>{1}, 2, 3), 1 - std::exp(-6), 1e-15);
  EXPECT_NEAR(ttl_hit_rate(std::vector<double>{0.75, 0.25}, 1, 4),
              0.75 * (1 - std::exp(-3)) + 0.25 * (1 - std::exp(-1)), 1e-15);
}

TEST(CacheTheory, DrawsZipfInProportion) {
  const std::vector<double> p = zipf(3, 1);  // 1, 1/2, 1/3 of 11/6
  EXPECT_NEAR(p[0], 6.0 / 11, 1e-15);
  EXPECT_NEAR(p[2], 2.0 / 11, 1e-15);
}

TEST(LruStack, CountsWhatAListInOrderOfUseCounts) {
  const RandomStream random(11, "stack");
  const auto size_of = [](uint64_t item) { return static_cast<int64_t>(1 + item % 7); };
  constexpr std::size_t kUses = 5000;
  LruStack stack(kUses);
  std::list<uint64_t> list;  // last used first
  for (std::size_t i = 0; i < kUses; ++i) {
    const auto item = static_cast<uint64_t>(200 * std::pow(random.uniform(i), 3));
    int64_t expected = -1, sum = 0;
    for (auto at = list.begin(); at != list.end(); ++at) {
      sum += size_of(*at);
      if (*at != item) continue;
      expected = sum;
      list.erase(at);
      break;
    }
    list.push_front(item);
    ASSERT_EQ(stack.distance(item), expected) << "use " << i;
    stack.use(item, size_of(item));
  }
}

}  // namespace
}  // namespace kvcap::theory_test
