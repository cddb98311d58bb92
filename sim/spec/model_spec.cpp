#include "spec/model_spec.h"

#include <algorithm>

namespace kvcap {
namespace {

double ffn_parameters(const ModelSpec& model, double intermediate_size) {
  const double matrices = model.ffn == FfnKind::gated ? 3 : 2;
  return matrices * static_cast<double>(model.hidden_size) * intermediate_size;
}

// Projections of latent attention as DeepSeek-V2 names them: q (or q_a, its norm and q_b), kv_a, its norm,
// kv_b, o.
double latent_attention_parameters(const ModelSpec& model, const LatentAttention& latent) {
  const auto hidden = static_cast<double>(model.hidden_size);
  const auto heads = static_cast<double>(model.num_attention_heads);
  const auto kv_rank = static_cast<double>(latent.kv_lora_rank);
  const auto q_rank = static_cast<double>(latent.q_lora_rank);
  const auto rope = static_cast<double>(latent.qk_rope_head_dim);
  const auto nope = static_cast<double>(latent.qk_nope_head_dim);
  const auto value = static_cast<double>(latent.v_head_dim);
  const double query_width = heads * (nope + rope);
  const double query = q_rank > 0 ? hidden * q_rank + q_rank + q_rank * query_width : hidden * query_width;
  return query + hidden * (kv_rank + rope) + kv_rank + kv_rank * heads * (nope + value) +
         heads * value * hidden;
}

double attention_parameters(const ModelSpec& model) {
  if (model.latent) return latent_attention_parameters(model, *model.latent);
  const auto hidden = static_cast<double>(model.hidden_size);
  const auto width = static_cast<double>((2 * model.num_attention_heads + 2 * model.num_key_value_heads) *
                                         model.head_dim);  // Q and O, K and V
  return hidden * width;
}

// The embedding and the output projection, once when tied.
double embedding_parameters(const ModelSpec& model) {
  return static_cast<double>(model.vocab_size) * static_cast<double>(model.hidden_size) *
         (model.tie_word_embeddings ? 1 : 2);
}

// FFNs of all layers, with routers and all experts.
double all_ffn_parameters(const ModelSpec& model) {
  const auto layers = static_cast<double>(model.num_hidden_layers);
  const double dense = ffn_parameters(model, static_cast<double>(model.intermediate_size));
  if (!model.experts) return layers * dense;
  const Experts& experts = *model.experts;
  const auto dense_layers = static_cast<double>(std::min(experts.dense_layers, model.num_hidden_layers));
  const double router = static_cast<double>(model.hidden_size) * static_cast<double>(experts.count);
  const double expert = ffn_parameters(model, static_cast<double>(experts.intermediate_size));
  const double sparse = router + static_cast<double>(experts.count + experts.shared) * expert;
  return dense_layers * dense + (layers - dense_layers) * sparse;
}

}  // namespace

double ModelSpec::hidden_bytes_per_token_layer() const {
  return static_cast<double>(hidden_size) * hidden_bytes_per_element;
}

int64_t ModelSpec::kv_elements_per_token_layer() const {
  if (latent) return latent->kv_lora_rank + latent->qk_rope_head_dim;
  return 2 * num_key_value_heads * head_dim;
}

double ModelSpec::kv_bytes_per_token_layer() const {
  return static_cast<double>(kv_elements_per_token_layer()) * kv_bytes_per_element;
}

double ModelSpec::kv_bytes_per_token() const {
  return static_cast<double>(num_hidden_layers) * kv_bytes_per_token_layer();
}

double ModelSpec::gemm_input_bytes_per_element() const {
  return activation_bytes_per_element.value_or(hidden_bytes_per_element);
}

double ModelSpec::head_weight_bytes_per_element() const {
  return embedding_bytes_per_element.value_or(weight_bytes_per_element);
}

double ModelSpec::parameter_count() const {
  const auto layers = static_cast<double>(num_hidden_layers);
  const auto hidden = static_cast<double>(hidden_size);
  const double positions = position_encoding == PositionEncoding::absolute
                               ? static_cast<double>(max_position_embeddings) * hidden
                               : 0;
  const double norms = (2 * layers + 1) * hidden;
  return embedding_parameters(*this) + positions + norms + layers * attention_parameters(*this) +
         all_ffn_parameters(*this);
}

double ModelSpec::weight_bytes() const {
  const double embedding = embedding_parameters(*this);
  return (parameter_count() - embedding) * weight_bytes_per_element +
         embedding * head_weight_bytes_per_element();
}

}  // namespace kvcap
