// Options of speculative decoding in a scenario: a cheap drafter proposes tokens, and one step of the model
// verifies them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/text/names.h"
#include "spec/model_spec.h"

namespace kvcap {

// The source of drafts. ngram: the host, from the sequence itself. layers: additional layers of the model's
// own kind (MTP, EAGLE), which share its embedding and output projection. draft_model: a smaller model.
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

// A step with `from_sequences` sequences or more drafts `draft_tokens` tokens for each of them.
struct DraftsOfBatch {
  int64_t from_sequences = 1;
  int64_t draft_tokens = 0;
};

struct SpeculativeOptions {
  DraftMethod method = DraftMethod::ngram;
  int64_t draft_tokens = 0;  // drafts per sequence that a step verifies; 0: no speculation
  // Fewer drafts in larger batches; the last row that applies counts, at most draft_tokens. Empty:
  // draft_tokens in every step. vLLM's num_speculative_tokens_per_batch_size
  // (docs/features/speculative_decoding/dynamic_speculative_decoding.md@015a47e).
  std::vector<DraftsOfBatch> drafts_by_batch;
  // One of the next three gives the acceptance; without them kAssumedAcceptances does.
  //
  // Probability that a draft and all before it are accepted, by its position: vLLM's
  // spec_decode_num_accepted_tokens_per_pos over spec_decode_num_drafts. Further positions continue with the
  // ratio of the last two.
  std::optional<std::vector<double>> acceptance_by_position;
  // Mean tokens per step and sequence, including the verifier's own: 1 + accepted drafts (vLLM's "mean
  // acceptance length"). From 1 to draft_tokens + 1.
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

// Returns the r that solves 1 + r + ... + r^k = a. REQUIRES: 1 <= acceptance_length <= draft_tokens + 1.
double solve_chance(int64_t draft_tokens, double acceptance_length);
// Returns the acceptance length if each draft is accepted with probability `chance` after accepted ones.
double acceptance_length_of(int64_t draft_tokens, double chance);

// Returns, for each position of draft_tokens, the probability that its draft and all before it are accepted,
// as given or assumed.
std::vector<double> chances_of(const SpeculativeOptions& options, const ModelSpec& model);
// Returns the mean tokens per step with draft_tokens drafts, as given or assumed.
double mean_tokens_of_step(const SpeculativeOptions& options, const ModelSpec& model);
// Returns how many tokens a step with `sequences` sequences drafts for each.
int64_t drafts_of_batch(const SpeculativeOptions& options, int64_t sequences);

}  // namespace kvcap
