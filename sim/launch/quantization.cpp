#include "launch/quantization.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/files.h"
#include "launch/values.h"

namespace kvcap {
namespace {

// Pairs of a checkpoint format and a name that flags use for it or its kernels
// (vllm/model_executor/layers/quantization, sglang/srt/layers/quantization).
constexpr std::pair<std::string_view, std::string_view> kKernels[] = {{"awq", "awq_marlin"},
                                                                      {"awq", "moe_wna16"},
                                                                      {"awq", "auto_awq"},
                                                                      {"awq", "marlin"},
                                                                      {"gptq", "auto_gptq"},
                                                                      {"awq", "humming"},
                                                                      {"gptq", "humming"},
                                                                      {"fp8", "humming"},
                                                                      {"gptq", "gptq_marlin"},
                                                                      {"gptq", "marlin"},
                                                                      {"gptq", "moe_wna16"},
                                                                      {"modelopt", "modelopt_fp8"},
                                                                      {"modelopt", "modelopt_fp4"},
                                                                      {"modelopt", "modelopt_mixed"},
                                                                      {"modelopt", "nvfp4"},
                                                                      {"modelopt", "petit_nvfp4"},
                                                                      {"mxfp4", "gpt_oss_mxfp4"},
                                                                      {"fp8", "fbgemm_fp8"},
                                                                      {"auto-round", "inc"},
                                                                      {"compressed-tensors", "w8a8_int8"},
                                                                      {"compressed-tensors", "w8a8_fp8"}};

// Formats in names of checkpoints, and the methods of flags that read such checkpoints. Any of them may be
// made by llm-compressor (compressed-tensors).
const std::pair<std::string_view, std::vector<std::string_view>> kNamed[] = {
    {"awq",
     {"awq", "awq-marlin", "auto-awq", "marlin", "humming", "moe-wna16", "compressed-tensors", "auto-round",
      "inc"}},
    {"gptq",
     {"gptq", "gptq-marlin", "auto-gptq", "gptq-bitblas", "marlin", "humming", "moe-wna16",
      "compressed-tensors", "auto-round", "inc"}},
    {"nvfp4",
     {"modelopt", "modelopt-fp4", "modelopt-mixed", "nvfp4", "petit-nvfp4", "humming", "compressed-tensors"}},
    {"fp8",
     {"fp8", "humming", "w4afp8", "fbgemm-fp8", "w8a8-fp8", "modelopt", "modelopt-fp8", "modelopt-mixed",
      "compressed-tensors", "quark"}}};

std::string plain(std::string_view method) {
  std::string name = lower_case(method);
  for (char& letter : name) letter = letter == '_' ? '-' : letter;
  return name;
}

// Returns the model's config.json; null if it has none or `model` is a name of the catalogue.
nlohmann::json config_of(const std::string& model) {
  std::filesystem::path file = model;
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) file /= "config.json";
  if (!std::filesystem::is_regular_file(file, ignored)) return nullptr;
  return nlohmann::json::parse(read_text(file), nullptr, false);
}

}  // namespace

std::string quantization_of(const std::string& model) {
  const nlohmann::json config = config_of(model);
  if (!config.is_object()) return "";
  for (const nlohmann::json* place :
       {&config, config.contains("text_config") ? &config["text_config"] : &config}) {
    if (!place->is_object() || !place->contains("quantization_config")) continue;
    const nlohmann::json& said = (*place)["quantization_config"];
    if (said.is_object() && said.contains("quant_method") && said["quant_method"].is_string())
      return said["quant_method"].get<std::string>();
  }
  return "";
}

bool scales_positions(const std::string& model) {
  const nlohmann::json config = config_of(model);
  if (!config.is_object()) return false;
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const auto found = config.find(key);
    if (found == config.end() || !found->is_object() || !found->contains("factor")) continue;
    const nlohmann::json& factor = (*found)["factor"];
    if (factor.is_number() && factor.get<double>() > 1) return true;
  }
  return false;
}

bool is_same_quantization(std::string_view of_config, std::string_view of_flag) {
  const std::string config = plain(of_config), flag = plain(of_flag);
  if (config == flag) return true;
  for (const auto& [format, kernel] : kKernels) {
    if (plain(format) == config && plain(kernel) == flag) return true;
  }
  return false;
}

std::string contradicted_format(std::string_view model, std::string_view of_flag) {
  const std::string name = plain(model), flag = plain(of_flag);
  for (const auto& [format, methods] : kNamed) {
    if (name.find(format) == std::string::npos) continue;
    const bool is_read = std::find(methods.begin(), methods.end(), flag) != methods.end();
    return is_read ? "" : std::string(format);
  }
  return "";
}

double per_token_head_bytes(const ModelSpec& model) {
  constexpr double kScaleBytes = 4;
  return 1 + kScaleBytes / static_cast<double>(model.head_dim);
}

}  // namespace kvcap
