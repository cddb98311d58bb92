// Experts of several ranks: what a layer costs, against sums done by hand and draws done one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "cost/gpu_memory.h"
#include "cost/layer_shapes.h"
#include "unit/cost_examples.h"

namespace kvcap::experts_cost_test {
namespace {

// 64 experts of 1,024, 4 of them active, beside attention of 16 heads.
ModelSpec sparse_model() {
  ModelSpec model = gpt(2048, 4);
  model.experts = Experts{.count = 64, .active = 4, .intermediate_size = 1024};
  return model;
}

ExpertPlacement expert_parallel(int64_t ranks) {
  // Evenly loaded, so that sums are round.
  return {.ranks = ranks, .expert_parallel = true, .imbalance = 1};
}

double flops_s(double rows, double n, double k) { return 2 * rows * n * k / kPeakFlops; }

// Without experts: QKV, O, router.
double own_flops_s(double rows) {
  return flops_s(rows, 3 * 2048, 2048) + flops_s(rows, 2048, 2048) + flops_s(rows, 64, 2048);
}

// An all-gather on the ring of machine(): 300 GB/s and 8 us.
double gather_s(double gpus, double rows) { return (gpus - 1) / gpus * rows * 2048 * 2 / 300e9 + 8e-6; }

// Every token draws `active` different experts out of `count`: pairs of the fullest of `gpus` equal parts, in
// the mean.
double drawn_pairs(int64_t count, int64_t active, int64_t gpus, int64_t tokens, int64_t times) {
  const RandomStream random(7, "experts");
  std::vector<int64_t> experts(static_cast<std::size_t>(count));
  double mean = 0;
  for (int64_t time = 0; time < times; ++time) {
    std::vector<int64_t> pairs(static_cast<std::size_t>(gpus));
    for (int64_t token = 0; token < tokens; ++token) {
      std::iota(experts.begin(), experts.end(), 0);
      for (int64_t pick = 0; pick < active; ++pick) {
        const double u =
            random.uniform(static_cast<uint64_t>(time * tokens + token), static_cast<uint64_t>(pick));
        const auto other = pick + static_cast<int64_t>(u * static_cast<double>(count - pick));
        std::swap(experts[static_cast<std::size_t>(pick)], experts[static_cast<std::size_t>(other)]);
        ++pairs[static_cast<std::size_t>(experts[static_cast<std::size_t>(pick)] * gpus / count)];
      }
    }
    mean += static_cast<double>(*std::max_element(pairs.begin(), pairs.end())) / static_cast<double>(times);
  }
  return mean;
}

RoutedExperts spread(int64_t count, int64_t active, int64_t gpus) {
  return {.count = static_cast<double>(count),
          .active = static_cast<double>(active),
          .gpus = gpus,
          .largest_normal = mean_largest_normal(gpus)};
}

TEST(ExpertLoad, KnowsTheMeanOfTheLargestOfNormals) {
  // Known in closed form: 1/sqrt(pi) of two, 3/(2 sqrt(pi)) of three.
  EXPECT_EQ(mean_largest_normal(1), 0);
  EXPECT_NEAR(mean_largest_normal(2), 1 / std::sqrt(M_PI), 1e-6);
  EXPECT_NEAR(mean_largest_normal(3), 1.5 / std::sqrt(M_PI), 1e-6);
}

TEST(ExpertLoad, OfTheFullestGpuIsThatOfTokensThatDrawTheirExperts) {
  for (const int64_t gpus : {2, 4, 8}) {
    for (const int64_t tokens : {1, 4, 32, 256}) {
      const double drawn = drawn_pairs(64, 6, gpus, tokens, 4000 / tokens + 100);
      const RoutedExperts experts = spread(64, 6, gpus);
      const auto n = static_cast<double>(tokens);
      EXPECT_NEAR(experts.pairs(n) / drawn, 1, tokens == 1 ? 0.1 : 0.03) << gpus << " " << tokens;
      EXPECT_NEAR(experts.rows(n).rows * experts.rows(n).groups, experts.pairs(n), 1e-9);
    }
  }
}

TEST(ExpertLoad, IsTheGivenMultipleOfTheMeanAndNoMoreThanAllTokensCanPick) {
  RoutedExperts experts = spread(64, 4, 4);
  experts.imbalance = 2.5;
  EXPECT_DOUBLE_EQ(experts.pairs(100), 2.5 * 100 * 4 / 4);
  experts.imbalance = 100;
  EXPECT_DOUBLE_EQ(experts.pairs(100), 100 * 4);
  // 16 experts a GPU, of which each token picks 2.5: b = 2 (16/2.5 - 1) = 10.8.
  experts.imbalance = 2.5;
  EXPECT_DOUBLE_EQ(experts.distinct(100), 16 * (1 - 10.8 * 11.8 / (110.8 * 111.8)));
}

TEST(ExpertLoad, ReachesAllPicksOfOneTokenAndFewerOfManyThanEquallyPopularExpertsWould) {
  const RoutedExperts experts = spread(128, 4, 1);
  EXPECT_NEAR(experts.distinct(1), 4, 1e-9);
  // b = 2 (128/4 - 1) = 62; equally popular ones: 128 (1 - (1 - 4/128)^16) = 51 and 111.
  EXPECT_NEAR(experts.distinct(16), 128 * (1 - 62.0 * 63 / (78 * 79)), 1e-9);
  EXPECT_NEAR(experts.distinct(64), 128 * (1 - 62.0 * 63 / (126 * 127)), 1e-9);
  // Experts that every token picks.
  EXPECT_NEAR(spread(4, 4, 1).distinct(3), 4, 1e-9);
}

TEST(ExpertLoad, ReachesTheGpusThatHaveOneOfATokensExperts) {
  // 4 of 8 experts on 2 GPUs: all 4 on one with chance 2 / 70, so 2 - 2/70 GPUs in the mean.
  EXPECT_NEAR(spread(8, 4, 2).reached_gpus(), 2 - 2.0 / 70, 1e-12);
  // One expert is on one GPU.
  EXPECT_NEAR(spread(8, 1, 4).reached_gpus(), 1, 1e-12);
}

TEST(ExpertParallel, ComputesTheTokensOfAllRanksOnWholeExperts) {
  // Two ranks of one GPU. A GPU: its own 300 tokens through attention and router, and half of the pairs of
  // 300 + 100 tokens through experts of 2 D I each; all 400 hidden states come and their outputs go.
  const CostModel cost(sparse_model(), compute_bound_machine(), 1, expert_parallel(2));
  const double pairs = 400.0 * 4 / 2;
  EXPECT_NEAR(
      cost.linear_layer_s(300, 100),
      own_flops_s(300) + flops_s(pairs, 1024, 2048) + flops_s(pairs, 2048, 1024) + 2 * gather_s(2, 400),
      1e-12);
}

TEST(ExpertParallel, CountsOneRowOfEachRankThatHasNothingToDo) {
  const CostModel cost(sparse_model(), machine(), 1, expert_parallel(4));
  EXPECT_EQ(cost.linear_layer_s(300), cost.linear_layer_s(300, 3));
  EXPECT_GT(cost.linear_layer_s(300, 300), cost.linear_layer_s(300, 3));
  EXPECT_EQ(cost.linear_layer_s(0, 300), 0);
}

TEST(ExpertParallel, ReadsTheWeightsOfItsOwnExpertsOnly) {
  // 256 tokens of each of two ranks reach all but a few of the 32 experts of a GPU, which are bytes to read.
  const CostModel cost(sparse_model(), memory_bound_machine(), 1, expert_parallel(2));
  const double b = 2 * (64.0 / 4 - 1);
  const double reached = 32 * (1 - b * (b + 1) / ((b + 512) * (b + 513)));
  const double weights = reached * 2 * 1024 * 2048 * 2;
  const double rows_in_and_out = 512.0 * 4 / 2 * (2048 + 1024 + 1024 + 2048) * 2;
  const double own =
      (4 * 2048.0 * 2048 + 64 * 2048.0) * 2 + 256 * (2048 + 3 * 2048 + 2048 + 2048 + 2048 + 64) * 2.0;
  EXPECT_NEAR(cost.linear_layer_s(256, 256),
              (own + weights + rows_in_and_out) / kBandwidth + 2 * gather_s(2, 512), 1e-9);
}

TEST(ExpertParallel, WithoutItHasAPartOfEveryExpertOnEveryGpu) {
  // Two ranks: half of the width of every expert, for all pairs; and the same exchange.
  const CostModel cost(sparse_model(), compute_bound_machine(), 1, {.ranks = 2});
  EXPECT_NEAR(cost.linear_layer_s(300, 100),
              own_flops_s(300) + flops_s(1600, 512, 2048) + flops_s(1600, 2048, 512) + 2 * gather_s(2, 400),
              1e-12);
}

TEST(ExpertParallel, GathersARanksTokensAgainUnderTensorParallelism) {
  // Two ranks of two GPUs: the exchange is among four, the all-reduce after attention and the last gather of
  // the rank's own tokens among two.
  const CostModel cost(sparse_model(), compute_bound_machine(), 2, expert_parallel(2));
  const double pairs = 400.0 * 4 / 4;
  const double halves =
      flops_s(300, 3 * 1024, 2048) + flops_s(300, 2048, 1024) + flops_s(300, 64, 2048);  // heads by two
  const double all_reduce_s = cost.all_reduce_s(300 * 2048 * 2);
  EXPECT_NEAR(cost.linear_layer_s(300, 100),
              halves + all_reduce_s + gather_s(2, 300) + flops_s(pairs, 1024, 2048) +
                  flops_s(pairs, 2048, 1024) + 2 * gather_s(4, 400),
              1e-12);
}

TEST(ExpertParallel, OfOneRankSpreadsExpertsOverItsGpusAndReducesAsBefore) {
  const CostModel spread(sparse_model(), compute_bound_machine(), 2, expert_parallel(1));
  const CostModel divided(sparse_model(), compute_bound_machine(), 2);
  // As many flops, evenly loaded; and two all-reduces either way.
  EXPECT_NEAR(spread.linear_layer_s(300), divided.linear_layer_s(300), 1e-12);
  const CostModel uneven(sparse_model(), compute_bound_machine(), 2,
                         {.expert_parallel = true, .imbalance = 1.5});
  EXPECT_NEAR(uneven.linear_layer_s(300) - spread.linear_layer_s(300),
              0.5 * (flops_s(600, 1024, 2048) + flops_s(600, 2048, 1024)), 1e-12);
}

TEST(ExpertParallel, SendsTokensToTheGpusThatHaveTheirExpertsOnly) {
  ExpertPlacement placement = expert_parallel(8);
  placement.exchange = ExpertExchange::all_to_all;
  const CostModel cost(sparse_model(), compute_bound_machine(), 1, placement);
  const double copies = spread(64, 4, 8).reached_gpus();
  const double pairs = 800.0 * 4 / 8;
  EXPECT_NEAR(cost.linear_layer_s(100, 700),
              own_flops_s(100) + flops_s(pairs, 1024, 2048) + flops_s(pairs, 2048, 1024) +
                  2 * gather_s(8, 100 * copies),
              1e-12);
}

TEST(ExpertParallel, LeavesDenseLayersToTheirRanks) {
  ModelSpec model = sparse_model();
  model.experts->dense_layers = 4;
  const CostModel cost(model, compute_bound_machine(), 1, expert_parallel(2));
  EXPECT_NEAR(cost.linear_layer_s(300, 100),
              own_flops_s(300) - flops_s(300, 64, 2048) + 2 * flops_s(300, 8192, 2048), 1e-12);
}

TEST(ExpertParallel, KeepsItsShareOfTheExpertsInMemory) {
  const ModelSpec model = sparse_model();
  const double experts = 4.0 * 64 * 2 * 1024 * 2048 * 2;  // layers, experts, matrices of D I, bytes
  EXPECT_DOUBLE_EQ(model.routed_weight_bytes(), experts);
  const double whole = loaded_weight_bytes(model, 1);
  EXPECT_DOUBLE_EQ(loaded_weight_bytes(model, 1, expert_parallel(2)), whole - experts / 2);
  EXPECT_DOUBLE_EQ(loaded_weight_bytes(model, 1, {.ranks = 4}), whole - experts * 3 / 4);
  // 64 experts on 6 GPUs: the fullest has 11.
  EXPECT_DOUBLE_EQ(loaded_weight_bytes(model, 2, expert_parallel(3)),
                   loaded_weight_bytes(model, 2) - experts / 2 + experts * 11 / 64);
  const GpuMemory one = memory_by_shapes(model, machine());
  const GpuMemory two = memory_by_shapes(model, machine(), 1, expert_parallel(2));
  EXPECT_DOUBLE_EQ(two.weight_bytes, one.weight_bytes - experts / 2);
  EXPECT_GT(two.tokens, one.tokens);
}

}  // namespace
}  // namespace kvcap::experts_cost_test
