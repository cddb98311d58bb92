// Pipeline: computes when a batch leaves the stages of pipeline parallelism. Each stage computes its layers
// for one batch at a time, in order, and sends the hidden states and the residual to the next stage.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/cost_model.h"

namespace kvcap {

class Pipeline {
 public:
  // `cost` outlives it.
  Pipeline(const CostModel& cost, int64_t stages);

  int64_t stages() const { return static_cast<int64_t>(shares_.size()); }
  // Returns the first stage's part of `layers_s`, the seconds of all layers.
  double first_s(double layers_s) const { return shares_.front() * layers_s; }
  // Returns the largest share of the layers that any stage has.
  double largest_share() const;
  // Passes a batch of `rows` rows that leaves the first stage at `now_s` through the other stages. Returns
  // the time at which it leaves the last one, which takes `head_s` longer.
  double pass(double now_s, double layers_s, double head_s, int64_t rows);

 private:
  const CostModel& cost_;
  std::vector<double> shares_;  // by stage: share of all layers
  std::vector<double> free_s_;  // by stage: time from which the stage is free
};

}  // namespace kvcap
