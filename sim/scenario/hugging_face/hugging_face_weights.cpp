// Computes the mean format of a Hugging Face model's attention, FFNs and routed experts. Looks up every
// matrix of every layer under the names that it may have in a checkpoint.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenario/hugging_face/hf_quantisation.h"

namespace kvcap {
namespace {

struct Matrix {
  std::vector<std::string> names;  // alternative names in checkpoints
  double elements = 0;
};

// Mean over matrices, weighted by elements.
struct Mean {
  double elements = 0, weight_bytes = 0, activation_bytes = 0;

  void add(const Quantisation& quantisation, const std::string& layer, const std::vector<Matrix>& matrices,
           double wide) {
    const Stored usual = quantisation.others.value_or(Stored{});
    for (const Matrix& matrix : matrices) {
      // The first name whose format differs from that of unlisted modules determines the format.
      Stored stored = usual;
      for (const std::string& name : matrix.names) {
        stored = quantisation.of(layer + name);
        if (stored.weight != usual.weight || stored.activation != usual.activation) break;
      }
      elements += matrix.elements;
      weight_bytes += matrix.elements * stored.weight.value_or(wide);
      activation_bytes += matrix.elements * stored.activation.value_or(wide);
    }
  }
  // Rounds off the error of a sum over thousands of matrices.
  double weight() const { return std::round(1e12 * weight_bytes / elements) / 1e12; }
  // Returns the bytes of the predominant format, because a GEMM has a single input format.
  double activation(double wide) const {
    const double mean = activation_bytes / elements;
    const double least = 0.75;
    return mean > (wide + 1) / 2 ? wide : mean > least ? 1 : 0.5;
  }
};

double number(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

std::vector<std::string> with_blocks(std::initializer_list<const char*> blocks,
                                     std::initializer_list<const char*> names) {
  std::vector<std::string> all;
  for (const char* block : blocks) {
    for (const char* name : names) all.push_back(std::string(block) + "." + name);
  }
  return all;
}

// Families use different names for the same matrix, and some files store several matrices as one.
constexpr std::initializer_list<const char*> kAttentionBlocks = {"self_attn", "attention", "attn", "mixer"};
constexpr std::initializer_list<const char*> kDenseBlocks = {"mlp", "feed_forward", "ffn", "mixer"};
constexpr std::initializer_list<const char*> kSparseBlocks = {
    "mlp", "block_sparse_moe", "feed_forward", "moe", "ffn", "mixer"};

std::vector<Matrix> attention_matrices(const Json& model) {
  const double hidden = number(model, "hidden_size"), heads = number(model, "num_attention_heads");
  const double kv_heads = number(model, "num_key_value_heads");
  const double dim = model.contains("head_dim") ? number(model, "head_dim") : hidden / heads;
  const auto named = [](std::initializer_list<const char*> names) {
    return with_blocks(kAttentionBlocks, names);
  };
  const auto output = named({"o_proj", "out_proj", "dense", "wo"});
  if (model.contains("kv_lora_rank")) {
    const double rank = number(model, "kv_lora_rank"), q_rank = number(model, "q_lora_rank");
    const double value = number(model, "v_head_dim");
    const double nope = number(model, "qk_nope_head_dim");
    return {{named({"q_a_proj", "fused_qkv_a_proj"}), hidden * q_rank},
            {named({"q_b_proj", "q_proj"}), (q_rank > 0 ? q_rank : hidden) * heads * dim},
            {named({"kv_a_proj_with_mqa", "fused_qkv_a_proj"}), hidden * (rank + dim - nope)},
            {named({"kv_b_proj"}), rank * heads * (nope + value)},
            {output, heads * value * hidden}};
  }
  return {{named({"q_proj", "qkv_proj", "query_key_value", "wqkv", "wq"}), hidden * heads * dim},
          {named({"k_proj", "qkv_proj", "query_key_value", "wqkv", "wk"}), hidden * kv_heads * dim},
          {named({"v_proj", "qkv_proj", "query_key_value", "wqkv", "wv"}), hidden * kv_heads * dim},
          {output, heads * dim * hidden}};
}

// Returns the matrices of a Mamba layer or a gated delta rule. Sizes are approximate: together, the input
// projections are 2.5 times as large as the output projection.
std::vector<Matrix> recurrent_matrices(double hidden) {
  const auto named = [](std::initializer_list<const char*> names) {
    return with_blocks({"linear_attn", "mamba", "mixer", "conv", "self_attn"}, names);
  };
  const double unit = 5 * hidden * hidden / 4;
  return {{named({"in_proj", "in_proj_qkv", "in_proj_qkvz", "q_proj"}), 1.5 * unit},
          {named({"in_proj", "in_proj_z", "in_proj_qkvz", "v_proj"}), unit},
          {named({"out_proj", "o_proj"}), unit}};
}

// Returns the matrices gate, up and down. An FFN without a gate has the same mean format.
std::vector<Matrix> ffn_matrices(const std::vector<std::string>& blocks, double elements) {
  const std::initializer_list<std::initializer_list<const char*>> kNames = {
      {"gate_proj", "gate_up_proj", "w1"}, {"up_proj", "gate_up_proj", "w3"}, {"down_proj", "w2"}};
  std::vector<Matrix> matrices;
  for (const auto& names : kNames) {
    Matrix matrix{.names = {}, .elements = elements / 3};
    for (const std::string& block : blocks) {
      for (const char* name : names) matrix.names.push_back(block + "." + name);
    }
    matrices.push_back(std::move(matrix));
  }
  return matrices;
}

struct Classes {
  Mean attention, ffn, routed;
};

Classes classes_of(const Quantisation& quantisation, const std::vector<Mixer>& mixers,
                   const std::vector<LayerFfn>& ffns, const Json& model) {
  const double hidden = number(model, "hidden_size");
  const Json experts = model.value("experts", Json::object());
  const double width = number(experts, "shared_intermediate_size");
  const double shared_width =
      number(experts, "shared") * (width > 0 ? width : number(experts, "intermediate_size"));
  const auto attention = attention_matrices(model), recurrent = recurrent_matrices(hidden);
  const auto dense = ffn_matrices({kDenseBlocks.begin(), kDenseBlocks.end()},
                                  3 * hidden * number(model, "intermediate_size"));
  std::vector<std::string> shared_blocks = with_blocks(kSparseBlocks, {"shared_expert", "shared_experts"});
  for (const char* alone : {"shared_mlp", "share_expert"}) shared_blocks.emplace_back(alone);
  const auto shared = ffn_matrices(shared_blocks, 3 * hidden * shared_width);
  const auto routed = ffn_matrices(with_blocks(kSparseBlocks, {"experts.0"}), 1);
  Classes classes;
  const double wide = 2;
  for (std::size_t i = 0; i < mixers.size(); ++i) {
    const std::string layer = "layers." + std::to_string(i) + ".";
    if (mixers[i] == Mixer::recurrent) {
      classes.attention.add(quantisation, layer, recurrent, wide);
    } else if (mixers[i] != Mixer::none) {
      classes.attention.add(quantisation, layer, attention, wide);
    }
    if (ffns[i] == LayerFfn::dense) classes.ffn.add(quantisation, layer, dense, wide);
    if (ffns[i] != LayerFfn::sparse) continue;
    if (shared_width > 0) classes.ffn.add(quantisation, layer, shared, wide);
    classes.routed.add(quantisation, layer, routed, wide);
  }
  return classes;
}

// Returns the bytes per GEMM input; nullopt for 16 bits.
std::optional<double> activation_of(const Mean& mean, double wide) {
  const double bytes = mean.activation(wide);
  return bytes < wide ? std::optional(bytes) : std::nullopt;
}

void write_classes(const Classes& classes, Json& model) {
  const double wide = 2;
  const bool has_ffn = classes.ffn.elements > 0, has_attention = classes.attention.elements > 0;
  const Mean& main = has_ffn ? classes.ffn : has_attention ? classes.attention : classes.routed;
  if (main.elements == 0) return;
  model["weight_bytes_per_element"] = main.weight();
  const std::optional<double> activation = activation_of(main, wide);
  if (activation) model["activation_bytes_per_element"] = *activation;
  const auto differ = [&](const Mean& other, Json& object, const std::string& prefix) {
    if (other.elements == 0) return;
    if (other.weight() != main.weight()) object[prefix + "weight_bytes_per_element"] = other.weight();
    const std::optional<double> own = activation_of(other, wide);
    if (own != activation) object[prefix + "activation_bytes_per_element"] = own.value_or(wide);
  };
  differ(classes.attention, model, "attention_");
  if (model.contains("experts")) differ(classes.routed, model["experts"], "");
}

}  // namespace

void write_weight_formats(const Quantisation& quantisation, const std::vector<Mixer>& mixers,
                          const std::vector<LayerFfn>& ffns, Json& model) {
  write_classes(classes_of(quantisation, mixers, ffns, model), model);
}

}  // namespace kvcap
