// KV offload: keeps keys and values of every layer in the host tiers, and restores a context by loading them.
//
// With `preload: none` (HCache's baseline), the whole context is restored before the new tokens are
// prefilled. With `preload: layerwise` (CachedAttention 3.2.1), a layer's new tokens are computed as soon as
// the layer's history has arrived, and loads run at most read_buffer_layers ahead of computation.
//
// The size of one copy depends on the layout of KV in host memory (`block_layout`): 64 tokens of a layer as
// in HCache 4.2, a block of the engine per layer, or one block of all layers, as in vLLM's offloading
// connector since 0.12. A block of all layers restores all layers at the same time, so that no layer can be
// computed before the others have arrived. If chunks are kept, a copy moves the tokens of a chunk (LMCache).
//
// The RAG baselines of CacheBlend 7.1 are settings of this policy: chunks found anywhere and used unchanged
// (full_reuse), only the leading run of chunks (prefix_caching), and one call per chunk (map_reduce,
// map_rerank), each of which begins with its chunk.
#include "policy/stored_layers.h"
#include "policy/table.h"

namespace kvcap {
namespace {

PieceShape pieces_of(const PolicyInputs& inputs, int64_t layers) {
  const std::optional<BlockLayout> layout = inputs.options.block_layout;
  if (!layout) return {};
  return {.tokens = inputs.options.chunk_tokens.value_or(inputs.block_tokens),
          .layers = *layout == BlockLayout::cross_layer ? layers : 1};
}

class KvOffload : public Policy {
 public:
  explicit KvOffload(const PolicyInputs& inputs)
      : cost_(*inputs.cost),
        stored_(inputs),
        layers_(cost_.model().num_hidden_layers),
        layerwise_(inputs.options.preload.value_or(Preload::none) == Preload::layerwise),
        ahead_(inputs.options.read_buffer_layers.value_or(kUnlimited)),
        step_tokens_(inputs.step_tokens),
        pieces_(pieces_of(inputs, layers_)) {
    set_traits({.reuse = Reuse::stored,
                .stored_bytes_per_token = static_cast<double>(layers_) * stored_.kv_bytes(),
                .checkpoint_tokens = stored_.checkpoint_tokens(),
                .read_buffer_layers = ahead_,
                .quality_note = stored_.quality_note(false, true)});
  }

  Restoration restore(const Context& context, std::span<const Hit> hits, const LoadRates&) const override {
    LayerWork layer = stored_.kv(layers_, hits, pieces_, context.resident_tokens);
    Restoration restoration{.ahead = ahead_};
    const int64_t cached_tokens = context.resident_tokens + total_tokens(hits);
    const int64_t new_tokens = context.history_tokens - cached_tokens + context.new_tokens;
    // A prompt of several steps cannot be computed in one pass while loads run.
    const bool fused = layerwise_ && new_tokens <= step_tokens_ && context.may_compute_beside;
    if (fused) {
      layer.compute_s += cost_.prefill_layer_s({new_tokens, cached_tokens});
      restoration.fused = true;
    }
    restoration.work.push_back(layer);
    if (fused) {
      restoration.work.push_back({.layers = 1, .form = LayerForm::head, .compute_s = cost_.head_s(1)});
    }
    return restoration;
  }

  double save_requests(int64_t tokens) const override {
    return static_cast<double>(layers_) * pieces_.per_layer(tokens);
  }

  Schedule schedule(int64_t, Tier) const override { return {.kv_layers = layers_}; }

 private:
  const CostModel& cost_;
  StoredLayers stored_;
  int64_t layers_;
  bool layerwise_;
  int64_t ahead_;
  int64_t step_tokens_;
  PieceShape pieces_;
};

}  // namespace

std::unique_ptr<Policy> make_kv_offload(const PolicyInputs& inputs) {
  return std::make_unique<KvOffload>(inputs);
}

}  // namespace kvcap
