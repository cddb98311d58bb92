#include "run/offered_load.h"

#include <algorithm>
#include <cmath>

namespace kvcap {

double gpu_seconds_of_turn(const Machine& machine, const ServingOptions& serving, const MeanTurn& turn) {
  const CostModel& cost = machine.cost();
  const Speculation* const speculation = machine.speculation();
  const int64_t drafts = speculation ? speculation->draft_tokens() : 0;
  const double outputs = std::max(1.0, turn.output_tokens);
  // Steps that a turn takes part in.
  const double steps = std::max(1.0, speculation ? outputs / speculation->acceptance_length() : outputs);
  const double context = turn.prompt_tokens + outputs / 2;
  const double rows_of_sequence = static_cast<double>(1 + drafts) + turn.computed_tokens / steps;
  const double most = std::min({static_cast<double>(serving.max_num_seqs), machine.sequences_at_once(context),
                                static_cast<double>(serving.max_num_batched_tokens) / rows_of_sequence});
  const double sequences = std::max(1.0, std::floor(most));
  const Decodes decodes{.sequences = static_cast<int64_t>(sequences),
                        .context_tokens = std::llround(sequences * context),
                        .drafts = static_cast<int64_t>(sequences) * drafts};
  const auto computed = std::max<int64_t>(1, std::llround(turn.computed_tokens));
  const PrefillChunk prompt{
      .new_tokens = computed,
      .cached_tokens = std::max<int64_t>(0, std::llround(turn.prompt_tokens) - computed)};
  const int64_t rows = std::llround(sequences * rows_of_sequence);
  // Other ranks are assumed to have the same load.
  const double layer_s =
      cost.linear_layer_s(rows, (cost.placement().ranks - 1) * rows) +
      cost.decode_attentions_layer_s(decodes.sequences, decodes.queries()).at_s(sequences * context) +
      sequences / steps * cost.attention_layer_s(prompt);
  double gpu_s = static_cast<double>(cost.model().num_hidden_layers) * layer_s + cost.head_s(decodes.rows());
  if (speculation) {
    const double drafter_s = speculation->drafter_s({}, decodes);
    gpu_s += drafter_s + sequences / steps * (speculation->drafter_s({&prompt, 1}, decodes) - drafter_s);
  }
  const double host_s = serving.step_overhead_s + serving.step_overhead_per_sequence_s * sequences;
  double step_s = serving.async_scheduling ? std::max(gpu_s, host_s) : gpu_s + host_s;
  if (speculation) step_s += speculation->draft_step_s();
  return steps / sequences * step_s;
}

}  // namespace kvcap
