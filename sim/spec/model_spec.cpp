#include "spec/model_spec.h"

#include <algorithm>

namespace kvcap {
namespace {

double ffn_parameters(const ModelSpec& model, double intermediate_size, int64_t hidden_size) {
  const double matrices = model.ffn == FfnKind::gated ? 3 : 2;
  return matrices * static_cast<double>(hidden_size) * intermediate_size;
}
double ffn_parameters(const ModelSpec& model, double intermediate_size) {
  return ffn_parameters(model, intermediate_size, model.hidden_size);
}

// Returns the parameters of latent attention, with projections named as in DeepSeek-V2: q (or q_a, its norm
// and q_b), kv_a, its norm, kv_b, o.
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

// Returns the parameters of a recurrent layer: input projections (gate, x, B, C, and one gate per head),
// convolution and output projection. Mamba-1 instead projects x to B, C and a low-rank step.
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

// Returns the parameters of the indexer per layer, averaged over the group: its heads' queries, its key, and
// one weight per head.
double indexer_parameters(const ModelSpec& model, const LayerGroup& group) {
  if (!group.indexer) return 0;
  const Indexer& indexer = *group.indexer;
  const int64_t rank =
      group.latent && group.latent->q_lora_rank > 0 ? group.latent->q_lora_rank : model.hidden_size;
  const double own = static_cast<double>(indexer.layers > 0 ? indexer.layers : group.layers);
  return own / static_cast<double>(group.layers) *
         static_cast<double>(indexer.heads * indexer.head_dim * rank +
                             (indexer.head_dim + indexer.heads) * model.hidden_size);
}

double attention_parameters(const ModelSpec& model, const LayerGroup& group) {
  if (group.recurrent) return recurrent_parameters(model, *group.recurrent);
  if (group.latent)
    return latent_attention_parameters(model, *group.latent) + indexer_parameters(model, group);
  const auto hidden = static_cast<double>(model.hidden_size);
  const int64_t values = group.keys_are_values ? 0 : group.value_head_dim;
  const int64_t gate = model.attention_output_gate ? group.value_head_dim : 0;
  const auto width =
      static_cast<double>(group.num_attention_heads * (group.head_dim + gate + group.value_head_dim) +
                          group.num_key_value_heads * (group.head_dim + values));
  return hidden * width + indexer_parameters(model, group);  // Q, gate and O; K and V
}

double all_attention_parameters(const ModelSpec& model) {
  double sum = 0;
  for (const LayerGroup& group : model.groups()) {
    sum += static_cast<double>(group.layers) * attention_parameters(model, group);
  }
  return sum;
}

// Returns the parameters of the embedding or of the output projection.
double embedding_parameters(const ModelSpec& model) {
  return static_cast<double>(model.vocab_size) * static_cast<double>(model.hidden_size);
}

int64_t expert_layers(const ModelSpec& model) {
  return model.layers_with_ffn() - std::min(model.experts->dense_layers, model.layers_with_ffn());
}

// Returns the parameters of one routed expert.
double expert_parameters(const ModelSpec& model) {
  const Experts& experts = *model.experts;
  return ffn_parameters(model, static_cast<double>(experts.intermediate_size),
                        experts.hidden_size > 0 ? experts.hidden_size : model.hidden_size);
}

double routed_expert_parameters(const ModelSpec& model) {
  if (!model.experts) return 0;
  return static_cast<double>(expert_layers(model) * model.experts->count) * expert_parameters(model);
}

// Returns the FFN parameters of a layer with experts: router, routed and shared experts, and the projections
// around the routed experts.
double sparse_ffn_parameters(const ModelSpec& model) {
  const Experts& experts = *model.experts;
  const auto hidden = static_cast<double>(model.hidden_size);
  const auto count = static_cast<double>(experts.count);
  return hidden * count + count * expert_parameters(model) +
         ffn_parameters(model, static_cast<double>(experts.shared_width())) +
         2 * hidden * static_cast<double>(experts.hidden_size);
}

// Returns the FFN parameters of all layers, with routers and all experts.
double all_ffn_parameters(const ModelSpec& model) {
  const auto layers = static_cast<double>(model.layers_with_ffn());
  const double dense = ffn_parameters(model, static_cast<double>(model.intermediate_size));
  if (!model.experts) return layers * dense;
  const auto sparse_layers = static_cast<double>(expert_layers(model));
  return (layers - sparse_layers) * dense + sparse_layers * sparse_ffn_parameters(model);
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

double ModelSpec::embedding_weight_bytes_per_element() const {
  return embedding_bytes_per_element.value_or(weight_bytes_per_element);
}

double ModelSpec::head_weight_bytes_per_element() const {
  return output_bytes_per_element.value_or(embedding_weight_bytes_per_element());
}

double ModelSpec::parameter_count() const {
  const auto layers = static_cast<double>(num_hidden_layers);
  const auto hidden = static_cast<double>(hidden_size);
  const double positions = position_encoding == PositionEncoding::absolute
                               ? static_cast<double>(max_position_embeddings) * hidden
                               : 0;
  const double norms = (2 * layers + 1) * hidden;
  return embedding_parameters(*this) * (tie_word_embeddings ? 1 : 2) + positions + norms +
         all_attention_parameters(*this) + all_ffn_parameters(*this) + vision_parameters;
}

// A draft layer is like the model's last layers, with an additional projection of an embedding and a hidden
// state.
double ModelSpec::draft_parameter_count() const {
  const auto hidden = static_cast<double>(hidden_size);
  const double feed_forward =
      experts ? sparse_ffn_parameters(*this) : ffn_parameters(*this, static_cast<double>(intermediate_size));
  return static_cast<double>(draft_layers) *
         (2 * hidden * hidden + attention_parameters(*this, main_group(*this)) + feed_forward);
}

double ModelSpec::routed_weight_bytes() const {
  const double bytes = experts ? experts->weight_bytes_per_element.value_or(weight_bytes_per_element) : 0;
  return routed_expert_parameters(*this) * bytes;
}

double ModelSpec::draft_weight_bytes() const {
  return draft_parameter_count() * counted_weight_bytes() / parameter_count();
}

double ModelSpec::weight_bytes() const { return counted_weight_bytes() + uncounted_weight_bytes; }

double ModelSpec::counted_weight_bytes() const {
  const double embedding = embedding_parameters(*this);
  const double embeddings = embedding * (tie_word_embeddings ? 1 : 2);
  const double attention = attention_weight_bytes_per_element ? all_attention_parameters(*this) : 0;
  const double rest =
      parameter_count() - embeddings - routed_expert_parameters(*this) - attention - vision_parameters;
  return rest * weight_bytes_per_element + routed_weight_bytes() +
         attention * attention_weight_bytes_per_element.value_or(0) +
         embedding * embedding_weight_bytes_per_element() +
         (tie_word_embeddings ? 0 : embedding * head_weight_bytes_per_element()) +
         vision_parameters * hidden_bytes_per_element;
}

}  // namespace kvcap
