#include "engine/speculation/speculation.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace kvcap {

int64_t tokens_of_step(double uniform, int64_t drafts, std::span<const double> chances) {
  int64_t accepted = 0;
  while (accepted < drafts && uniform < chances[static_cast<std::size_t>(accepted)]) ++accepted;
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
    : options_(options), chances_(chances_of(options, model)), stream_(seed, "speculation") {
  KVCAP_CHECK(options_.draft_tokens > 0);
  if (const std::optional<ModelSpec> drafter = drafter_of(options, model)) {
    drafter_ = std::make_unique<CostModel>(*drafter, hardware, tensor_parallel_size,
                                           placement_of(*drafter, placement));
  }
}

double Speculation::acceptance_length(int64_t drafts) const {
  return std::accumulate(chances_.begin(), chances_.begin() + drafts, 1.0);
}

int64_t Speculation::tokens(uint32_t session, uint32_t turn, int64_t position, int64_t drafts) const {
  if (drafts == 0) return 1;
  const uint64_t of_turn = (static_cast<uint64_t>(session) << 32) | turn;
  return tokens_of_step(stream_.uniform(of_turn, static_cast<uint64_t>(position)), drafts, chances_);
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
  const int64_t passes = drafts_of(sequences);
  for (int64_t pass = 1; pass < passes; ++pass) {
    const double keys = static_cast<double>(context_tokens + pass * sequences);
    sum_s += layers * (drafter_->linear_layer_s(sequences, others * sequences) +
                       drafter_->decode_attentions_layer_s(sequences).at_s(keys)) +
             drafter_->head_s(sequences);
  }
  return sum_s;
}

}  // namespace kvcap
