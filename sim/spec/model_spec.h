// ModelSpec: the shape of a decoder-only model, from models/*.json or a Hugging Face config.json, and the
// sizes that follow from it. All sizes are for the whole model (cost/ divides them for tensor parallelism).
// Notation as in papers: L layers, D hidden size, h query heads, g KV heads, d head size, b bytes per
// element.
//
// The layers that mix tokens (attention, recurrence) form groups. All layers of a group keep the same state
// of a context:
//
//   full       keys and values of every token
//   latent     one latent and one rotary key of every token (MLA), and an indexer's keys if it has one
//   sliding    keys and values of the newest `window_tokens` tokens
//   chunked    keys and values of the tokens since the last multiple of `window_tokens`
//   recurrent  one state of fixed size, for any length (Mamba, gated delta rule)
//
// A context of n tokens takes n * kv_bytes_per_token + window_bytes(n) + recurrent_state_bytes bytes.
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

// Norm of queries and keys before attention: per head (Qwen3, Gemma 3), or over all heads (MiniMax-M2), in
// which case the GPUs that divide the heads must all-reduce the sums of squares.
enum class QkNorm : uint8_t { none, head, all_heads };
inline constexpr std::string_view kQkNormNames[] = {"none", "head", "all_heads"};
constexpr Names names_of(QkNorm) { return kQkNormNames; }

// A mixture of experts: each token passes through `active` of `count` routed experts and all `shared` ones.
struct Experts {
  int64_t count = 0;
  int64_t active = 0;
  int64_t shared = 0;
  int64_t intermediate_size = 0;  // per routed expert
  int64_t dense_layers = 0;       // layers that have a dense FFN of ModelSpec::intermediate_size instead
  int64_t shared_intermediate_size = 0;  // per shared expert; 0: like a routed one
  // Width of the routed experts' input and output, which are projected from and to the model's width; 0: the
  // model's width, without projections.
  int64_t hidden_size = 0;
  // Formats of the routed experts; absent: those of the model.
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

// Sparse attention over latents (DeepSeek-V3.2): a small key per token selects the `top_k` tokens that a
// query attends to. These keys are a separate cache.
struct Indexer {
  int64_t layers = 0;  // layers of the group that have keys of their own; 0: all
  int64_t heads = 64;
  int64_t head_dim = 128;
  double bytes_per_token = 132;  // per layer: an 8-bit key of 128 elements and its 4-byte scale
  int64_t top_k = 2048;
};

// The state of a recurrent layer: `heads` matrices of head_dim x state_size, and the last inputs of a causal
// convolution over heads * head_dim + 2 * groups * state_size channels. Mamba-2: d_inner = heads * head_dim,
// groups share B and C. Gated delta rule: heads = value heads, head_dim of a value, state_size of a key,
// groups = key heads. Mamba-1: one head, head_dim = d_inner, no groups, dt_rank > 0.
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
  double bytes() const;  // one layer, one sequence
};

enum class AttentionKind : uint8_t { full, sliding, chunked, latent, recurrent };
inline constexpr std::string_view kAttentionKindNames[] = {"full", "sliding", "chunked", "latent",
                                                           "recurrent"};
constexpr Names names_of(AttentionKind) { return kAttentionKindNames; }

// Layers that keep the same state. Zeros and absent values in a file mean the model's values;
// ModelSpec::groups() fills these in.
struct LayerGroup {
  int64_t layers = 0;
  AttentionKind attention = AttentionKind::full;
  // sliding: number of newest tokens to which a token attends, including itself; chunked: tokens per chunk
  int64_t window_tokens = 0;
  int64_t num_attention_heads = 0;
  int64_t num_key_value_heads = 0;
  int64_t head_dim = 0;          // queries and keys
  int64_t value_head_dim = 0;    // values; 0: head_dim
  bool keys_are_values = false;  // one stored copy serves as both
  double kv_bytes_per_element = 0;
  std::optional<double> kv_bytes_per_token;  // per layer, if a format stores more than the elements
  std::optional<LatentAttention> latent;
  std::optional<Indexer> indexer;
  std::optional<RecurrentState> recurrent;

  // Sizes per layer. REQUIRES for all functions below: the group comes from ModelSpec::groups().
  int64_t kv_elements_per_token() const;  // 0 for recurrent layers
  double kv_bytes_per_token_layer() const;
  // Returns how many of its n = `tokens` tokens a sequence keeps: all; min(n, w) with a window of w tokens; n
  // mod c with chunks of c tokens (c if n mod c is 0); or none in recurrent layers.
  int64_t kept_tokens(int64_t tokens) const;
  bool keeps_all() const { return attention == AttentionKind::full || attention == AttentionKind::latent; }
  bool keeps_window() const {
    return attention == AttentionKind::sliding || attention == AttentionKind::chunked;
  }
};

inline constexpr std::size_t kMostLayerGroups = 8;

inline constexpr std::string_view kDtypeNames[] = {"float16",       "bfloat16",    "float32",
                                                   "float8_e4m3fn", "float8_e5m2", "int8"};

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
  std::string torch_dtype = "float16";  // one of kDtypeNames
  FfnKind ffn = FfnKind::gated;
  PositionEncoding position_encoding = PositionEncoding::rope;
  QkNorm qk_norm = QkNorm::none;
  bool tie_word_embeddings = false;
  bool attention_output_gate = false;  // a second query projection yields a gate (Qwen3.5)
  // Format of the weights that no field below covers: the FFNs, and everything whose field is absent.
  double weight_bytes_per_element = 2;
  int64_t weight_block_size = 0;        // side of the square blocks of weights that share a scale; 0: none
  double kv_bytes_per_element = 2;      // stored keys and values, or the MLA latent
  double hidden_bytes_per_element = 2;  // activations and stored hidden states
  // Inputs of the layers' GEMMs: 1 for FP8 arithmetic (W8A8), 0.5 for FP4. Absent: like hidden states;
  // quantised weights are then expanded before the multiplication.
  std::optional<double> activation_bytes_per_element;
  // Formats of attention and recurrent layers, if these differ from the FFNs.
  std::optional<double> attention_weight_bytes_per_element, attention_activation_bytes_per_element;
  // Embedding and output projection; absent: like the weights.
  std::optional<double> embedding_bytes_per_element;
  std::optional<double> output_bytes_per_element;  // output projection; absent: like the embedding
  // Parameters of a vision tower and its projector, in 16 bits. They are loaded, but text does not use them.
  double vision_parameters = 0;
  // Layers that predict further tokens (MTP): part of the checkpoint, loaded only for drafting.
  int64_t draft_layers = 0;
  // Bytes of the checkpoint minus those that follow from shapes and formats; may be negative.
  double uncounted_weight_bytes = 0;
  std::optional<Experts> experts;
  std::optional<LatentAttention> latent;
  std::vector<LayerGroup> layer_groups;  // empty: all layers are full, or latent if `latent` is given
  // Number of layers with an FFN; absent: all. Nemotron-H counts mixers and FFNs as separate layers.
  std::optional<int64_t> ffn_layers;
  std::optional<Sampling> sampling;  // suggested by the publisher (generation_config.json)
  std::string hugging_face;          // names on Hugging Face, separated by spaces
  std::string source;

  // Returns the groups of layers that mix tokens, with every shape filled in; at least one.
  std::vector<LayerGroup> groups() const;
  bool is_uniform() const { return layer_groups.empty(); }  // one group of all layers
  bool is_recurrent() const;                                // at least one layer is recurrent
  int64_t layers_with_ffn() const { return ffn_layers.value_or(num_hidden_layers); }

  // Returns the bytes of the hidden state of one token at one layer: D b.
  double hidden_bytes_per_token_layer() const;
  // Returns the elements of keys and values of one token at one layer: 2 g d, or latent + rotary key for MLA.
  // For a model with groups, these are the elements in the first group that keeps all tokens or, if there is
  // none, in the first group.
  int64_t kv_elements_per_token_layer() const;
  double kv_bytes_per_token_layer() const;
  // Returns the bytes that every token adds permanently in all full and latent layers: sum of L 2 g d b.
  double kv_bytes_per_token() const;
  // Returns the bytes that a sequence of `tokens` tokens keeps in sliding and chunked layers: sum of L min(n,
  // w) 2 g d b.
  double window_bytes(int64_t tokens) const;
  // Returns the bytes per kept token in all sliding and chunked layers.
  double window_bytes_per_token() const;
  // Returns the bytes of a sequence's state in all recurrent layers, which is also the size of a checkpoint.
  double recurrent_state_bytes() const;
  // Returns all bytes of a context.
  double context_bytes(int64_t tokens) const;

  // Return the bytes per element of GEMM inputs, of the embedding and of the output projection.
  double gemm_input_bytes_per_element() const;
  double embedding_weight_bytes_per_element() const;
  double head_weight_bytes_per_element() const;

  // Return the parameters and bytes of the whole model: all experts, tied embeddings once, and the vision
  // tower.
  double parameter_count() const;
  double weight_bytes() const;
  double counted_weight_bytes() const;  // the part derived from shapes and formats
  double routed_weight_bytes() const;   // the part of all routed experts
  // Return the parameters and bytes of `draft_layers`, which the totals above exclude. Their weights are
  // assumed to have the average format.
  double draft_parameter_count() const;
  double draft_weight_bytes() const;
};

}  // namespace kvcap
