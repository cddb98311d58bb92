#include "engine/speculation.h"

#include <algorithm>

#include "base/check.h"

namespace kvcap {

double acceptance_length_of(int64_t draft_tokens, double chance) {
  double length = 1, all_so_far = 1;
  for (int64_t i = 0; i < draft_tokens; ++i) {
    all_so_far *= chance;
    length += all_so_far;
  }
  return length;
}

// Solves by bisection, as the length grows with the probability; 60 halvings reach double precision.
double solve_chance(int64_t draft_tokens, double acceptance_length) {
  if (acceptance_length <= 1) return 0;
  double low = 0, high = 1;
  if (acceptance_length_of(draft_tokens, high) <= acceptance_length) return high;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (acceptance_length_of(draft_tokens, middle) < acceptance_length ? low : high) = middle;
  }
  return (low + high) / 2;
}

int64_t tokens_of_step(double uniform, int64_t drafts, double chance) {
  int64_t accepted = 0;
  for (double all_so_far = chance; accepted < drafts && uniform < all_so_far; all_so_far *= chance) {
    ++accepted;
  }
  return 1 + accepted;
}

std::optional<ModelSpec> drafter_of(const SpeculativeOptions& options, const ModelSpec& model) {
  if (options.draft_tokens == 0 || options.method == DraftMethod::ngram) return {};
  if (options.method == DraftMethod::draft_model) return options.draft_model;
  return model_of_layers(model, options.draft_layers.value_or(kDraftLayers));
}

// Returns the placement of the drafter's experts: that of the model.
static ExpertPlacement placement_of(const ModelSpec& drafter, const ExpertPlacement& placement) {
  return drafter.experts ? placement : ExpertPlacement();
}

DraftMemory draft_memory(const SpeculativeOptions& options, const ModelSpec& model,
                         int64_t tensor_parallel_size, const ExpertPlacement& placement) {
  const std::optional<ModelSpec> drafter = drafter_of(options, model);
  if (!drafter) return {};
  const bool shares = options.method == DraftMethod::layers;
  return draft_memory_of(*drafter, shares, tensor_parallel_size, placement_of(*drafter, placement));
}

Speculation::Speculation(const SpeculativeOptions& options, const ModelSpec& model,
                         const HardwareProfile& hardware, int64_t tensor_parallel_size, uint64_t seed,
                         const ExpertPlacement& placement)
    : method_(options.method),
      draft_tokens_(options.draft_tokens),
      chance_(solve_chance(options.draft_tokens, mean_tokens_of_step(options, model))),
      draft_step_s_(options.draft_step_s),
      stream_(seed, "speculation") {
  KVCAP_CHECK(draft_tokens_ > 0);
  if (const std::optional<ModelSpec> drafter = drafter_of(options, model)) {
    drafter_ = std::make_unique<CostModel>(*drafter, hardware, tensor_parallel_size,
                                           placement_of(*drafter, placement));
  }
}

int64_t Speculation::tokens(uint32_t session, uint32_t turn, int64_t position, int64_t drafts) const {
  if (drafts == 0) return 1;
  const uint64_t of_turn = (static_cast<uint64_t>(session) << 32) | turn;
  return tokens_of_step(stream_.uniform(of_turn, static_cast<uint64_t>(position)), drafts, chance_);
}

double Speculation::drafter_s(std::span<const PrefillChunk> chunks, const Decodes& decodes) const {
  if (!drafter_) return 0;
  const auto layers = static_cast<double>(drafter_->model().num_hidden_layers);
  int64_t rows = decodes.rows(), sequences = decodes.sequences, context_tokens = decodes.context_tokens;
  for (const PrefillChunk& chunk : chunks) {
    rows += chunk.new_tokens;
    ++sequences;
    context_tokens += chunk.cached_tokens + chunk.new_tokens;
  }
  if (sequences == 0) return 0;
  const double first_attention_s = drafter_->attention_layer_s(chunks) +
                                   drafter_->decode_attentions_layer_s(decodes.sequences, decodes.queries())
                                       .at_s(static_cast<double>(decodes.context_tokens));
  const int64_t others = drafter_->placement().ranks - 1;
  double sum_s = layers * (drafter_->linear_layer_s(rows, others * rows) + first_attention_s) +
                 drafter_->head_s(sequences);
  for (int64_t pass = 1; pass < draft_tokens_; ++pass) {
    const double keys = static_cast<double>(context_tokens + pass * sequences);
    sum_s += layers * (drafter_->linear_layer_s(sequences, others * sequences) +
                       drafter_->decode_attentions_layer_s(sequences).at_s(keys)) +
             drafter_->head_s(sequences);
  }
  return sum_s;
}

}  // namespace kvcap
