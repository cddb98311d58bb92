// How unevenly experts are asked for: the rows of the busiest GPU decide how long a layer's experts take.
#pragma once

#include <cstdint>
#include <optional>

namespace kvcap {

// The mean of the largest of `count` standard normal variates: 0, 0.564, 0.846, 1.029, ...
double mean_largest_normal(int64_t count);

// Rows that go to the experts of several GPUs.
class ExpertLoad {
 public:
  explicit ExpertLoad(int64_t gpus, std::optional<double> imbalance = {});

  int64_t gpus() const { return gpus_; }
  // Of the busiest GPU, of `rows` rows on all of them. Given an imbalance, that multiple of the mean. Else
  // each row goes to any GPU: of N rows on G GPUs the largest share is about N/G + sqrt(N/G) x
  // mean_largest_normal(G) in the mean, since the shares deviate like normal variates whose sum is fixed. At
  // most all rows.
  double busiest_rows(double rows) const;

 private:
  int64_t gpus_;
  std::optional<double> imbalance_;
  double largest_ = 0;
};

}  // namespace kvcap
