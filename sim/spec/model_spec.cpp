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

// Input projections (gate, x, B, C, and a step or two gates a head), convolution, output projection. Mamba-1
// projects x to B, C and a low-rank step instead.
double recurrent_parameters(const ModelSpec& model, const RecurrentState& state) {
  const auto hidden = static_cast<double>(model.hidden_size);
  const auto inner = static_cast<double>(state.inner_width());
  const auto shared = static_cast<double>(2 * state.groups * state.state_size);
  const auto rank = static_cast<double>(state.dt_rank);
  const double gates = rank > 0 ? 0 : static_cast<double>(state.heads);
  const double low_rank = rank > 0 ? inner * (2 * rank + 2 * static_cast<double>(state.state_size)) : 0;
  return hidden * (2 * inner + shared + gates) + low_rank + inner * hidden +
         static_cast<double>(state.conv_channels() * state.conv_kernel);
}

double attention_parameters(const ModelSpec& model, const LayerGroup& group) {
  if (group.recurrent) return recurrent_parameters(model, *group.recurrent);
  if (group.latent) return latent_attention_parameters(model, *group.latent);
  const auto hidden = static_cast<double>(model.hidden_size);
  const int64_t values = group.keys_are_values ? 0 : group.value_head_dim;
  const auto width = static_cast<double>(group.num_attention_heads * (group.head_dim + group.value_head_dim) +
                                         group.num_key_value_heads * (group.head_dim + values));
  return hidden * width;  // Q and O, K and V
}

double all_attention_parameters(const ModelSpec& model) {
  double sum = 0;
  for (const LayerGroup& group : model.groups()) {
    sum += static_cast<double>(group.layers) * attention_parameters(model, group);
  }
  return sum;
}

// The embedding and the output projection, once when tied.
double embedding_parameters(const ModelSpec& model) {
  return static_cast<double>(model.vocab_size) * static_cast<double>(model.hidden_size) *
         (model.tie_word_embeddings ? 1 : 2);
}

double routed_expert_parameters(const ModelSpec& model) {
  if (!model.experts) return 0;
  const Experts& experts = *model.experts;
  const int64_t layers = model.layers_with_ffn() - std::min(experts.dense_layers, model.layers_with_ffn());
  return static_cast<double>(layers * experts.count) *
         ffn_parameters(model, static_cast<double>(experts.intermediate_size));
}

// FFNs of all layers, with routers and all experts.
double all_ffn_parameters(const ModelSpec& model) {
  const auto layers = static_cast<double>(model.layers_with_ffn());
  const double dense = ffn_parameters(model, static_cast<double>(model.intermediate_size));
  if (!model.experts) return layers * dense;
  const Experts& experts = *model.experts;
  const auto dense_layers = static_cast<double>(std::min(experts.dense_layers, model.layers_with_ffn()));
  const double router = static_cast<double>(model.hidden_size) * static_cast<double>(experts.count);
  const double expert = ffn_parameters(model, static_cast<double>(experts.intermediate_size));
  const double sparse = router + static_cast<double>(experts.count) * expert +
                        ffn_parameters(model, static_cast<double>(experts.shared_width()));
  return dense_layers * dense + (layers - dense_layers) * sparse;
}

}  // namespace

double RecurrentState::bytes() const {
  return static_cast<double>(inner_width() * state_size) * state_bytes_per_element +
         static_cast<double>(conv_channels() * (conv_kernel - 1)) * conv_bytes_per_element;
}

// ---- groups ----

int64_t LayerGroup::kv_elements_per_token() const {
  if (recurrent) return 0;
  if (latent) return latent->kv_lora_rank + latent->qk_rope_head_dim;
  return num_key_value_heads * (keys_are_values ? head_dim : head_dim + value_head_dim);
}

double LayerGroup::kv_bytes_per_token_layer() const {
  double bytes =
      kv_bytes_per_token.value_or(static_cast<double>(kv_elements_per_token()) * kv_bytes_per_element);
  if (indexer) {
    const int64_t own = indexer->layers > 0 ? indexer->layers : layers;
    bytes += indexer->bytes_per_token * static_cast<double>(own) / static_cast<double>(layers);
  }
  return bytes;
}

int64_t LayerGroup::kept_tokens(int64_t tokens) const {
  switch (attention) {
    case AttentionKind::full:
    case AttentionKind::latent:
      return tokens;
    case AttentionKind::sliding:
      return std::min(tokens, window_tokens);
    case AttentionKind::chunked:
      return tokens == 0 ? 0 : (tokens - 1) % window_tokens + 1;
    case AttentionKind::recurrent:
      return 0;
  }
  return tokens;
}

std::vector<LayerGroup> ModelSpec::groups() const {
  std::vector<LayerGroup> groups = layer_groups;
  if (groups.empty()) {
    groups.push_back(
        {.layers = num_hidden_layers, .attention = latent ? AttentionKind::latent : AttentionKind::full});
  }
  const auto fill = [](auto& value, auto own) {
    if (value == 0) value = own;
  };
  for (LayerGroup& group : groups) {
    if (group.attention == AttentionKind::recurrent) continue;
    if (group.attention == AttentionKind::latent && !group.latent) group.latent = latent;
    fill(group.num_attention_heads, num_attention_heads);
    fill(group.num_key_value_heads, num_key_value_heads);
    fill(group.head_dim, head_dim);
    fill(group.value_head_dim, group.head_dim);
    fill(group.kv_bytes_per_element, kv_bytes_per_element);
  }
  return groups;
}

bool ModelSpec::is_recurrent() const {
  return std::any_of(layer_groups.begin(), layer_groups.end(),
                     [](const LayerGroup& group) { return group.attention == AttentionKind::recurrent; });
}

// ---- sizes ----

double ModelSpec::hidden_bytes_per_token_layer() const {
  return static_cast<double>(hidden_size) * hidden_bytes_per_element;
}

namespace {

LayerGroup main_group(const ModelSpec& model) {
  const std::vector<LayerGroup> groups = model.groups();
  const auto found =
      std::find_if(groups.begin(), groups.end(), [](const LayerGroup& group) { return group.keeps_all(); });
  return found == groups.end() ? groups.front() : *found;
}

}  // namespace

int64_t ModelSpec::kv_elements_per_token_layer() const { return main_group(*this).kv_elements_per_token(); }

double ModelSpec::kv_bytes_per_token_layer() const { return main_group(*this).kv_bytes_per_token_layer(); }

double ModelSpec::kv_bytes_per_token() const {
  double bytes = 0;
  for (const LayerGroup& group : groups()) {
    if (group.keeps_all()) bytes += static_cast<double>(group.layers) * group.kv_bytes_per_token_layer();
  }
  return bytes;
}

double ModelSpec::window_bytes(int64_t tokens) const {
  double bytes = 0;
  for (const LayerGroup& group : groups()) {
    if (!group.keeps_window()) continue;
    bytes += static_cast<double>(group.layers * group.kept_tokens(tokens)) * group.kv_bytes_per_token_layer();
  }
  return bytes;
}

double ModelSpec::window_bytes_per_token() const { return window_bytes(1); }

double ModelSpec::recurrent_state_bytes() const {
  double bytes = 0;
  for (const LayerGroup& group : groups()) {
    if (group.recurrent) bytes += static_cast<double>(group.layers) * group.recurrent->bytes();
  }
  return bytes;
}

double ModelSpec::context_bytes(int64_t tokens) const {
  return static_cast<double>(tokens) * kv_bytes_per_token() + window_bytes(tokens) + recurrent_state_bytes();
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
  return embedding_parameters(*this) + positions + norms + all_attention_parameters(*this) +
         all_ffn_parameters(*this);
}

double ModelSpec::routed_weight_bytes() const {
  const double bytes = experts ? experts->weight_bytes_per_element.value_or(weight_bytes_per_element) : 0;
  return routed_expert_parameters(*this) * bytes;
}

double ModelSpec::weight_bytes() const {
  const double embedding = embedding_parameters(*this);
  const double routed = routed_expert_parameters(*this);
  return (parameter_count() - embedding - routed) * weight_bytes_per_element + routed_weight_bytes() +
         embedding * head_weight_bytes_per_element();
}

}  // namespace kvcap
