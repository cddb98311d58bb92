#include "scenario/tensor_parallel.h"

#include <vector>

namespace kvcap {
namespace {

bool divides_kv(int64_t heads, int64_t size) { return heads % size == 0 || size % heads == 0; }

std::string allowed_heads(const ModelSpec& model, int64_t size) {
  if (model.num_attention_heads % size != 0) {
    return "a divisor of model.num_attention_heads = " + std::to_string(model.num_attention_heads);
  }
  const std::vector<LayerGroup> groups = model.groups();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const LayerGroup& group = groups[i];
    const std::string of_group = model.is_uniform() ? "" : " of model.layer_groups." + std::to_string(i);
    const int64_t heads = group.recurrent ? group.recurrent->heads : group.num_attention_heads;
    if (heads % size != 0 && !(group.recurrent && heads == 1)) {
      return "a divisor of the " + std::to_string(heads) + " heads" + of_group;
    }
    if (group.recurrent || group.latent || divides_kv(group.num_key_value_heads, size)) continue;
    return "a divisor or a multiple of the " + std::to_string(group.num_key_value_heads) + " KV heads" +
           of_group + (model.is_uniform() ? " (model.num_key_value_heads)" : "");
  }
  return "";
}

// vLLM and SGLang refuse to divide a block of FP8 weights that share a scale (vLLM 0.15:
// quantization/utils/fp8_utils.py, validate_fp8_block_shape; quantization/fp8.py, Fp8MoEMethod).
std::string allowed_blocks(const Scenario& scenario, int64_t size) {
  const ModelSpec& model = scenario.model;
  const ServingOptions& serving = scenario.serving;
  const int64_t block = model.weight_block_size;
  if (block == 0 || serving.engine == EngineKind::trtllm) return "";
  const auto is_cut = [block](int64_t width, int64_t parts) {
    return parts > 1 && width % (parts * block) != 0;
  };
  const auto allowed = [&](int64_t width, const std::string& of) {
    return "a size that divides the " + std::to_string(width) + " columns of " + of +
           " into whole blocks of " + std::to_string(block) + " (model.weight_block_size)";
  };
  const bool has_dense = !model.experts || model.experts->dense_layers > 0;
  if (has_dense && is_cut(model.intermediate_size, size)) return allowed(model.intermediate_size, "an FFN");
  if (!model.experts || serving.expert_parallel) return "";
  if (!is_cut(model.experts->intermediate_size, size * serving.data_parallel_size)) return "";
  return allowed(model.experts->intermediate_size, "an expert") + ", or serving.expert_parallel";
}

}  // namespace

std::string allowed_division(const Scenario& scenario, int64_t size) {
  const std::string heads = allowed_heads(scenario.model, size);
  return heads.empty() ? allowed_blocks(scenario, size) : heads;
}

}  // namespace kvcap
