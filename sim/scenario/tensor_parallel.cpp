#include "scenario/tensor_parallel.h"

#include <algorithm>
#include <vector>

#include "spec/engine_version.h"

namespace kvcap {
namespace {

bool divides_kv(int64_t heads, int64_t size) { return heads % size == 0 || size % heads == 0; }

// `rounds_kv_up`: GPUs may have different numbers of KV heads.
std::string allowed_heads(const ModelSpec& model, int64_t size, bool rounds_kv_up) {
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
    if (group.recurrent || group.latent || rounds_kv_up || divides_kv(group.num_key_value_heads, size))
      continue;
    return "a divisor or a multiple of the " + std::to_string(group.num_key_value_heads) + " KV heads" +
           of_group + (model.is_uniform() ? " (model.num_key_value_heads)" : "");
  }
  return "";
}

// Returns the side of the blocks of routed experts. From 0.29 on, vLLM divides these blocks into smaller ones
// of at least 32 (vllm#53896).
int64_t expert_block(const ServingOptions& serving, int64_t block) {
  constexpr int64_t kSmallest = 32;
  const bool divides =
      serving.engine == EngineKind::vllm &&
      parse_engine_version(serving.engine_version).value_or(kNewestVllm) >= EngineVersion{0, 29};
  return divides && block % kSmallest == 0 ? kSmallest : block;
}

// vLLM and SGLang refuse to divide a block of FP8 weights that share a scale (vLLM 0.15:
// quantization/utils/fp8_utils.py, validate_fp8_block_shape; quantization/fp8.py, Fp8MoEMethod). Shared
// experts are divided even if routed ones are whole, except where data parallel ranks exchange tokens.
std::string allowed_blocks(const Scenario& scenario, int64_t size) {
  const ModelSpec& model = scenario.model;
  const ServingOptions& serving = scenario.serving;
  const int64_t block = model.weight_block_size;
  if (block == 0 || serving.engine == EngineKind::trtllm) return "";
  const auto is_cut = [](int64_t width, int64_t parts, int64_t side) {
    return parts > 1 && width % (parts * side) != 0;
  };
  const auto allowed = [](int64_t width, const std::string& of, int64_t side) {
    return "a size that divides the " + std::to_string(width) + " columns of " + of +
           " into whole blocks of " + std::to_string(side) + " (model.weight_block_size)";
  };
  const bool has_dense = !model.experts || model.experts->dense_layers > 0;
  if (has_dense && is_cut(model.intermediate_size, size, block)) {
    return allowed(model.intermediate_size, "an FFN", block);
  }
  if (!model.experts) return "";
  const int64_t ranks = serving.data_parallel_size, shared = model.experts->shared_width();
  const bool exchanges = serving.expert_parallel && ranks > 1;
  if (shared > 0 && !exchanges && is_cut(shared, size, block))
    return allowed(shared, "the shared experts", block);
  const int64_t of_expert = expert_block(serving, block);
  if (serving.expert_parallel || !is_cut(model.experts->intermediate_size, size * ranks, of_expert))
    return "";
  return allowed(model.experts->intermediate_size, "an expert", of_expert) + ", or serving.expert_parallel";
}

}  // namespace

std::string allowed_division(const Scenario& scenario, int64_t size) {
  // TensorRT-LLM rounds the KV heads of a GPU up.
  const std::string heads =
      allowed_heads(scenario.model, size, scenario.serving.engine == EngineKind::trtllm);
  return heads.empty() ? allowed_blocks(scenario, size) : heads;
}

}  // namespace kvcap
