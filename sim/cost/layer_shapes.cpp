#include "cost/layer_shapes.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace kvcap {
namespace {

double total_flops(const std::vector<GemmShape>& gemms, double rows) {
  double flops = 0;
  for (const GemmShape& gemm : gemms) {
    flops += 2 * rows * static_cast<double>(gemm.n) * static_cast<double>(gemm.k);
  }
  return flops;
}

std::vector<GemmShape> ffn_gemms(const ModelSpec& model, int64_t intermediate_size) {
  const int64_t up_width = (model.ffn == FfnKind::gated ? 2 : 1) * intermediate_size;
  return {{up_width, model.hidden_size}, {model.hidden_size, intermediate_size}};
}

// Activation function: reads the up projection (and the gate), writes the down projection's input.
double activation_elements(const ModelSpec& model, int64_t intermediate_size) {
  return (model.ffn == FfnKind::gated ? 3.0 : 2.0) * static_cast<double>(intermediate_size);
}

// What attention and its projections look like, the same in every layer.
struct AttentionPart {
  std::vector<GemmShape> gemms;
  ElementwiseShape elementwise;
};

// Two norms (read, write) and two residual adds (two reads, a write) of D elements each.
ElementwiseShape norms_and_residuals(const ModelSpec& model) {
  return {(2 * 2 + 2 * 3) * static_cast<double>(model.hidden_size), 4};
}

AttentionPart grouped_query_attention(const ModelSpec& model, int64_t t, LayerShapes* shapes) {
  const int64_t d = model.head_dim;
  const int64_t query_heads = model.num_attention_heads / t;
  const int64_t kv_heads = divide_up(model.num_key_value_heads, t);
  const int64_t hidden = model.hidden_size;
  shapes->prefill_attention = {query_heads,
                               d,
                               d,
                               static_cast<double>(2 * kv_heads * d),
                               model.hidden_bytes_per_element,
                               model.kv_bytes_per_element,
                               kv_heads};
  shapes->decode_attention = shapes->prefill_attention;
  shapes->kv_elements_per_token = static_cast<double>(2 * kv_heads * d);
  shapes->kv_projection = {2 * kv_heads * d, hidden};

  AttentionPart part;
  part.gemms = {{(query_heads + 2 * kv_heads) * d, hidden}, {hidden, query_heads * d}};
  part.elementwise = norms_and_residuals(model);
  if (model.position_encoding == PositionEncoding::rope) {
    part.elementwise.elements_per_token += static_cast<double>(2 * (query_heads + kv_heads) * d);
    part.elementwise.kernels += 1;
    shapes->kv_projection_elementwise = {static_cast<double>(2 * kv_heads * d), 1};
  }
  return part;
}

// MLA. In prefill kv_b expands the latent to keys and values of every head; in decode the same weights are
// absorbed into the query and the output, with the same flops per token, so one GEMM stands for both.
AttentionPart latent_attention(const ModelSpec& model, int64_t t, LayerShapes* shapes) {
  const LatentAttention& latent = *model.latent;
  const int64_t heads = model.num_attention_heads / t;
  const int64_t hidden = model.hidden_size;
  const int64_t key_dim = latent.qk_nope_head_dim + latent.qk_rope_head_dim;
  const int64_t cached_width = latent.kv_lora_rank + latent.qk_rope_head_dim;
  const int64_t expanded_width = heads * (latent.qk_nope_head_dim + latent.v_head_dim);
  shapes->prefill_attention = {heads,
                               key_dim,
                               latent.v_head_dim,
                               static_cast<double>(heads * (key_dim + latent.v_head_dim)),
                               model.hidden_bytes_per_element,
                               model.hidden_bytes_per_element,
                               heads};
  shapes->decode_attention = {heads,
                              cached_width,
                              latent.kv_lora_rank,
                              static_cast<double>(cached_width),
                              model.hidden_bytes_per_element,
                              model.kv_bytes_per_element,
                              1};
  shapes->kv_elements_per_token = static_cast<double>(cached_width);
  shapes->kv_projection = {cached_width, hidden};
  shapes->kv_projection_elementwise = {static_cast<double>(2 * cached_width), 2};  // norm, rope
  shapes->latent_expansion = GemmShape{expanded_width, latent.kv_lora_rank};

  AttentionPart part;
  if (latent.q_lora_rank > 0) {
    part.gemms = {{latent.q_lora_rank, hidden}, {heads * key_dim, latent.q_lora_rank}};
  } else {
    part.gemms = {{heads * key_dim, hidden}};
  }
  part.gemms.push_back(shapes->kv_projection);
  part.gemms.push_back(*shapes->latent_expansion);
  part.gemms.push_back({hidden, heads * latent.v_head_dim});
  part.elementwise = norms_and_residuals(model);
  const int64_t rope_width = (heads + 1) * latent.qk_rope_head_dim;
  part.elementwise.elements_per_token +=
      static_cast<double>(2 * (latent.q_lora_rank + latent.kv_lora_rank + rope_width));
  part.elementwise.kernels += latent.q_lora_rank > 0 ? 3 : 2;  // norms of the latents, rope
  return part;
}

LayerKind dense_layers(const ModelSpec& model, int64_t t, int64_t layers, const AttentionPart& attention) {
  const int64_t width = divide_up(model.intermediate_size, t);
  LayerKind kind{layers, attention.gemms, std::nullopt, attention.elementwise};
  for (const GemmShape& gemm : ffn_gemms(model, width)) kind.gemms.push_back(gemm);
  kind.elementwise.elements_per_token += activation_elements(model, width);
  kind.elementwise.kernels += 1;
  return kind;
}

// Router, shared experts as one FFN of their joint width, routed experts; then the active experts' outputs
// are added up (active reads, one write).
LayerKind expert_layers(const ModelSpec& model, int64_t t, int64_t layers, const AttentionPart& attention) {
  const Experts& experts = *model.experts;
  const int64_t width = divide_up(experts.intermediate_size, t);
  LayerKind kind{layers, attention.gemms, std::nullopt, attention.elementwise};
  kind.gemms.push_back({experts.count, model.hidden_size});
  if (experts.shared > 0) {
    for (const GemmShape& gemm : ffn_gemms(model, experts.shared * width)) kind.gemms.push_back(gemm);
  }
  kind.experts = RoutedExperts{ffn_gemms(model, width), static_cast<double>(experts.count),
                               static_cast<double>(experts.active)};
  kind.elementwise.elements_per_token +=
      activation_elements(model, (experts.active + experts.shared) * width) +
      static_cast<double>((experts.active + 1) * model.hidden_size);
  kind.elementwise.kernels += experts.shared > 0 ? 3 : 2;  // activations, sum over experts
  return kind;
}

// Residual + input and output of the widest GEMM; routed experts hold their rows all at once.
double widest_activation(const ModelSpec& model, const LayerKind& kind) {
  double widest = 0;
  const auto consider = [&widest](const std::vector<GemmShape>& gemms, double copies) {
    for (const GemmShape& gemm : gemms) {
      widest = std::max(widest, copies * static_cast<double>(gemm.n + gemm.k));
    }
  };
  consider(kind.gemms, 1);
  if (kind.experts) consider(kind.experts->gemms, kind.experts->active);
  return static_cast<double>(model.hidden_size) + widest;
}

}  // namespace

int64_t divide_up(int64_t total, int64_t parts) { return (total + parts - 1) / parts; }

double RoutedExperts::distinct(double tokens) const {
  return count * (1 - std::pow(1 - active / count, tokens));
}

GemmRows RoutedExperts::rows(double tokens) const {
  const double reached = distinct(tokens);
  return {tokens * active / reached, reached, true};
}

double LayerKind::gemm_flops(double tokens) const {
  const double routed = experts ? total_flops(experts->gemms, tokens * experts->active) : 0;
  return total_flops(gemms, tokens) + routed;
}

LayerShapes layer_shapes(const ModelSpec& model, int64_t tensor_parallel_size) {
  const int64_t t = tensor_parallel_size;
  KVCAP_CHECK(t >= 1 && model.num_attention_heads % t == 0);
  LayerShapes shapes;
  const AttentionPart attention =
      model.latent ? latent_attention(model, t, &shapes) : grouped_query_attention(model, t, &shapes);
  const int64_t layers = model.num_hidden_layers;
  const int64_t dense = model.experts ? std::min(model.experts->dense_layers, layers) : layers;
  if (dense > 0) shapes.kinds.push_back(dense_layers(model, t, dense, attention));
  if (dense < layers) shapes.kinds.push_back(expert_layers(model, t, layers - dense, attention));
  for (const LayerKind& kind : shapes.kinds) {
    shapes.activation_elements_per_token =
        std::max(shapes.activation_elements_per_token, widest_activation(model, kind));
  }
  return shapes;
}

}  // namespace kvcap
