// ModelSpec: the shape of a decoder-only model, as models/*.json or a Hugging Face config.json give it, and
// the sizes that follow from the shape alone. Plain values; all sizes are for the whole model (tensor
// parallelism divides them in cost/). Notation of the papers: L layers, D hidden size, h query heads, g KV
// heads, d head size, b bytes per element.
//
// The layers that mix tokens form groups. All layers of a group keep the same state of a context:
//
//   full       keys and values of every token
//   latent     one latent and one rotary key of every token (MLA), perhaps with an indexer's keys
//   sliding    keys and values of the newest `window_tokens` tokens
//   chunked    keys and values of the tokens since the last multiple of `window_tokens`
//   recurrent  one state of fixed size, whatever the length (Mamba, gated delta rule)
//
// What a context of n tokens takes: n * kv_bytes_per_token + window_bytes(n) + recurrent_state_bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/names.h"
#include "spec/sampling.h"

namespace kvcap {

enum class FfnKind : uint8_t { gated, plain };  // three matrices (gate, up, down) or two
inline constexpr std::string_view kFfnNames[] = {"gated", "plain"};
constexpr Names names_of(FfnKind) { return kFfnNames; }
enum class PositionEncoding : uint8_t { rope, alibi, absolute };
inline constexpr std::string_view kPositionNames[] = {"rope", "alibi", "absolute"};
constexpr Names names_of(PositionEncoding) { return kPositionNames; }

// A norm of queries and keys before attention: of every head by itself (Qwen3, Gemma 3), or over all heads,
// whose squares GPUs that share them have to add up (MiniMax-M2).
enum class QkNorm : uint8_t { none, head, all_heads };
inline constexpr std::string_view kQkNormNames[] = {"none", "head", "all_heads"};
constexpr Names names_of(QkNorm) { return kQkNormNames; }

// A mixture of experts: each token goes through `active` of `count` routed experts and `shared` ones.
struct Experts {
  int64_t count = 0;
  int64_t active = 0;
  int64_t shared = 0;
  int64_t intermediate_size = 0;  // of one routed expert
  int64_t dense_layers = 0;       // layers that have a dense FFN of ModelSpec::intermediate_size instead
  int64_t shared_intermediate_size = 0;  // of one shared expert; 0: as a routed one
  int64_t hidden_size = 0;  // that routed experts work on, projected down to and up from; 0: the model's
  // Of routed experts; absent: the model's.
  std::optional<double> weight_bytes_per_element, activation_bytes_per_element;

  int64_t shared_width() const {
    return shared * (shared_intermediate_size > 0 ? shared_intermediate_size : intermediate_size);
  }
};

// Multi-head latent attention (DeepSeek-V2): the cache holds one latent and one rotary key per token.
struct LatentAttention {
  int64_t kv_lora_rank = 0;
  int64_t q_lora_rank = 0;  // 0: queries are projected directly
  int64_t qk_rope_head_dim = 64;
  int64_t qk_nope_head_dim = 128;
  int64_t v_head_dim = 128;
};

// Sparse attention over latents (DeepSeek-V3.2): a small key of every token says which `top_k` tokens a query
// attends to. Its keys are a cache of their own.
struct Indexer {
  int64_t layers = 0;  // of the group's layers that have keys of their own; 0: all
  int64_t heads = 64;
  int64_t head_dim = 128;
  double bytes_per_token = 132;  // of one layer: an 8-bit key of 128 elements and its 4-byte scale
  int64_t top_k = 2048;
};

// The state of a recurrent layer: `heads` matrices of head_dim x state_size, and the last inputs of a causal
// convolution over heads * head_dim + 2 * groups * state_size channels. Mamba-2: d_inner = heads * head_dim,
// groups share B and C. Gated delta rule: value heads, head_dim of a value, state_size of a key, groups = key
// heads. Mamba-1: one head, head_dim = d_inner, no groups, dt_rank > 0.
struct RecurrentState {
  int64_t heads = 0;
  int64_t head_dim = 0;
  int64_t state_size = 0;
  int64_t groups = 0;
  int64_t conv_kernel = 4;
  int64_t dt_rank = 0;
  double state_bytes_per_element = 4;
  double conv_bytes_per_element = 2;

  int64_t inner_width() const { return heads * head_dim; }
  int64_t conv_channels() const { return inner_width() + 2 * groups * state_size; }
  double bytes() const;  // of one layer and sequence
};

enum class AttentionKind : uint8_t { full, sliding, chunked, latent, recurrent };
inline constexpr std::string_view kAttentionKindNames[] = {"full", "sliding", "chunked", "latent",
                                                           "recurrent"};
constexpr Names names_of(AttentionKind) { return kAttentionKindNames; }

// Layers that keep the same state. Zeros and absent values in a file are the model's own; ModelSpec::groups()
// has them filled in.
struct LayerGroup {
  int64_t layers = 0;
  AttentionKind attention = AttentionKind::full;
  int64_t window_tokens = 0;  // sliding: the newest tokens that a token sees, itself included; chunked: chunk
  int64_t num_attention_heads = 0;
  int64_t num_key_value_heads = 0;
  int64_t head_dim = 0;          // of queries and keys
  int64_t value_head_dim = 0;    // of values; 0: head_dim
  bool keys_are_values = false;  // one copy serves as both
  double kv_bytes_per_element = 0;
  std::optional<double> kv_bytes_per_token;  // of one layer, where a format packs more than elements
  std::optional<LatentAttention> latent;
  std::optional<Indexer> indexer;
  std::optional<RecurrentState> recurrent;

  // REQUIRES, of all below: the group comes from ModelSpec::groups(). For one layer.
  int64_t kv_elements_per_token() const;  // 0 for recurrent layers
  double kv_bytes_per_token_layer() const;
  // Kept tokens of a sequence of `tokens` tokens: all, min(n, w), n mod c (c where that is 0), or none.
  int64_t kept_tokens(int64_t tokens) const;
  bool keeps_all() const { return attention == AttentionKind::full || attention == AttentionKind::latent; }
  bool keeps_window() const {
    return attention == AttentionKind::sliding || attention == AttentionKind::chunked;
  }
};

inline constexpr std::size_t kMostLayerGroups = 8;

struct ModelSpec {
  std::string name;
  int64_t num_hidden_layers = 0;
  int64_t hidden_size = 0;
  int64_t num_attention_heads = 0;
  int64_t num_key_value_heads = 0;
  int64_t head_dim = 0;
  int64_t intermediate_size = 0;
  int64_t vocab_size = 0;
  int64_t max_position_embeddings = 0;
  std::string torch_dtype = "float16";
  FfnKind ffn = FfnKind::gated;
  PositionEncoding position_encoding = PositionEncoding::rope;
  QkNorm qk_norm = QkNorm::none;
  bool tie_word_embeddings = false;
  bool attention_output_gate = false;  // queries are projected twice: once more for a gate (Qwen3.5)
  // Of what none of the fields below names: the FFNs, and all else where they are absent.
  double weight_bytes_per_element = 2;
  double kv_bytes_per_element = 2;      // of stored keys and values, or of the MLA latent
  double hidden_bytes_per_element = 2;  // of activations, and so of stored hidden states
  // Of what enters the layers' GEMMs: 1 for FP8 arithmetic (W8A8), 0.5 for FP4; absent: as hidden states,
  // and quantised weights are expanded before they are multiplied.
  std::optional<double> activation_bytes_per_element;
  // Of attention and recurrent layers, where they are stored unlike the FFNs.
  std::optional<double> attention_weight_bytes_per_element, attention_activation_bytes_per_element;
  std::optional<double> embedding_bytes_per_element;  // and of the output projection; absent: as weights
  std::optional<double> output_bytes_per_element;     // of the output projection; absent: as the embedding
  double vision_parameters =
      0;  // of a vision tower and its projector, in 16 bits: loaded, not passed by text
  // Layers that predict further tokens (MTP): in the checkpoint, and loaded only where they draft.
  int64_t draft_layers = 0;
  double uncounted_weight_bytes =
      0;  // that the checkpoint has beside what shapes and formats count, or lacks
  std::optional<Experts> experts;
  std::optional<LatentAttention> latent;
  std::vector<LayerGroup> layer_groups;  // empty: all layers are full, or latent where `latent` is given
  // Layers with an FFN; absent: all. Nemotron-H counts mixers and FFNs as layers of their own.
  std::optional<int64_t> ffn_layers;
  std::optional<Sampling> sampling;  // that the publisher proposes (generation_config.json)
  std::string hugging_face;          // its names there, with spaces between
  std::string source;

  // The layers that mix tokens, with every shape filled in; at least one group.
  std::vector<LayerGroup> groups() const;
  bool is_uniform() const { return layer_groups.empty(); }  // one group of all layers
  bool is_recurrent() const;                                // some layers are
  int64_t layers_with_ffn() const { return ffn_layers.value_or(num_hidden_layers); }

  // Hidden state of one token at one layer: D b.
  double hidden_bytes_per_token_layer() const;
  // Elements of keys and values of one token at one layer: 2 g d, or latent + rotary key for MLA. Of a model
  // in groups: of its first group that keeps all tokens, or else of the first.
  int64_t kv_elements_per_token_layer() const;
  double kv_bytes_per_token_layer() const;
  // What every token adds for good, in all full and latent layers: sum of L 2 g d b.
  double kv_bytes_per_token() const;
  // What a sequence of `tokens` tokens keeps besides, in sliding and chunked layers: sum of L min(n, w) 2 g d
  // b.
  double window_bytes(int64_t tokens) const;
  // Of a sequence in all sliding and chunked layers for each token, as long as it is kept.
  double window_bytes_per_token() const;
  // State of a sequence in all recurrent layers; as much as one checkpoint of it.
  double recurrent_state_bytes() const;
  // All of it.
  double context_bytes(int64_t tokens) const;

  // Bytes of an element of what enters a GEMM, and of the embedding and the output projection.
  double gemm_input_bytes_per_element() const;
  double embedding_weight_bytes_per_element() const;
  double head_weight_bytes_per_element() const;

  // Weights of the whole model (all experts, embeddings once when tied, its vision tower) and its bytes.
  double parameter_count() const;
  double weight_bytes() const;
  double counted_weight_bytes() const;  // of it, by shapes and formats
  double routed_weight_bytes() const;   // of it, of all routed experts
  // Of `draft_layers`, none of which are in the others; stored as the rest is in the mean.
  double draft_parameter_count() const;
  double draft_weight_bytes() const;
};

}  // namespace kvcap
