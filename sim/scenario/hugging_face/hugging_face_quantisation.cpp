// Reads the number formats of a Hugging Face model from quantization_config, which may come from
// hf_quant_config.json, for all supported methods.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/input_error.h"
#include "scenario/hugging_face/hf_quantisation.h"

namespace kvcap {
namespace {

// Bytes per element, including an 8-bit scale that 32 elements share (mxfp4, mxfp8: OCP Microscaling) or 16
// elements (nvfp4).
constexpr double kMxfp4Bytes = (4 + 8.0 / 32) / 8;
constexpr double kNvfp4Bytes = (4 + 8.0 / 16) / 8;
constexpr double kMxfp8Bytes = (8 + 8.0 / 32) / 8;

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

// Returns the format of integers of `bits` bits. Each `group` elements share a 16-bit scale and, if
// has_zero_points is set, a zero point of `bits` bits. With a `group` of 0 their size is neglected.
Stored integers_of(double bits, double group, bool has_zero_points) {
  const double shared_bits = group > 0 ? (16 + (has_zero_points ? bits : 0)) / group : 0;
  return {.weight = (bits + shared_bits) / 8, .activation = {}};
}

// ---- methods ----

// Returns the number of elements that share a scale; 0 if a whole channel does, for which files may have -1.
double group_of(const HfConfig& config, std::initializer_list<std::string_view> keys, int64_t otherwise) {
  const Json* found = config.find(keys);
  const bool is_channel = found && found->is_number_integer() && *found < 0;
  return is_channel ? 0 : static_cast<double>(config.integer(keys, otherwise));
}

Stored weights_of(const HfConfig& weights) {
  const auto bits = static_cast<double>(weights.positive({"num_bits"}));
  const double group = group_of(weights, {"group_size"}, 0);
  if (bits == 4 && weights.text("type") == "float") return {group == 32 ? kMxfp4Bytes : kNvfp4Bytes, {}};
  const Json* symmetric = weights.find({"symmetric"});
  return integers_of(bits, group, symmetric && *symmetric == false);
}

// Adds the groups of config_groups, each with its targets and its format (compressed-tensors, newer files of
// modelopt).
void add_groups(const HfConfig& config, Quantisation& made) {
  const Json* groups = config.object("config_groups");
  if (!groups || groups->empty())
    throw InputError(config.place() + ": config_groups: missing or empty, required");
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
    if (targets && !targets->is_array()) group.fail("targets", shown(*targets), "a list of module names");
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
    "FP8, FP8_PB_WO, MXFP8, INT8_SQ, W8A16, NVFP4, W4A16_NVFP4, W4A8_NVFP4_FP8, MXFP4, W4A16_AWQ, W4A8_AWQ, "
    "MIXED_PRECISION";

std::optional<Stored> modelopt_stored(const std::string& algorithm, double group) {
  const std::string name = lower(algorithm);
  if (name == "w4a16_nvfp4" || name == "nvfp4_w4a16") return Stored{kNvfp4Bytes, {}};
  if (name.starts_with("nvfp4")) return Stored{kNvfp4Bytes, 0.5};
  if (name == "w4a8_nvfp4_fp8") return Stored{kNvfp4Bytes, 1.0};
  if (name == "mxfp4" || name == "w4a8_mxfp4_fp8") return Stored{kMxfp4Bytes, name == "mxfp4" ? 0.5 : 1.0};
  if (name == "mxfp8") return Stored{kMxfp8Bytes, 1.0};
  if (name.starts_with("fp8") || name == "int8_sq" || name == "w8a8_sq_per_channel") return Stored{1.0, 1.0};
  if (name.starts_with("w4a16") || name.starts_with("int4"))
    return integers_of(4, group > 0 ? group : 128, false);
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
  const auto stored = modelopt_stored(algorithm, group_of(config, {"group_size"}, 0));
  if (!stored) config.fail("quant_algo", "\"" + algorithm + "\"", kModeloptAlgorithms);
  return *stored;
}

Quantisation modelopt(const HfConfig& config) {
  Quantisation made;
  made.ignored.add_listed(config, {"ignore", "exclude_modules"});
  add_kv_scheme(config, made);
  const bool only_kv = !config.has("quant_algo") && made.kv_bytes > 0;
  if (only_kv) return made;
  if (lower(config.text("quant_algo")) != "mixed_precision") {
    made.others = modelopt_stored_or_fail(config);
    config.find({"config_groups"});  // repeats quant_algo
    return made;
  }
  const Json* layers = config.object("quantized_layers");
  if (!layers || layers->empty()) {
    add_groups(config, made);
    return made;
  }
  made.takes_output = true;
  std::map<std::string, Stored> known;  // thousands of layers share a few formats
  for (const auto& [name, object] : layers->items()) {
    const std::string form = object.dump();
    auto found = known.find(form);
    if (found == known.end()) {
      const HfConfig layer(object, config.place() + ".quantized_layers." + name);
      found = known.emplace(form, modelopt_stored_or_fail(layer)).first;
    }
    made.named.emplace(canonical_module(name), found->second);
  }
  return made;
}

// Reads AMD's quark format.
Quantisation quark(const HfConfig& config) {
  Quantisation made;
  made.ignored.add_listed(config, {"exclude"});
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
    if (weight.empty()) return Stored{};
    if (!bytes(weight))
      config.fail("global_quant_config.weight.dtype", "\"" + weight + "\"", "fp8_e4m3, int8, fp4, int4");
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

// Adds the modules that `dynamic` (GPTQModel; "-:" excludes matches) or `extra_config` (AutoRound) stores
// with other bits.
void add_exceptions(const HfConfig& config, std::string_view key, double group, Quantisation& made) {
  const Json* found = config.object(key);
  if (!found) return;
  for (const auto& [name, object] : found->items()) {
    const std::string place = config.place() + ": " + std::string(key);
    const bool is_pattern = name.starts_with("-:") || name.starts_with("+:");
    const std::string module = (key == "dynamic" ? "re:" : "") + (is_pattern ? name.substr(2) : name);
    const int64_t bits = HfConfig(object, place + "." + name).integer({"bits"}, 0);
    if (name.starts_with("-:") || bits >= 16) {
      made.ignored.add(module, place);
    } else if (bits > 0) {
      made.groups.push_back({});
      made.groups.back().modules.add(module, place);
      made.groups.back().stored = integers_of(static_cast<double>(bits), group, false);
    }
  }
}

// Reads methods that give the number of bits and have a scale and a zero point per group: AWQ, GPTQ,
// AutoRound.
Quantisation by_bits(const HfConfig& config, double bits) {
  const double group = group_of(config, {"group_size", "q_group_size"}, 128);
  const bool symmetric = config.is_true("sym");
  const bool zero = config.has("zero_point") ? config.is_true("zero_point") : true;
  const Stored stored = integers_of(bits, group, zero || !symmetric);
  Quantisation made = all_as(stored);
  made.takes_output = config.is_true("lm_head");
  made.ignored.add_listed(config, {"modules_to_not_convert"});
  add_exceptions(config, "dynamic", group, made);
  add_exceptions(config, "extra_config", group, made);
  // GPTQ in transformers quantises only the modules in these lists, if there are any.
  const Json* inside = config.find({"modules_in_block_to_quantize"});
  if (!inside || !inside->is_array() || inside->empty()) return made;
  made.others.reset();
  made.groups.push_back({.modules = {}, .stored = stored});
  for (const Json& names : *inside) {
    for (const Json& name : names.is_array() ? names : Json::array({names})) {
      if (name.is_string()) made.groups.back().modules.add(name.get<std::string>(), config.place());
    }
  }
  return made;
}

Quantisation quantisation_of(const HfConfig& config, const std::string& method) {
  if (method == "compressed-tensors") {
    Quantisation made;
    made.ignored.add_listed(config, {"ignore"});
    add_kv_scheme(config, made);
    add_groups(config, made);
    return made;
  }
  if (method.starts_with("modelopt") || (method.empty() && config.has("quant_algo"))) return modelopt(config);
  if (method == "quark") return quark(config);
  if (method == "mxfp4") {
    // Only the experts are quantised, even if other modules are listed.
    Quantisation made;
    made.groups.push_back({});
    made.groups.back().modules.add("experts", config.place());
    made.groups.back().stored.weight = kMxfp4Bytes;
    return made;
  }
  if (method == "nvfp4") return all_as({kNvfp4Bytes, 0.5});
  if (method == "fp8" || method == "fbgemm_fp8") {
    const std::vector<int64_t> block = config.integers("weight_block_size");
    // DeepSeek's blocks have 32-bit scales.
    const double scale = block.size() == 2 && block[0] > 0 && block[1] > 0
                             ? 4.0 / (static_cast<double>(block[0]) * static_cast<double>(block[1]))
                             : 0;
    Quantisation made = all_as({1 + scale, 1.0});
    if (scale > 0 && block[0] == block[1]) made.block = block[0];
    made.ignored.add_listed(config, {"modules_to_not_convert", "ignored_layers"});
    return made;
  }
  if (method == "eetq" || method == "experts_int8") return all_as({1.0, {}});
  const Json* bits = config.find({"bits", "w_bit"});
  if (bits && bits->is_number()) return by_bits(config, bits->get<double>());
  if (method == "bitsandbytes" || method.empty()) {
    Quantisation made;
    made.ignored.add_listed(config, {"llm_int8_skip_modules"});
    if (config.is_true("load_in_8bit") || config.is_true("_load_in_8bit")) made.others = Stored{1.0, {}};
    // One 32-bit scale per 64 elements, or 8 bits with double quantisation.
    const double scale = config.is_true("bnb_4bit_use_double_quant") ? 1.0 / 64 : 4.0 / 64;
    if (config.is_true("load_in_4bit") || config.is_true("_load_in_4bit"))
      made.others = Stored{0.5 + scale, {}};
    if (made.others) return made;
  }
  config.fail(
      "quant_method", "\"" + method + "\"",
      "fp8, fbgemm_fp8, mxfp4, nvfp4, modelopt, compressed-tensors, quark, bitsandbytes, awq, gptq, or a "
      "method with bits; or a model file with weight_bytes_per_element");
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
  if (made.block > 0) model["weight_block_size"] = made.block;
  write_weight_formats(made, mixers, ffns, model);
  // Only linear layers are quantised: embeddings stay in 16 bits, and so does the output projection with most
  // methods.
  model["embedding_bytes_per_element"] = 2;
  const std::optional<double> output = made.of("lm_head").weight;
  if (made.takes_output && output) model["output_bytes_per_element"] = *output;
}

}  // namespace kvcap
