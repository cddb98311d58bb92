#include "cost/layer_shapes.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace kvcap {
namespace {

constexpr double kPopularityShape = 2;  // first beta parameter; see RoutedExperts::distinct

double total_flops(const std::vector<GemmShape>& gemms, double rows) {
  double flops = 0;
  for (const GemmShape& gemm : gemms) {
    flops += 2 * rows * static_cast<double>(gemm.n) * static_cast<double>(gemm.k);
  }
  return flops;
}

std::vector<GemmShape> ffn_gemms(const ModelSpec& model, int64_t intermediate_size, int64_t hidden_size) {
  const int64_t up_width = (model.ffn == FfnKind::gated ? 2 : 1) * intermediate_size;
  return {{up_width, hidden_size}, {hidden_size, intermediate_size}};
}
std::vector<GemmShape> ffn_gemms(const ModelSpec& model, int64_t intermediate_size) {
  return ffn_gemms(model, intermediate_size, model.hidden_size);
}

// Returns the GEMMs of one routed expert.
std::vector<GemmShape> expert_gemms(const ModelSpec& model, int64_t intermediate_size) {
  const int64_t own = model.experts->hidden_size;
  return ffn_gemms(model, intermediate_size, own > 0 ? own : model.hidden_size);
}

// Returns the elements of the activation function: reads of the up projection (and the gate), writes of its
// result.
double activation_elements(const ModelSpec& model, int64_t intermediate_size) {
  return (model.ffn == FfnKind::gated ? 3.0 : 2.0) * static_cast<double>(intermediate_size);
}

// Work of the layers of one group, except their FFNs.
struct GroupPart {
  MixerShape mixer;
  std::vector<GemmShape> gemms;
  ElementwiseShape elementwise;
  GemmShape kv_projection;
  ElementwiseShape kv_projection_elementwise;
};

// Returns the work of two norms (one read, one write) and two residual adds (two reads, one write) of D
// elements each: one of each for attention, and one of each for the FFN.
ElementwiseShape norms_and_residuals(const ModelSpec& model) {
  return {(2 * 2 + 2 * 3) * static_cast<double>(model.hidden_size), 4};
}
ElementwiseShape norm_and_residual(const ModelSpec& model) {
  return {(2 + 3) * static_cast<double>(model.hidden_size), 2};
}

ElementwiseShape operator+(ElementwiseShape a, ElementwiseShape b) {
  return {a.elements_per_token + b.elements_per_token, a.kernels + b.kernels};
}

// Returns the work of the norm of queries and keys: one kernel reads and writes every head; a norm over all
// heads has another kernel, which sums the squares first.
ElementwiseShape qk_norm_of(const ModelSpec& model, int64_t heads, int64_t head_dim) {
  const auto elements = static_cast<double>(heads * head_dim);
  if (model.qk_norm == QkNorm::none) return {};
  return model.qk_norm == QkNorm::head ? ElementwiseShape{2 * elements, 1}
                                       : ElementwiseShape{3 * elements, 2};
}

// Adds an indexer: a few small heads score all keys, and attention uses the top_k keys with the highest
// scores. Every GPU has the whole indexer.
void add_indexer(const ModelSpec& model, const LayerGroup& group, GroupPart& part) {
  if (!group.indexer) return;
  const Indexer& indexer = *group.indexer;
  const int64_t hidden = model.hidden_size;
  const bool has_rank = group.latent && group.latent->q_lora_rank > 0;
  const int64_t rank = has_rank ? group.latent->q_lora_rank : hidden;
  part.mixer.prefill.window = part.mixer.decode.window = indexer.top_k;
  part.mixer.indexer = AttentionShape{indexer.heads, indexer.head_dim, 0, indexer.bytes_per_token, 1, 1, 1};
  if (indexer.layers > 0) {
    part.mixer.indexer_share = static_cast<double>(indexer.layers) / static_cast<double>(group.layers);
  }
  part.gemms.push_back({indexer.heads * indexer.head_dim, rank});
  part.gemms.push_back({indexer.head_dim + indexer.heads, hidden});
}

GroupPart grouped_query_attention(const ModelSpec& model, const LayerGroup& group, int64_t t) {
  const int64_t key_dim = group.head_dim;
  const int64_t value_dim = group.value_head_dim;
  const int64_t query_heads = group.num_attention_heads / t;
  const int64_t kv_heads = divide_up(group.num_key_value_heads, t);
  const int64_t hidden = model.hidden_size;
  const int64_t kv_width = kv_heads * (key_dim + (group.keys_are_values ? 0 : value_dim));
  GroupPart part;
  part.mixer.kv_elements_per_token = static_cast<double>(kv_width);
  part.mixer.prefill = {query_heads,
                        key_dim,
                        value_dim,
                        part.mixer.kv_elements_per_token,
                        model.hidden_bytes_per_element,
                        group.kv_bytes_per_element,
                        kv_heads,
                        group.attention == AttentionKind::sliding ? group.window_tokens : 0};
  part.mixer.decode = part.mixer.prefill;
  part.kv_projection = {kv_width, hidden};
  const int64_t gate_width = model.attention_output_gate ? query_heads * value_dim : 0;
  part.gemms = {{query_heads * key_dim + gate_width + kv_width, hidden}, {hidden, query_heads * value_dim}};
  if (model.position_encoding == PositionEncoding::rope) {
    part.elementwise = {static_cast<double>(2 * (query_heads + kv_heads) * key_dim), 1};
    part.kv_projection_elementwise = {static_cast<double>(2 * kv_heads * key_dim), 1};
  }
  part.elementwise = part.elementwise + qk_norm_of(model, query_heads + kv_heads, key_dim);
  add_indexer(model, group, part);
  if (gate_width > 0) part.elementwise.elements_per_token += static_cast<double>(gate_width);
  return part;
}

// Returns the work of latent attention (MLA). In prefill kv_b expands the latent to keys and values of every
// head; in decode the same weights are absorbed into the query and the output, with the same flops per token,
// so one GEMM stands for both.
GroupPart latent_attention(const ModelSpec& model, const LayerGroup& group, int64_t t) {
  const LatentAttention& latent = *group.latent;
  const int64_t heads = group.num_attention_heads / t;
  const int64_t hidden = model.hidden_size;
  const int64_t key_dim = latent.qk_nope_head_dim + latent.qk_rope_head_dim;
  const int64_t cached_width = latent.kv_lora_rank + latent.qk_rope_head_dim;
  const int64_t expanded_width = heads * (latent.qk_nope_head_dim + latent.v_head_dim);
  const auto cached_elements = static_cast<double>(cached_width);
  GroupPart part;
  part.mixer.prefill = {heads,
                        key_dim,
                        latent.v_head_dim,
                        static_cast<double>(heads * (key_dim + latent.v_head_dim)),
                        model.hidden_bytes_per_element,
                        model.hidden_bytes_per_element,
                        heads};
  part.mixer.decode = {
      heads,
      cached_width,
      latent.kv_lora_rank,
      cached_elements,
      model.hidden_bytes_per_element,
      group.kv_bytes_per_token ? *group.kv_bytes_per_token / cached_elements : group.kv_bytes_per_element,
      1};
  part.mixer.kv_elements_per_token = cached_elements;
  part.mixer.latent_expansion = GemmShape{expanded_width, latent.kv_lora_rank};
  part.kv_projection = {cached_width, hidden};
  part.kv_projection_elementwise = {static_cast<double>(2 * cached_width), 2};  // norm, rope

  if (latent.q_lora_rank > 0) {
    part.gemms = {{latent.q_lora_rank, hidden}, {heads * key_dim, latent.q_lora_rank}};
  } else {
    part.gemms = {{heads * key_dim, hidden}};
  }
  part.gemms.push_back(part.kv_projection);
  part.gemms.push_back(*part.mixer.latent_expansion);
  part.gemms.push_back({hidden, heads * latent.v_head_dim});
  const int64_t rope_width = (heads + 1) * latent.qk_rope_head_dim;
  part.elementwise = {static_cast<double>(2 * (latent.q_lora_rank + latent.kv_lora_rank + rope_width)),
                      latent.q_lora_rank > 0 ? 3 : 2};  // norms of the latents, rope
  add_indexer(model, group, part);
  return part;
}

// Tokens per chunk in the chunked form of a scan.
constexpr int64_t kScanChunk = 128;

// Returns the work of a recurrent layer, a scan. Mamba-2 and the gated delta rule run in chunks: attention
// over 128 keys within a chunk, the state between chunks. Mamba-1 has no such form: every token updates the
// state.
GroupPart recurrence(const ModelSpec& model, const LayerGroup& group, int64_t t) {
  const RecurrentState& state = *group.recurrent;
  const int64_t hidden = model.hidden_size;
  const int64_t inner = divide_up(state.inner_width(), t);
  const int64_t shared = divide_up(2 * state.groups * state.state_size, t);
  const auto size = static_cast<double>(state.state_size);
  const auto width = static_cast<double>(inner);
  GroupPart part;
  ScanShape scan;
  const double updates = 4 * width * size;  // the state decays, grows and is read
  if (state.dt_rank > 0) {
    part.gemms = {{2 * inner, hidden}, {state.dt_rank + 2 * state.state_size, inner}, {inner, state.dt_rank}};
    scan.flops_per_token = updates;
  } else {
    part.gemms = {{2 * inner + shared + divide_up(state.heads, t), hidden}};
    const auto chunk = static_cast<double>(kScanChunk);
    const double heads = width / static_cast<double>(state.head_dim);
    scan.flops_per_token = 2 * chunk * (heads * size + width) + updates;
  }
  part.gemms.push_back({hidden, inner});
  // The convolution reads and writes its channels; the scan reads them and the gate and writes its output.
  const double channels = width + static_cast<double>(shared);
  scan.bytes_per_token = (3 * channels + 2 * width) * model.hidden_bytes_per_element;
  scan.bytes_per_sequence = 2 * state.bytes() / static_cast<double>(t);
  part.mixer.scan = scan;
  return part;
}

GroupPart group_part(const ModelSpec& model, const LayerGroup& group, int64_t t) {
  GroupPart part = group.recurrent ? recurrence(model, group, t)
                   : group.latent  ? latent_attention(model, group, t)
                                   : grouped_query_attention(model, group, t);
  part.mixer.layers = group.layers;
  part.mixer.attention = group.attention;
  if (group.attention == AttentionKind::chunked) part.mixer.chunk_tokens = group.window_tokens;
  return part;
}

LayerKind dense_layers(const ModelSpec& model, int64_t t, int64_t layers, const LayerKind& attention) {
  const int64_t width = divide_up(model.intermediate_size, t);
  LayerKind kind = attention;
  kind.layers = layers;
  for (const GemmShape& gemm : ffn_gemms(model, width)) kind.gemms.push_back(gemm);
  kind.elementwise.elements_per_token += activation_elements(model, width);
  kind.elementwise.kernels += 1;
  return kind;
}

// Divides the experts over a group of `gpus` GPUs.
void spread(const ModelSpec& model, int64_t gpus, const ExpertPlacement& placement, RoutedExperts& routed) {
  const int64_t width = model.experts->intermediate_size;
  routed.gemms = expert_gemms(model, placement.expert_parallel ? width : divide_up(width, gpus));
  if (!placement.expert_parallel) return;
  routed.gpus = gpus;
  routed.imbalance = placement.imbalance;
  routed.largest_normal = mean_largest_normal(gpus);
}

// Returns the work of one GPU per token of all ranks: activations of its part of the pairs, and their sum.
ElementwiseShape expert_elementwise(const ModelSpec& model, int64_t gpus, const ExpertPlacement& placement) {
  const Experts& experts = *model.experts;
  const auto active = static_cast<double>(experts.active);
  const double pairs = placement.expert_parallel ? active / static_cast<double>(gpus) : active;
  const int64_t width =
      placement.expert_parallel ? experts.intermediate_size : divide_up(experts.intermediate_size, gpus);
  return {pairs * activation_elements(model, width) + (pairs + 1) * static_cast<double>(model.hidden_size),
          2};
}

// Returns the work of the kernel between the router and the experts, which reads every expert's logit and
// writes the chosen experts and their weights. Sorting rows by expert is part of the experts' measured times.
ElementwiseShape top_k_of(const Experts& experts) {
  return {static_cast<double>(experts.count + 2 * experts.active), 1};
}

// Returns the work of layers with experts: the router, the shared experts as one FFN of their total width,
// the routed experts, and the sum of the active experts' outputs (one read per active expert, one write).
LayerKind expert_layers(const ModelSpec& model, int64_t t, const ExpertPlacement& placement, int64_t layers,
                        const LayerKind& attention) {
  const Experts& experts = *model.experts;
  const int64_t width = divide_up(experts.intermediate_size, t);
  const int64_t shared_width =
      experts.shared_intermediate_size > 0 ? divide_up(experts.shared_width(), t) : experts.shared * width;
  LayerKind kind = attention;
  kind.layers = layers;
  kind.gemms.push_back({experts.count, model.hidden_size});
  if (experts.hidden_size > 0) {
    kind.gemms.push_back({experts.hidden_size, model.hidden_size});
    kind.gemms.push_back({model.hidden_size, experts.hidden_size});
  }
  kind.elementwise = kind.elementwise + top_k_of(experts);
  if (experts.shared > 0) {
    for (const GemmShape& gemm : ffn_gemms(model, shared_width)) kind.gemms.push_back(gemm);
  }
  kind.experts = RoutedExperts{expert_gemms(model, width), static_cast<double>(experts.count),
                               static_cast<double>(experts.active)};
  if (placement.is_spread()) spread(model, t * placement.ranks, placement, *kind.experts);
  if (placement.ranks > 1) {
    kind.expert_elementwise = expert_elementwise(model, t * placement.ranks, placement);
    if (experts.shared > 0) {
      kind.elementwise.elements_per_token += activation_elements(model, shared_width);
      kind.elementwise.kernels += 1;
    }
    return kind;
  }
  kind.elementwise.elements_per_token += activation_elements(model, experts.active * width + shared_width) +
                                         static_cast<double>((experts.active + 1) * model.hidden_size);
  kind.elementwise.kernels += experts.shared > 0 ? 3 : 2;  // activations, sum over experts
  return kind;
}

// Returns the elements of residual + input and output of the widest GEMM; for routed experts, with the rows
// of all active experts.
double widest_activation(const ModelSpec& model, const LayerKind& kind, int64_t ranks) {
  double widest = 0;
  const auto consider = [&widest](const std::vector<GemmShape>& gemms, double copies) {
    for (const GemmShape& gemm : gemms) {
      widest = std::max(widest, copies * static_cast<double>(gemm.n + gemm.k));
    }
  };
  consider(kind.mixer_gemms, 1);
  consider(kind.gemms, 1);
  if (kind.experts) {
    const double pairs = kind.experts->active / static_cast<double>(kind.experts->gpus);
    consider(kind.experts->gemms, static_cast<double>(ranks) * pairs);
  }
  return static_cast<double>(model.hidden_size) + widest;
}

}  // namespace

int64_t divide_up(int64_t total, int64_t parts) { return (total + parts - 1) / parts; }

double mean_largest_normal(int64_t count) {
  if (count < 2) return 0;
  // The mean of the maximum is the integral of x d(F(x)^count). By parts, this is
  //   (the integral of 1 - F^count above 0) - (the integral of F^count below 0).
  constexpr double kFar = 9, kStep = 1e-3;
  double sum = 0;
  for (double x = kStep / 2; x < kFar; x += kStep) {
    const double above = std::pow(0.5 * std::erfc(-x / std::sqrt(2.0)), static_cast<double>(count));
    const double below = std::pow(0.5 * std::erfc(x / std::sqrt(2.0)), static_cast<double>(count));
    sum += kStep * (1 - above - below);
  }
  return sum;
}

double RoutedExperts::pairs(double tokens) const {
  const double all = tokens * active;
  if (gpus == 1) return all;
  const auto parts = static_cast<double>(gpus);
  const double most = tokens * std::min(active, count / parts);  // the most picks per token on one GPU
  const double mean = all / parts;
  if (imbalance) return std::min(*imbalance * mean, most);
  const double variance =
      tokens * active / parts * (1 - 1 / parts) * (count - active) / std::max(1.0, count - 1);
  const double above_mean = std::sqrt(variance * parts / (parts - 1)) * largest_normal;
  return std::min(std::max(1.0, mean + above_mean), most);
}

double RoutedExperts::distinct(double tokens) const {
  const double here = count / static_cast<double>(gpus);
  const double chance = std::min(1.0, pairs(tokens) / (tokens * here));  // picks per token and expert here
  const double b = kPopularityShape * (1 / chance - 1);
  return here * (1 - b * (b + 1) / ((b + tokens) * (b + tokens + 1)));
}

GemmRows RoutedExperts::rows(double tokens) const {
  const double reached = distinct(tokens);
  return {pairs(tokens) / reached, reached, true};
}

double RoutedExperts::reached_gpus() const {
  const double here = count / static_cast<double>(gpus);
  double none = 1;  // probability that none of a token's picks is on a given GPU
  for (double pick = 0; pick < active; ++pick) none *= std::max(0.0, count - here - pick) / (count - pick);
  return static_cast<double>(gpus) * (1 - none);
}

double LayerKind::gemm_flops(double tokens) const {
  const double routed = experts ? total_flops(experts->gemms, tokens * experts->active) : 0;
  return total_flops(mixer_gemms, tokens) + total_flops(gemms, tokens) + routed;
}

namespace {

// Adds attention and the FFN as one kind of layer if all layers attend alike, otherwise as separate kinds.
void add_kinds(const ModelSpec& model, int64_t t, const ExpertPlacement& placement,
               const std::vector<GroupPart>& parts, LayerShapes& shapes) {
  LayerKind before_ffn;
  if (model.is_uniform()) {
    const GroupPart& part = parts.front();
    before_ffn.mixer_gemms = part.gemms;
    before_ffn.elementwise = norms_and_residuals(model) + part.elementwise;
  } else {
    int64_t mixers = 0;
    for (const GroupPart& part : parts) {
      mixers += part.mixer.layers;
      LayerKind kind{.layers = part.mixer.layers, .mixer_gemms = part.gemms};
      kind.elementwise = norm_and_residual(model) + part.elementwise;
      shapes.kinds.push_back(std::move(kind));
    }
    before_ffn.elementwise = norm_and_residual(model);
    shapes.all_reduces_per_layer =
        static_cast<double>(mixers + model.layers_with_ffn()) / static_cast<double>(model.num_hidden_layers);
  }
  const int64_t layers = model.layers_with_ffn();
  const int64_t dense = model.experts ? std::min(model.experts->dense_layers, layers) : layers;
  if (dense > 0) shapes.kinds.push_back(dense_layers(model, t, dense, before_ffn));
  if (dense == layers) return;
  shapes.expert_layers = layers - dense;
  shapes.kinds.push_back(expert_layers(model, t, placement, shapes.expert_layers, before_ffn));
  if (placement.ranks == 1 || !placement.expert_parallel) return;
  // The exchange already sums the experts' outputs.
  shapes.all_reduces_per_layer -=
      static_cast<double>(shapes.expert_layers) / static_cast<double>(model.num_hidden_layers);
}

}  // namespace

LayerShapes layer_shapes(const ModelSpec& model, int64_t tensor_parallel_size,
                         const ExpertPlacement& placement) {
  const int64_t t = tensor_parallel_size;
  KVCAP_CHECK(t >= 1 && model.num_attention_heads % t == 0);
  LayerShapes shapes;
  std::vector<GroupPart> parts;
  for (const LayerGroup& group : model.groups()) {
    parts.push_back(group_part(model, group, t));
    shapes.mixers.push_back(parts.back().mixer);
    if (model.qk_norm == QkNorm::all_heads && !group.recurrent && !group.latent) {
      shapes.norm_sums_per_layer +=
          static_cast<double>(group.layers) / static_cast<double>(model.num_hidden_layers);
    }
    if (shapes.kv_projection.n > 0 || group.recurrent) continue;
    shapes.kv_projection = parts.back().kv_projection;
    shapes.kv_projection_elementwise = parts.back().kv_projection_elementwise;
  }
  add_kinds(model, t, placement, parts, shapes);
  for (const LayerKind& kind : shapes.kinds) {
    shapes.activation_elements_per_token =
        std::max(shapes.activation_elements_per_token, widest_activation(model, kind, placement.ranks));
  }
  return shapes;
}

}  // namespace kvcap
