// Estimates of StepTime: a prompt on an idle engine, and a turn on a fully loaded one.
#include <algorithm>
#include <cmath>

#include "engine/pipeline.h"
#include "engine/step_time.h"

namespace kvcap {

double StepTime::idle_prefill_s(PrefillChunk prompt) const {
  double sum_s = 0, end_s = 0;
  Pipeline pipeline(cost_, serving_.pipeline_parallel_size);
  std::vector<PrefillChunk> chunks;
  for (int64_t left = std::max<int64_t>(1, prompt.new_tokens), first = prompt.cached_tokens; left > 0;) {
    const int64_t tokens = serving_.slice_budget(std::min(left, serving_.max_num_batched_tokens));
    left -= tokens;
    chunks.clear();
    Decodes decodes;
    add_slice(tokens, first, chunks, decodes);
    first += tokens;
    const int64_t sampled = left == 0 ? 1 : 0;
    if (pipeline.stages() > 1) {
      const double layers_s = mixed_s(chunks, decodes, 0);
      sum_s += step_s(pipeline.first_s(layers_s), host_s(1));
      end_s = pipeline.pass(sum_s, layers_s, cost_.head_s(sampled), tokens);
      continue;
    }
    const double gpu_s = mixed_s(chunks, decodes, sampled) + drafter_s(chunks, decodes);
    sum_s += step_s(gpu_s, host_s(1)) + draft_step_s();
  }
  return std::max(sum_s, end_s);
}

namespace {

// Returns the mean time of the linear layers of steps with `decode_rows` rows and a mean of `prompt_rows`
// rows of prompts. A prompt takes at most `slice_rows` rows of a step: with less than one slice per step,
// steps without a prompt alternate with steps that have one.
double linear_of_steps_s(double decode_rows, double prompt_rows, double slice_rows,
                         const std::function<double(double rows)>& linear_s) {
  const double slices = prompt_rows / slice_rows;
  if (slices >= 1) return linear_s(decode_rows + prompt_rows);
  return (1 - slices) * linear_s(decode_rows) + slices * linear_s(decode_rows + slice_rows);
}

}  // namespace

// With b concurrent requests, o output tokens and c computed prompt tokens per turn (means over turns), a
// step computes b decoding rows and b c / o rows of prompts, and b / o turns end per step. So a turn takes
// o/b steps of that size. b is the largest batch: the minimum of max_num_seqs, the KV capacity and the step's
// token budget. Pipeline stages divide the sequences into as many batches, and the slowest stage determines
// how often a batch ends.
double StepTime::turn_s(const MeanTurn& turn,
                        const std::function<double(double tokens)>& sequences_at_once) const {
  const int64_t at_once = std::llround(sequences_at_once(turn.prompt_tokens + turn.output_tokens / 2));
  const int64_t drafts = speculation_ ? speculation_->drafts_of(std::min(serving_.max_num_seqs, at_once)) : 0;
  const double outputs = std::max(1.0, turn.output_tokens);
  // Number of steps in which a turn takes part.
  const double steps =
      std::max(1.0, speculation_ ? outputs / speculation_->acceptance_length(drafts) : outputs);
  const double context = turn.prompt_tokens + outputs / 2;
  const double rows_of_sequence = static_cast<double>(1 + drafts) + turn.computed_tokens / steps;
  const Pipeline pipeline(cost_, serving_.pipeline_parallel_size);
  const auto batches = static_cast<double>(pipeline.stages());
  const double most =
      std::min({static_cast<double>(serving_.max_num_seqs) / batches, sequences_at_once(context) / batches,
                static_cast<double>(serving_.max_num_batched_tokens) / rows_of_sequence});
  const double sequences = std::max(1.0, std::floor(most));
  const Decodes decodes{.sequences = static_cast<int64_t>(sequences),
                        .context_tokens = std::llround(sequences * context),
                        .drafts = static_cast<int64_t>(sequences) * drafts};
  const auto computed = std::max<int64_t>(1, std::llround(turn.computed_tokens));
  const PrefillChunk prompt{
      .new_tokens = computed,
      .cached_tokens = std::max<int64_t>(0, std::llround(turn.prompt_tokens) - computed)};
  const double decode_rows = sequences * static_cast<double>(1 + drafts);
  const double room = static_cast<double>(serving_.max_num_batched_tokens) - decode_rows;
  const double slice_rows = std::max(
      1.0, std::min(turn.computed_tokens, static_cast<double>(serving_.slice_budget(std::llround(room)))));
  // Other ranks are assumed to have the same load.
  const auto linear_s = [this](double rows) {
    const int64_t own = std::llround(rows);
    return cost_.linear_layer_s(own, (cost_.placement().ranks - 1) * own);
  };
  const double layer_s =
      linear_of_steps_s(decode_rows, turn.computed_tokens * sequences / steps, slice_rows, linear_s) +
      cost_.decode_attentions_layer_s(decodes.sequences, decodes.queries()).at_s(sequences * context) +
      sequences / steps * cost_.attention_layer_s(prompt);
  double gpu_s = pipeline.largest_share() * static_cast<double>(cost_.model().num_hidden_layers) * layer_s +
                 cost_.head_s(decodes.rows());
  const double decoding_s = drafter_s({}, decodes);
  gpu_s += decoding_s + sequences / steps * (drafter_s({&prompt, 1}, decodes) - decoding_s);
  return steps / sequences * (step_s(gpu_s, host_s(static_cast<std::size_t>(sequences))) + draft_step_s());
}

}  // namespace kvcap
