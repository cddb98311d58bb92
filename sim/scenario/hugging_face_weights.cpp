// The mean format of a Hugging Face model's attention, FFNs and routed experts: every matrix of every layer is
// asked for by the names that it has in the checkpoint.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "scenario/hf_quantisation.h"

namespace kvcap {
namespace {

struct Matrix {
  std::vector<std::string> names;  // any of which it may have
  double elements = 0;
};

// The mean of many matrices by what they hold.
struct Mean {
  double elements = 0, weight_bytes = 0, activation_bytes = 0;

  void add(const Quantisation& quantisation, const std::string& layer, const std::vector<Matrix>& matrices,
           double wide) {
    for (const Matrix& matrix : matrices) {
      // Lists name what is quantised, or what is not: who is named in one is.
      const bool names_exceptions = quantisation.others.has_value();
      Stored stored;
      for (const std::string& name : matrix.names) {
        stored = quantisation.of(layer + name);
        if (stored.weight.has_value() != names_exceptions) break;
      }
      elements += matrix.elements;
      weight_bytes += matrix.elements * stored.weight.value_or(wide);
      activation_bytes += matrix.elements * stored.activation.value_or(wide);
    }
  }
  double weight() const { return weight_bytes / elements; }
  // The format of most of it: GEMMs have one.
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

std::vector<Matrix> attention_matrices(const Json& model) {
  const double hidden = number(model, "hidden_size"), heads = number(model, "num_attention_heads");
  const double kv_heads = number(model, "num_key_value_heads");
  const double dim = model.contains("head_dim") ? number(model, "head_dim") : hidden / heads;
  const auto named = [](std::initializer_list<const char*> names) { return with_blocks({"self_attn"}, names); };
  if (model.contains("kv_lora_rank")) {
    const double rank = number(model, "kv_lora_rank"), q_rank = number(model, "q_lora_rank");
    const double value = number(model, "v_head_dim");
    const double nope = number(model, "qk_nope_head_dim");
    return {{named({"q_a_proj"}), hidden * q_rank},
            {named({"q_b_proj"}), (q_rank > 0 ? q_rank : hidden) * heads * dim},
            {named({"kv_a_proj_with_mqa"}), hidden * (rank + dim - nope)},
            {named({"kv_b_proj"}), rank * heads * (nope + value)},
            {named({"o_proj"}), heads * value * hidden}};
  }
  return {{named({"q_proj"}), hidden * heads * dim},
          {named({"k_proj"}), hidden * kv_heads * dim},
          {named({"v_proj"}), hidden * kv_heads * dim},
          {named({"o_proj"}), hidden * heads * dim}};
}

std::vector<Matrix> recurrent_matrices(bool is_delta) {
  // Both projections of a Mamba layer, or of a gated delta rule's: the first is twice to three times as large.
  if (!is_delta) return {{{"mixer.in_proj"}, 2}, {{"mixer.out_proj"}, 1}};
  return {{{"linear_attn.in_proj_qkv", "linear_attn.in_proj_qkvz"}, 1.5},
          {{"linear_attn.in_proj_z", "linear_attn.in_proj_qkvz"}, 1},
          {{"linear_attn.out_proj"}, 1}};
}

struct Classes {
  Mean attention, ffn, routed;
};

// Names of FFN matrices. Lists name one convention only, so the first whose layers they name decides; a model
// of experts has its own block.
Classes classes_of(const Quantisation& quantisation, const std::vector<Mixer>& mixers,
                   const std::vector<LayerFfn>& ffns, const Json& model, const std::string& family) {
  const bool is_nemotron = family == "nemotron_h";
  const char* block = is_nemotron                  ? "mixer"
                      : family.starts_with("minimax") || family == "mixtral" || family == "phimoe" ? "block_sparse_moe"
                      : family.starts_with("llama4") ? "feed_forward"
                                                     : "mlp";
  const double hidden = number(model, "hidden_size");
  const auto ffn = [&](const std::string& path, double elements) {
    std::vector<Matrix> matrices;
    for (const char* name : {"gate_proj", "up_proj", "down_proj"}) {
      if (is_nemotron && std::string_view(name) == "gate_proj") continue;
      matrices.push_back({{path + "." + name}, elements / 3});
    }
    return matrices;
  };
  const std::vector<Matrix> attention = is_nemotron
                                            ? std::vector<Matrix>{{{"mixer.q_proj"}, 1},
                                                                  {{"mixer.o_proj"}, 1},
                                                                  {{"mixer.k_proj"}, 0.1},
                                                                  {{"mixer.v_proj"}, 0.1}}
                                            : attention_matrices(model);
  const std::vector<Matrix> recurrent = recurrent_matrices(!is_nemotron && family != "jamba");
  const double recurrent_scale = 5 * hidden * hidden / 4;  // about what one layer's projections hold
  const Json experts = model.value("experts", Json::object());
  const double shared_width = number(experts, "shared") * (number(experts, "shared_intermediate_size") > 0
                                                               ? number(experts, "shared_intermediate_size")
                                                               : number(experts, "intermediate_size"));
  const std::string dense_block = is_nemotron || family.starts_with("llama4") ? block : "mlp";
  Classes classes;
  const double wide = 2;
  for (std::size_t i = 0; i < mixers.size(); ++i) {
    const std::string layer = "layers." + std::to_string(i) + ".";
    if (mixers[i] == Mixer::recurrent) {
      std::vector<Matrix> scaled = recurrent;
      for (Matrix& matrix : scaled) matrix.elements *= recurrent_scale;
      classes.attention.add(quantisation, layer, scaled, wide);
    } else if (mixers[i] != Mixer::none) {
      classes.attention.add(quantisation, layer, attention, wide);
    }
    if (ffns[i] == LayerFfn::dense) {
      classes.ffn.add(quantisation, layer, ffn(dense_block, 3 * hidden * number(model, "intermediate_size")), wide);
    } else if (ffns[i] == LayerFfn::sparse) {
      const std::string path = std::string(block);
      const auto named = [&](const char* one, const char* many) {
        // "shared_expert" and "shared_experts": a list names one of them.
        std::vector<Matrix> matrices = ffn(path + "." + one, 3 * hidden * shared_width);
        const std::vector<Matrix> others = ffn(path + "." + many, 0);
        for (std::size_t k = 0; k < matrices.size(); ++k) matrices[k].names.push_back(others[k].names[0]);
        return matrices;
      };
      if (shared_width > 0) classes.ffn.add(quantisation, layer, named("shared_expert", "shared_experts"), wide);
      std::vector<Matrix> routed = {{{path + ".experts.0.gate_proj", path + ".experts.0.w1"}, 1},
                                    {{path + ".experts.0.up_proj", path + ".experts.0.w3"}, 1},
                                    {{path + ".experts.0.down_proj", path + ".experts.0.w2"}, 1}};
      classes.routed.add(quantisation, layer, routed, wide);
    }
  }
  return classes;
}

// 16-bit weights meet 16-bit activations, whatever the mean.
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
                          const std::vector<LayerFfn>& ffns, const std::string& model_type, Json& model) {
  write_classes(classes_of(quantisation, mixers, ffns, model, model_type), model);
}

}  // namespace kvcap
