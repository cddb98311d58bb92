// How a Hugging Face model's numbers are stored: quantization_config, or hf_quant_config.json beside it, in the
// forms of its methods. Which matrices of which layers are quantised is asked by the names that they have in
// the checkpoint; what comes out are the mean bytes of a weight of attention, FFNs and routed experts.
#include <algorithm>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/input_error.h"
#include "scenario/hf_config.h"

namespace kvcap {
namespace {

// Four bits and what they share: a scale of 8 bits for 32 (mxfp4, OCP Microscaling) or for 16 (nvfp4).
constexpr double kMxfp4Bytes = (4 + 8.0 / 32) / 8;
constexpr double kNvfp4Bytes = (4 + 8.0 / 16) / 8;
constexpr double kMxfp8Bytes = (8 + 8.0 / 32) / 8;

// Bytes of an element; no weight: 16 bits; no activation: what enters is not quantised.
struct Stored {
  std::optional<double> weight, activation;
};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

double kv_bytes_of(const std::string& algorithm) {
  const std::string name = lower(algorithm);
  if (name.starts_with("fp8") || name == "int8") return 1;
  if (name.starts_with("nvfp4") || name == "fp4") return kNvfp4Bytes;
  return 0;
}

// Integers of so many bits with a 16-bit scale, and where there is one a zero point, for `group` of them.
Stored integers_of(double bits, double group, bool has_zero_points) {
  const double shared_bits = group > 0 ? (16 + (has_zero_points ? bits : 0)) / group : 0;
  return {.weight = (bits + shared_bits) / 8, .activation = {}};
}

// ---- which modules ----

// "layers.3.mlp.up_proj" of "model.language_model.layers.3.mlp.up_proj".
std::string canonical(std::string_view name) {
  for (bool again = true; again;) {
    again = false;
    for (std::string_view prefix : {"model.", "language_model.", "backbone.", "transformer.", "decoder.", "llm."}) {
      if (!name.starts_with(prefix)) continue;
      name.remove_prefix(prefix.size());
      again = true;
    }
  }
  return std::string(name == "head" || name == "output" ? "lm_head" : name);
}

bool matches_glob(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() != '*') {
    return !text.empty() && pattern.front() == text.front() && matches_glob(pattern.substr(1), text.substr(1));
  }
  while (!pattern.empty() && pattern.front() == '*') pattern.remove_prefix(1);
  if (pattern.empty()) return true;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (matches_glob(pattern, text.substr(i))) return true;
  }
  return false;
}

// Module names as lists of modules write them: a name, which stands for all below it and may leave out what is
// above; a pattern with *; "re:" and a regular expression.
class Modules {
 public:
  void add(const std::string& name, const std::string& place) {
    if (name.starts_with("re:")) {
      try {
        expressions_.emplace_back(name.substr(3), std::regex::ECMAScript | std::regex::optimize);
      } catch (const std::regex_error&) {
        throw InputError(place + ": found \"" + name + "\", allowed: re: and a regular expression");
      }
    } else if (name.find('*') != std::string::npos) {
      const std::string pattern = canonical(name);
      globs_[layer_of(pattern)].push_back(pattern);
    } else {
      const std::string plain = canonical(name);
      names_[layer_of(plain)].push_back(plain);
    }
  }
  bool empty() const { return expressions_.empty() && globs_.empty() && names_.empty(); }
  // `module`: "layers.3.mlp.up_proj", or "lm_head".
  bool have(const std::string& module) const {
    for (const std::string& layer : {layer_of(module), std::string()}) {
      if (const auto found = names_.find(layer); found != names_.end()) {
        for (const std::string& name : found->second) {
          if (("." + module + ".").find("." + name + ".") != std::string::npos) return true;
        }
      }
      if (const auto found = globs_.find(layer); found != globs_.end()) {
        for (const std::string& glob : found->second) {
          if (has_glob(glob, module)) return true;
        }
      }
      if (layer.empty()) break;
    }
    for (const std::regex& expression : expressions_) {
      for (const char* prefix : {"model.", "model.language_model.", "language_model.model.", ""}) {
        if (std::regex_search(prefix + module, expression, std::regex_constants::match_continuous)) return true;
      }
    }
    return false;
  }

 private:
  // "layers.3." of what begins with a layer's number; else "".
  static std::string layer_of(const std::string& module) {
    if (!module.starts_with("layers.")) return "";
    const std::size_t end = module.find_first_not_of("0123456789", 7);
    return end == 7 || end == std::string::npos || module[end] != '.' ? "" : module.substr(0, end + 1);
  }
  // The module, or what it is part of.
  static bool has_glob(const std::string& glob, const std::string& module) {
    for (std::size_t end = module.size(); end != std::string::npos && end > 0;
         end = module.rfind('.', end - 1)) {
      if (matches_glob(glob, std::string_view(module).substr(0, end))) return true;
    }
    return matches_glob(glob, "x." + module);
  }

  std::vector<std::regex> expressions_;
  std::unordered_map<std::string, std::vector<std::string>> globs_, names_;  // by layer
};

void add_listed(const HfConfig& config, std::initializer_list<std::string_view> keys, Modules& modules) {
  const Json* found = config.find(keys);
  if (!found) return;
  const std::string key(*keys.begin());
  if (!found->is_array()) config.fail(key, shown(*found), "a list of module names");
  for (const Json& name : *found) {
    if (!name.is_string()) config.fail(key, shown(name), "module names");
    modules.add(name.get<std::string>(), config.place() + ": " + key);
  }
}

// What a quantization_config comes to: how each module is stored.
struct Quantisation {
  struct Group {
    Modules modules;
    Stored stored;
  };

  Modules ignored;                 // stay in 16 bits
  std::vector<Group> groups;       // the first that has a module
  std::optional<Stored> others;    // what no group has; none: 16 bits
  bool takes_output = false;       // the output projection is a module like others
  double kv_bytes = 0;             // 0: not quantised
  std::unordered_map<std::string, Stored> named = {};  // modules by their whole names

  Stored of(const std::string& module) const {
    for (std::size_t end = module.size(); !named.empty() && end != std::string::npos && end > 0;
         end = module.rfind('.', end - 1)) {
      if (const auto found = named.find(module.substr(0, end)); found != named.end()) return found->second;
    }
    if (ignored.have(module)) return {};
    for (const Group& group : groups) {
      if (group.modules.have(module)) return group.stored;
    }
    return others.value_or(Stored{});
  }
};

// ---- methods ----

Stored weights_of(const HfConfig& weights) {
  const auto bits = static_cast<double>(weights.positive({"num_bits"}));
  const auto group = static_cast<double>(weights.integer({"group_size"}, 0));
  if (bits == 4 && weights.text("type") == "float") return {group == 32 ? kMxfp4Bytes : kNvfp4Bytes, {}};
  const Json* symmetric = weights.find({"symmetric"});
  return integers_of(bits, group, symmetric && *symmetric == false);
}

// compressed-tensors, and modelopt's newer form: groups of targets.
void add_groups(const HfConfig& config, Quantisation& made) {
  const Json* groups = config.object("config_groups");
  if (!groups || groups->empty()) config.required({"config_groups"});
  for (const auto& [name, object] : groups->items()) {
    const std::string at = config.place() + ".config_groups." + name;
    if (!object.is_object()) config.fail("config_groups", shown(object), "objects");
    const HfConfig group(object, at);
    Quantisation::Group one;
    if (const Json* weights = group.object("weights")) {
      one.stored = weights_of(HfConfig(*weights, at + ".weights"));
    }
    if (const Json* inputs = group.object("input_activations")) {
      const auto bits = HfConfig(*inputs, at + ".input_activations").positive({"num_bits"});
      if (bits < 16) one.stored.activation = static_cast<double>(bits) / 8;
    }
    const Json* targets = group.find({"targets"});
    bool all = !targets;
    for (const Json& target : targets && targets->is_array() ? *targets : Json::array()) {
      if (!target.is_string()) continue;
      const auto text = target.get<std::string>();
      all |= text == "Linear" || text == "FusedMoE" || text == "MoEGMM";
      if (!all) one.modules.add(text, at + ".targets");
    }
    if (all) {
      made.others = one.stored;
    } else {
      made.groups.push_back(std::move(one));
    }
  }
}

void add_kv_scheme(const HfConfig& config, Quantisation& made) {
  made.kv_bytes = kv_bytes_of(config.text("kv_cache_quant_algo"));
  if (const Json* kv = config.object("kv_cache_scheme")) {
    const int64_t bits = HfConfig(*kv, config.place() + ".kv_cache_scheme").positive({"num_bits"});
    made.kv_bytes = static_cast<double>(bits) / 8;
  }
}

constexpr const char* kModeloptAlgorithms =
    "FP8, FP8_PB_WO, MXFP8, NVFP4, W4A16_NVFP4, W4A16_AWQ, W4A8_AWQ, INT8_SQ, MIXED_PRECISION";

std::optional<Stored> modelopt_stored(const std::string& algorithm, double group) {
  const std::string name = lower(algorithm);
  if (name == "w4a16_nvfp4" || name == "nvfp4_w4a16") return Stored{kNvfp4Bytes, {}};
  if (name.starts_with("nvfp4")) return Stored{kNvfp4Bytes, 0.5};
  if (name == "w4a8_nvfp4_fp8") return Stored{kNvfp4Bytes, 1.0};
  if (name == "mxfp4" || name == "w4a8_mxfp4_fp8") return Stored{kMxfp4Bytes, name == "mxfp4" ? 0.5 : 1.0};
  if (name == "mxfp8") return Stored{kMxfp8Bytes, 1.0};
  if (name.starts_with("fp8") || name == "int8_sq" || name == "w8a8_sq_per_channel") return Stored{1.0, 1.0};
  if (name.starts_with("w4a16") || name.starts_with("int4")) return integers_of(4, group > 0 ? group : 128, false);
  if (name.starts_with("w4a8")) {
    Stored stored = integers_of(4, group > 0 ? group : 128, false);
    stored.activation = 1;
    return stored;
  }
  if (name.starts_with("w8a16")) return integers_of(8, 0, false);
  return std::nullopt;
}

Stored modelopt_stored_or_fail(const HfConfig& config) {
  const std::string algorithm = config.text("quant_algo");
  const auto stored = modelopt_stored(algorithm, static_cast<double>(config.integer({"group_size"}, 0)));
  if (!stored) config.fail("quant_algo", "\"" + algorithm + "\"", kModeloptAlgorithms);
  return *stored;
}

Quantisation modelopt(const HfConfig& config) {
  Quantisation made;
  add_listed(config, {"ignore", "exclude_modules"}, made.ignored);
  add_kv_scheme(config, made);
  if (lower(config.text("quant_algo")) != "mixed_precision") {
    made.others = modelopt_stored_or_fail(config);
    config.find({"config_groups"});  // the same once more
    return made;
  }
  const Json* layers = config.object("quantized_layers");
  if (!layers || layers->empty()) {
    add_groups(config, made);
    return made;
  }
  made.takes_output = true;
  std::map<std::string, Stored> known;  // thousands of layers share a few forms
  for (const auto& [name, object] : layers->items()) {
    const std::string form = object.dump();
    auto found = known.find(form);
    if (found == known.end()) {
      const HfConfig layer(object, config.place() + ".quantized_layers." + name);
      found = known.emplace(form, modelopt_stored_or_fail(layer)).first;
    }
    made.named.emplace(canonical(name), found->second);
  }
  return made;
}

// AMD's.
Quantisation quark(const HfConfig& config) {
  Quantisation made;
  add_listed(config, {"exclude"}, made.ignored);
  const auto stored_of = [&](const Json& object, const std::string& place) {
    const auto part_of = [&](const char* key) -> std::string {
      const auto found = object.find(key);
      if (found == object.end() || found->is_null()) return "";
      const Json& one = found->is_array() && !found->empty() ? (*found)[0] : *found;
      return one.is_object() ? HfConfig(one, place + "." + key).text("dtype") : "";
    };
    const std::string weight = part_of("weight"), input = part_of("input_tensors");
    const auto bytes = [](const std::string& type) -> std::optional<double> {
      if (type.starts_with("fp8") || type == "int8") return 1.0;
      if (type == "fp4" || type == "mxfp4") return kMxfp4Bytes;
      if (type == "int4" || type == "uint4") return 0.5 + 2.0 / 128;
      return std::nullopt;
    };
    if (!bytes(weight)) config.fail("global_quant_config.weight.dtype", "\"" + weight + "\"", "fp8_e4m3, int8, fp4, int4");
    Stored stored{bytes(weight), bytes(input)};
    if (stored.activation && *stored.activation < 1) stored.activation = 0.5;
    return stored;
  };
  if (const Json* layers = config.object("layer_quant_config")) {
    for (const auto& [name, object] : layers->items()) {
      if (!object.is_object()) continue;
      Quantisation::Group group;
      group.modules.add(name, config.place() + ".layer_quant_config");
      group.stored = stored_of(object, config.place() + ".layer_quant_config." + name);
      made.groups.push_back(std::move(group));
    }
  }
  const Json* global = config.object("global_quant_config");
  if (!global) config.required({"global_quant_config"});
  made.others = stored_of(*global, config.place() + ".global_quant_config");
  return made;
}

Quantisation all_as(Stored stored) {
  Quantisation made;
  made.others = stored;
  return made;
}

// Methods that say how many bits there are, with a scale and a zero point for a group: AWQ, GPTQ, AutoRound.
Quantisation by_bits(const HfConfig& config, double bits) {
  const auto group = static_cast<double>(config.integer({"group_size", "q_group_size"}, 128));
  const bool symmetric = config.is_true("sym");
  const bool zero = config.has("zero_point") ? config.is_true("zero_point") : true;
  Quantisation made = all_as(integers_of(bits, group, zero || !symmetric));
  add_listed(config, {"modules_to_not_convert", "modules_in_block_to_not_quantize"}, made.ignored);
  return made;
}

Quantisation quantisation_of(const HfConfig& config, const std::string& method) {
  if (method == "compressed-tensors") {
    Quantisation made;
    add_listed(config, {"ignore"}, made.ignored);
    add_kv_scheme(config, made);
    add_groups(config, made);
    return made;
  }
  if (method.starts_with("modelopt") || (method.empty() && config.has("quant_algo"))) return modelopt(config);
  if (method == "quark") return quark(config);
  if (method == "mxfp4") {
    // Of the experts alone, whatever is listed beside them.
    Quantisation made;
    made.groups.push_back({});
    made.groups.back().modules.add("experts", config.place());
    made.groups.back().stored.weight = kMxfp4Bytes;
    return made;
  }
  if (method == "nvfp4") return all_as({kNvfp4Bytes, 0.5});
  if (method == "fp8" || method == "fbgemm_fp8") {
    const std::vector<int64_t> block = config.integers("weight_block_size");
    // DeepSeek's blocks have a scale of 32 bits.
    const double scale = block.size() == 2 && block[0] > 0 && block[1] > 0
                             ? 4.0 / (static_cast<double>(block[0]) * static_cast<double>(block[1]))
                             : 0;
    Quantisation made = all_as({1 + scale, 1.0});
    add_listed(config, {"modules_to_not_convert", "ignored_layers"}, made.ignored);
    return made;
  }
  if (method == "eetq" || method == "experts_int8") return all_as({1.0, {}});
  const Json* bits = config.find({"bits", "w_bit"});
  if (bits && bits->is_number()) return by_bits(config, bits->get<double>());
  if (method == "bitsandbytes" || method.empty()) {
    Quantisation made;
    add_listed(config, {"llm_int8_skip_modules"}, made.ignored);
    if (config.is_true("load_in_8bit") || config.is_true("_load_in_8bit")) made.others = Stored{1.0, {}};
    // A scale for 64, itself in 8 bits where it is quantised once more.
    const double scale = config.is_true("bnb_4bit_use_double_quant") ? 1.0 / 64 : 4.0 / 64;
    if (config.is_true("load_in_4bit") || config.is_true("_load_in_4bit")) made.others = Stored{0.5 + scale, {}};
    if (made.others) return made;
  }
  config.fail("quant_method", "\"" + method + "\"",
              "fp8, fbgemm_fp8, mxfp4, nvfp4, modelopt, compressed-tensors, quark, bitsandbytes, awq, gptq, or a "
              "method with bits; or a model file with weight_bytes_per_element");
}

// ---- classes of weights ----

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

void add_quantisation(const HfConfig& config, const std::vector<Mixer>& mixers,
                      const std::vector<LayerFfn>& ffns, Json& model) {
  const Json* found = config.find({"quantization_config"});
  if (!found) return;
  const std::string place = config.place() + ": quantization_config";
  Quantisation made;
  if (found->is_string()) {
    const Json none = Json::object();
    made = quantisation_of(HfConfig(none, place), lower(found->get<std::string>()));
  } else if (found->is_object()) {
    const HfConfig quantisation(*found, place);
    made = quantisation_of(quantisation, lower(quantisation.text("quant_method")));
  } else {
    config.fail("quantization_config", shown(*found), "an object or a text");
  }
  if (made.kv_bytes > 0) model["kv_bytes_per_element"] = made.kv_bytes;
  write_classes(classes_of(made, mixers, ffns, model, config.text("model_type")), model);
  // Embeddings are no linear operators; neither is the output projection for most methods.
  model["embedding_bytes_per_element"] = 2;
  const std::optional<double> output = made.of("lm_head").weight;
  if (made.takes_output && output) model["output_bytes_per_element"] = *output;
}

}  // namespace kvcap
