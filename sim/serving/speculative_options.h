// Speculative decoding, as a scenario describes it: something cheap drafts tokens, and one step of the model
// verifies them all.
#pragma once

#include <cstdint>
#include <optional>

#include "base/names.h"
#include "spec/model_spec.h"

namespace kvcap {

// Who drafts. ngram: the host, from the sequence itself. layers: layers of the model's own kind behind it
// (MTP, EAGLE), which share its embedding and output projection. draft_model: a smaller model.
enum class DraftMethod : uint8_t { ngram, layers, draft_model };
inline constexpr std::string_view kDraftMethodNames[] = {"ngram", "layers", "draft_model"};
constexpr Names names_of(DraftMethod) { return kDraftMethodNames; }

struct SpeculativeOptions {
  DraftMethod method = DraftMethod::ngram;
  int64_t draft_tokens = 0;  // that a step verifies behind a sequence's next token; 0: no speculation
  // Tokens that a step yields of a sequence in the mean, the verifier's own one included: 1 + accepted drafts
  // (vLLM's "mean acceptance length"). From 1 to draft_tokens + 1.
  std::optional<double> acceptance_length;
  // Or the share of drafted tokens that is accepted (vLLM's "draft acceptance rate"): the length is 1 +
  // draft_tokens times it.
  std::optional<double> acceptance_rate;
  std::optional<int64_t> draft_layers;   // layers; absent: 1
  std::optional<ModelSpec> draft_model;  // draft_model; divided over the same GPUs as the model
  double draft_step_s = 0;               // of a step, beside what the drafter's passes take
};

}  // namespace kvcap
