#include "cost/kv_layers.h"

#include "cost/layer_shapes.h"

namespace kvcap {
namespace {

KvRule rule_of(AttentionKind kind) {
  switch (kind) {
    case AttentionKind::full:
    case AttentionKind::latent:
      return KvRule::all;
    case AttentionKind::sliding:
      return KvRule::window;
    case AttentionKind::chunked:
      return KvRule::chunk;
    case AttentionKind::recurrent:
      return KvRule::checkpoint;
  }
  return KvRule::all;
}

}  // namespace

std::vector<KvLayers> kv_layers(const ModelSpec& model, int64_t tensor_parallel_size,
                                int64_t decode_context_parallel_size) {
  const auto gpus = static_cast<double>(tensor_parallel_size);
  std::vector<KvLayers> kinds;
  for (const LayerGroup& group : model.groups()) {
    KvLayers kind{.rule = rule_of(group.attention), .layers = group.layers, .tokens = group.window_tokens};
    if (group.recurrent) {
      kind.state_bytes = group.recurrent->bytes() / gpus;
    } else if (group.latent) {
      kind.bytes_per_token = group.kv_bytes_per_token_layer();
    } else {
      const auto heads = static_cast<double>(group.num_key_value_heads);
      const auto here = static_cast<double>(divide_up(group.num_key_value_heads, tensor_parallel_size));
      kind.bytes_per_token = group.kv_bytes_per_token_layer() * here / heads;
    }
    kind.bytes_per_token /= static_cast<double>(decode_context_parallel_size);
    kinds.push_back(kind);
  }
  return kinds;
}

KvLayout kv_layout_of(const ModelSpec& model, int64_t tensor_parallel_size, int64_t block_tokens,
                      int64_t decode_context_parallel_size) {
  return kv_layout(kv_layers(model, tensor_parallel_size, decode_context_parallel_size),
                   block_tokens * decode_context_parallel_size);
}

}  // namespace kvcap
