#include "cost/attention.h"

#include "base/check.h"
#include "cost/gemm.h"

namespace kvcap {
namespace {

// A thread block takes block_m queries of one head over all their keys and does not split the keys, so a
// short chunk over a long prefix leaves most SMs idle, and a wave of blocks lasts as long as its longest.
double wave_s(const Efficiency& efficiency, const Gpu& gpu, PrefillChunk chunk, const AttentionShape& shape) {
  KVCAP_CHECK(gpu.sm_count > 0 && efficiency.block_m > 0);
  const int64_t blocks =
      shape.query_heads * ((chunk.new_tokens + efficiency.block_m - 1) / efficiency.block_m);
  const int64_t waves = (blocks + gpu.sm_count - 1) / gpu.sm_count;
  const auto block_m = static_cast<double>(efficiency.block_m);
  const double keys =
      static_cast<double>(chunk.cached_tokens) + static_cast<double>(chunk.new_tokens) / 2 + block_m / 2;
  const double block_flops = 2 * block_m * static_cast<double>(shape.key_dim + shape.value_dim) * keys;
  const double sm_flops_per_s = gpu.peak_flops * efficiency.efficiency / static_cast<double>(gpu.sm_count);
  return static_cast<double>(waves) * block_flops / sm_flops_per_s + fixed_s(efficiency);
}

}  // namespace

double AttentionShape::pair_flops() const {
  return 2 * static_cast<double>(query_heads) * static_cast<double>(key_dim + value_dim);
}

double causal_pairs(PrefillChunk chunk) {
  const auto queries = static_cast<double>(chunk.new_tokens);
  return queries * (static_cast<double>(chunk.cached_tokens) + queries / 2);
}

double prefill_attention_s(const Efficiency& efficiency, const Gpu& gpu, PrefillChunk chunk,
                           const AttentionShape& shape) {
  KVCAP_CHECK(efficiency.model != EfficiencyModel::table);
  if (chunk.new_tokens == 0) return 0;
  if (efficiency.model == EfficiencyModel::wave) return wave_s(efficiency, gpu, chunk, shape);
  const auto queries = static_cast<double>(chunk.new_tokens);
  const double query_elements =
      queries * static_cast<double>(shape.query_heads * (shape.key_dim + shape.value_dim));  // Q and O
  const double kv_elements =
      (static_cast<double>(chunk.cached_tokens) + queries) * shape.kv_elements_per_token;
  const double bytes =
      query_elements * shape.query_bytes_per_element + kv_elements * shape.kv_bytes_per_element;
  return roofline_s(efficiency, gpu, shape.pair_flops() * causal_pairs(chunk), bytes) + fixed_s(efficiency);
}

DecodeAttention decode_attention(const Efficiency& efficiency, const Gpu& gpu, const AttentionShape& shape) {
  KVCAP_CHECK(efficiency.model != EfficiencyModel::table);
  const double bytes = shape.kv_elements_per_token * shape.kv_bytes_per_element;  // per context token
  DecodeAttention time;
  time.fixed_s = fixed_s(efficiency);
  if (efficiency.model == EfficiencyModel::wave) {
    time.per_context_token_s = bytes / (gpu.memory_bandwidth_bytes_per_s * efficiency.bandwidth_efficiency);
  } else {
    // Flops and bytes are both proportional to the context, and so is either kind of maximum of the two.
    time.per_context_token_s = roofline_s(efficiency, gpu, shape.pair_flops(), bytes);
  }
  return time;
}

double attention_s(const Efficiency& efficiency, const Gpu& gpu, PrefillChunk chunk, int64_t query_heads,
                   int64_t kv_heads, int64_t head_dim, double bytes_per_element) {
  const AttentionShape shape{query_heads,       head_dim,
                             head_dim,          static_cast<double>(2 * kv_heads * head_dim),
                             bytes_per_element, bytes_per_element};
  return prefill_attention_s(efficiency, gpu, chunk, shape);
}

}  // namespace kvcap
