#include "offered_load.h"

#include <algorithm>
#include <cmath>

namespace kvcap {

double gpu_seconds_of_turn(const Machine& machine, const ServingOptions& serving, const MeanTurn& turn) {
  const CostModel& cost = machine.cost();
  const double outputs = std::max(1.0, turn.output_tokens);
  const double context = turn.prompt_tokens + outputs / 2;
  const double rows_of_sequence = 1 + turn.computed_tokens / outputs;
  const double most = std::min({static_cast<double>(serving.max_num_seqs), machine.sequences_at_once(context),
                                static_cast<double>(serving.max_num_batched_tokens) / rows_of_sequence});
  const double sequences = std::max(1.0, std::floor(most));
  const auto decoding = static_cast<int64_t>(sequences);
  const auto computed = std::max<int64_t>(1, std::llround(turn.computed_tokens));
  const PrefillChunk prompt{
      .new_tokens = computed,
      .cached_tokens = std::max<int64_t>(0, std::llround(turn.prompt_tokens) - computed)};
  const double layer_s = cost.linear_layer_s(std::llround(sequences * rows_of_sequence)) +
                         cost.decode_attentions_layer_s(decoding).at_s(sequences * context) +
                         sequences / outputs * cost.attention_layer_s(prompt);
  const double gpu_s = static_cast<double>(cost.model().num_hidden_layers) * layer_s + cost.head_s(decoding);
  const double host_s = serving.step_overhead_s + serving.step_overhead_per_sequence_s * sequences;
  const double step_s = serving.async_scheduling ? std::max(gpu_s, host_s) : gpu_s + host_s;
  return outputs / sequences * step_s;
}

}  // namespace kvcap
