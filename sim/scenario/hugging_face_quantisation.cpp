// How a Hugging Face model's numbers are stored: quantization_config in the forms of its methods.
#include <algorithm>
#include <string>

#include "base/input_error.h"
#include "scenario/hf_config.h"

namespace kvcap {
namespace {

// Four bits and what they share: a scale of 8 bits for 32 (mxfp4, OCP Microscaling) or for 16 (nvfp4).
constexpr double kMxfp4Bytes = (4 + 8.0 / 32) / 8;
constexpr double kNvfp4Bytes = (4 + 8.0 / 16) / 8;

struct Stored {
  double weight_bytes = 0;      // 0: as torch_dtype
  double activation_bytes = 0;  // 0: not quantised
  double kv_bytes = 0;          // 0: not quantised
  bool experts_only = false;
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

// compressed-tensors: groups of layers, of which the first that has weights counts.
Stored compressed_tensors(const HfConfig& config) {
  Stored stored;
  const Json* groups = config.object("config_groups");
  if (!groups || groups->empty()) config.required({"config_groups"});
  const Json& first = groups->begin().value();
  const std::string at = config.place() + ".config_groups." + groups->begin().key();
  if (!first.is_object()) config.fail("config_groups", shown(first), "objects");
  const HfConfig group(first, at);
  if (const Json* weights = group.object("weights")) {
    const HfConfig of_weights(*weights, at + ".weights");
    const auto bits = static_cast<double>(of_weights.positive({"num_bits"}));
    stored.weight_bytes = bits / 8;
    if (bits == 4 && of_weights.text("type") == "float") stored.weight_bytes = kNvfp4Bytes;
  }
  if (const Json* inputs = group.object("input_activations")) {
    const auto bits = HfConfig(*inputs, at + ".input_activations").positive({"num_bits"});
    if (bits < 16) stored.activation_bytes = static_cast<double>(bits) / 8;
  }
  if (const Json* kv = config.object("kv_cache_scheme")) {
    const int64_t bits = HfConfig(*kv, config.place() + ".kv_cache_scheme").positive({"num_bits"});
    stored.kv_bytes = static_cast<double>(bits) / 8;
  }
  return stored;
}

Stored modelopt(const HfConfig& config) {
  Stored stored;
  const std::string algorithm = lower(config.text("quant_algo"));
  if (algorithm.starts_with("nvfp4")) {
    stored.weight_bytes = kNvfp4Bytes;
    stored.activation_bytes = 0.5;
  } else if (algorithm.starts_with("fp8")) {
    stored.weight_bytes = stored.activation_bytes = 1;
  } else if (algorithm.starts_with("w4a16") || algorithm.starts_with("int4")) {
    stored.weight_bytes = 0.5;
  } else {
    config.fail("quant_algo", "\"" + config.text("quant_algo") + "\"", "FP8, NVFP4, W4A16_AWQ");
  }
  stored.kv_bytes = kv_bytes_of(config.text("kv_cache_quant_algo"));
  if (const Json* kv = config.object("kv_cache_scheme")) {
    const int64_t bits = HfConfig(*kv, config.place() + ".kv_cache_scheme").positive({"num_bits"});
    stored.kv_bytes = static_cast<double>(bits) / 8;
  }
  return stored;
}

Stored stored_by(const HfConfig& config, const std::string& method) {
  if (method == "fp8" || method == "fbgemm_fp8") return {.weight_bytes = 1, .activation_bytes = 1};
  if (method == "mxfp4") return {.weight_bytes = kMxfp4Bytes, .experts_only = true};
  if (method == "nvfp4") return {.weight_bytes = kNvfp4Bytes, .activation_bytes = 0.5};
  if (method == "compressed-tensors") return compressed_tensors(config);
  if (method.starts_with("modelopt")) return modelopt(config);
  const int64_t bits = config.integer({"bits", "w_bit"}, 0);
  if (bits > 0) return {.weight_bytes = static_cast<double>(bits) / 8};
  if (config.is_true("load_in_8bit") || config.is_true("_load_in_8bit")) return {.weight_bytes = 1};
  if (config.is_true("load_in_4bit") || config.is_true("_load_in_4bit")) return {.weight_bytes = 0.5};
  config.fail(
      "quant_method", "\"" + method + "\"",
      "fp8, fbgemm_fp8, mxfp4, nvfp4, modelopt, compressed-tensors, or a method with bits; or a model "
      "file with weight_bytes_per_element");
}

}  // namespace

void add_quantisation(const HfConfig& config, Json& model) {
  const Json* found = config.find({"quantization_config"});
  if (!found) return;
  const std::string place = config.place() + ": quantization_config";
  Stored stored;
  if (found->is_string()) {
    const Json none = Json::object();
    stored = stored_by(HfConfig(none, place), lower(found->get<std::string>()));
  } else if (found->is_object()) {
    const HfConfig quantisation(*found, place);
    stored = stored_by(quantisation, quantisation.text("quant_method"));
  } else {
    config.fail("quantization_config", shown(*found), "an object or a text");
  }
  if (stored.kv_bytes > 0) model["kv_bytes_per_element"] = stored.kv_bytes;
  if (stored.weight_bytes == 0) return;
  if (stored.experts_only && model.contains("experts")) {
    model["experts"]["weight_bytes_per_element"] = stored.weight_bytes;
    return;
  }
  model["weight_bytes_per_element"] = stored.weight_bytes;
  if (stored.activation_bytes == 0) return;
  model["activation_bytes_per_element"] = stored.activation_bytes;
  model["embedding_bytes_per_element"] = 2;
}

}  // namespace kvcap
