#include "engine/pipeline.h"

#include <algorithm>

#include "cost/pipeline_stages.h"

namespace kvcap {

// vLLM sends the hidden states and the residual (IntermediateTensors).
constexpr double kSentTensors = 2;

Pipeline::Pipeline(const CostModel& cost, int64_t stages)
    : cost_(cost), free_s_(static_cast<std::size_t>(stages)) {
  const int64_t layers = cost.model().num_hidden_layers;
  for (const PipelineStage& stage : pipeline_stages(layers, stages)) {
    shares_.push_back(static_cast<double>(stage.layers) / static_cast<double>(layers));
  }
}

double Pipeline::largest_share() const { return *std::max_element(shares_.begin(), shares_.end()); }

double Pipeline::pass(double now_s, double layers_s, double head_s, int64_t rows) {
  const double bytes =
      kSentTensors * static_cast<double>(rows) * cost_.model().hidden_bytes_per_token_layer();
  const double send_s = stages() > 1 ? cost_.send_s(bytes) : 0;
  double end_s = now_s;
  for (std::size_t i = 1; i < shares_.size(); ++i) {
    const bool is_last = i + 1 == shares_.size();
    end_s = std::max(end_s + send_s, free_s_[i]) + shares_[i] * layers_s + (is_last ? head_s : 0);
    free_s_[i] = end_s;
  }
  return end_s;
}

}  // namespace kvcap
