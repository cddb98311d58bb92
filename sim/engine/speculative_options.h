// Options of speculative decoding in a scenario: a cheap drafter proposes tokens, and one step of the model
// verifies them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/text/names.h"
#include "spec/model_spec.h"

namespace kvcap {

// What drafts. ngram: the host, from the sequence itself. layers: additional layers of the model's own kind
// (MTP, EAGLE), which share its embedding and output projection. draft_model: a smaller model.
enum class DraftMethod : uint8_t { ngram, layers, draft_model };
inline constexpr std::string_view kDraftMethodNames[] = {"ngram", "layers", "draft_model"};
constexpr Names names_of(DraftMethod) { return kDraftMethodNames; }

// Acceptance that is assumed if none is given, at the low end of published values: the probability that a
// step's first draft is accepted, and that a further one is if all before it are.
struct AssumedAcceptance {
  std::string_view drafter;
  double first = 0, next = 0;
  std::string_view source;
};
// Rows by DraftMethod; the last is for layers from the model's own checkpoint.
inline constexpr AssumedAcceptance kAssumedAcceptances[] = {
    {"n-grams", 0.27, 0.27,
     "TensorRT-LLM's tech blog 7 on n-grams: 1.37 tokens per step in the first turns of chats"},
    {"EAGLE heads", 0.6, 0.46,
     "vllm-project/vllm#16035: 1.89 tokens with 2 drafts, 2.08 with 4 (EAGLE, MT-bench); arXiv 2602.23881: "
     "2.46 with 7 (EAGLE-3, gpt-oss-120b)"},
    {"a draft model", 0.53, 0.53, "arXiv 2211.17192, table 2: 0.53 to 0.75 with T5-small for T5-XXL"},
    {"MTP layers", 0.76, 0.65,
     "DeepSeek-V3 report, section 5.4.3: 0.85 to 0.90 with one draft; vllm-project/vllm#48892: 0.76 to 0.83; "
     "arXiv 2602.23881: 3.09 tokens with 7 drafts"},
};

inline constexpr int64_t kDraftLayers = 1;

struct SpeculativeOptions {
  DraftMethod method = DraftMethod::ngram;
  int64_t draft_tokens = 0;  // drafts per sequence that a step verifies; 0: no speculation
  // Mean tokens per step and sequence, including the verifier's own: 1 + accepted drafts (vLLM's "mean
  // acceptance length"). From 1 to draft_tokens + 1. If this and the rate are absent: kAssumedAcceptances.
  std::optional<double> acceptance_length;
  // Alternative: the share of accepted drafts (vLLM's "draft acceptance rate"). The length is then 1 +
  // draft_tokens times the rate.
  std::optional<double> acceptance_rate;
  std::optional<int64_t> draft_layers;   // for `layers`; absent: kDraftLayers
  std::optional<ModelSpec> draft_model;  // for `draft_model`; divided over the same GPUs as the model
  double draft_step_s = 0;               // seconds per step besides the drafter's passes
};

inline const AssumedAcceptance& assumed_acceptance(const SpeculativeOptions& options,
                                                   const ModelSpec& model) {
  const bool is_own =
      options.method == DraftMethod::layers && !options.draft_layers && model.draft_layers > 0;
  return kAssumedAcceptances[is_own ? 3 : static_cast<std::size_t>(options.method)];
}

// Returns the mean tokens per step, as given or assumed.
double mean_tokens_of_step(const SpeculativeOptions& options, const ModelSpec& model);

}  // namespace kvcap
