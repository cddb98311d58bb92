// ModelSpec: the shape of a decoder-only transformer, as models/*.json or a Hugging Face config.json give
// it, and the sizes that follow from the shape alone. Plain values; all sizes are for the whole model
// (tensor parallelism divides them in cost/). Notation of the papers: L layers, D hidden size, h query
// heads, g KV heads, d head size, b bytes per element.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kvcap {

enum class FfnKind : uint8_t { gated, plain };  // three matrices (gate, up, down) or two
enum class PositionEncoding : uint8_t { rope, alibi, absolute };

// A mixture of experts: each token goes through `active` of `count` routed experts and `shared` ones.
struct Experts {
  int64_t count = 0;
  int64_t active = 0;
  int64_t shared = 0;
  int64_t intermediate_size = 0;  // of one expert
  int64_t dense_layers = 0;       // leading layers that keep a dense FFN of ModelSpec::intermediate_size
};

// Multi-head latent attention (DeepSeek-V2): the cache holds one latent and one rotary key per token.
struct LatentAttention {
  int64_t kv_lora_rank = 0;
  int64_t q_lora_rank = 0;  // 0: queries are projected directly
  int64_t qk_rope_head_dim = 64;
  int64_t qk_nope_head_dim = 128;
  int64_t v_head_dim = 128;
};

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
  bool tie_word_embeddings = false;
  double weight_bytes_per_element = 2;
  double kv_bytes_per_element = 2;      // of stored keys and values, or of the MLA latent
  double hidden_bytes_per_element = 2;  // of activations, and so of stored hidden states
  // Of what enters the layers' GEMMs: 1 for FP8 arithmetic (W8A8), 0.5 for FP4; absent: as hidden states,
  // and quantised weights are expanded before they are multiplied.
  std::optional<double> activation_bytes_per_element;
  std::optional<double> embedding_bytes_per_element;  // and of the output projection; absent: as weights
  std::optional<Experts> experts;
  std::optional<LatentAttention> latent;
  std::string source;

  // Hidden state of one token at one layer: D b.
  double hidden_bytes_per_token_layer() const;
  // Elements of keys and values of one token at one layer: 2 g d, or latent + rotary key for MLA.
  int64_t kv_elements_per_token_layer() const;
  // KV cache of one token at one layer and of all layers.
  double kv_bytes_per_token_layer() const;
  double kv_bytes_per_token() const;

  // Bytes of an element of what enters a GEMM, and of the embedding and the output projection.
  double gemm_input_bytes_per_element() const;
  double head_weight_bytes_per_element() const;

  // Weights of the whole model (all experts, embeddings once when tied) and its bytes.
  double parameter_count() const;
  double weight_bytes() const;
};

}  // namespace kvcap
