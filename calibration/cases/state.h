// CaseRun::State: the contexts of a case, each with its rows in the context arena, the device memory that it
// is restored to, and the stages that restore it. Each policy uses its own members of a context; the others
// stay empty. case_blend.cpp has the stages of CacheBlend, case_important.cpp those of HyperInfer.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "calibration/cases/run.h"
#include "cost/importance.h"

namespace kvcap::calibration {

inline constexpr int64_t kProbeHeads = 3;

using Indices = std::vector<int32_t>;

struct CaseRun::State {
  // The stored forms of one layer of one context.
  struct LayerStore {
    std::optional<StoredRows> hidden, kv, keys, values, probes;
  };

  struct Context {
    int64_t number = 0;
    int32_t* tokens = nullptr;  // ids on the device, history and new tokens
    std::vector<LayerStore> stored;
    std::vector<KvRows> kv;          // by layer, history and new tokens
    std::vector<std::byte*> hidden;  // hcache: loaded hidden states
    Activations history, fresh;      // activations of history rows and of new rows
    std::byte* other_x = nullptr;    // cacheblend: destination when x is thinned out
    // cached_attention: KV of the new tokens without positions, on the device and in host memory
    std::vector<std::byte*> unrotated, saved;
    std::vector<std::unique_ptr<Event>> layer_done;
    // cacheblend: KV that the last full layer computes, and its distance from the stored KV
    KvRows computed_kv;
    float* distance = nullptr;  // device
    float* distance_on_host = nullptr;
    std::vector<Indices> positions;  // by layer: rows to compute
    std::vector<int32_t*> positions_on_host, positions_on_device, ranks_on_host, ranks_on_device;
    // hyperinfer, by layer
    std::vector<std::byte*> probes, all_keys, all_values;
    std::vector<float*> mass, mass_on_host;
    std::vector<uint8_t*> marks, marks_on_host;
    std::vector<Indices> important;             // by layer: rows for all heads, ascending
    std::vector<std::vector<Indices>> by_head;  // by layer and head, where heads differ
    std::vector<int32_t*> important_on_host;
    std::vector<bool> falls_back;
  };

  State(Backend& of_backend, const Transformer& of_model, ContextArena& in_context_arena, Arena& on_device,
        Arena& on_host, const TwinCase& of_case, Contents filled);

  Backend& backend;
  const Transformer& transformer;
  ContextArena& context_arena;
  Arena& device;
  Arena& pinned;
  TwinCase one;
  Contents contents;
  std::unique_ptr<Stream> saves;
  std::vector<Context> contexts;
  Activations step_activations;
  std::optional<RestoreStatistics> statistics;

  const ModelSpec& model() const { return transformer.model(); }
  int64_t layers() const { return model().num_hidden_layers; }
  int64_t heads() const { return model().num_key_value_heads; }
  int64_t all_tokens() const { return one.tokens + one.new_tokens; }
  int64_t element_bytes() const { return transformer.element_bytes(); }
  int64_t head_bytes() const { return model().head_dim * element_bytes(); }
  int64_t key_bytes() const { return heads() * head_bytes(); }
  bool is(const char* policy) const { return one.policy == policy; }

  // hcache: layers [0, recomputed_layers) are recomputed from tokens, the last kv_layers load KV, and the
  // layers between are projected from hidden states.
  bool recomputed(int64_t layer) const { return layer < one.options.recomputed_layers.value_or(0); }
  bool hidden(int64_t layer) const {
    return is("hcache") && !recomputed(layer) && layer < layers() - one.options.kv_layers.value_or(0);
  }

  void make_tokens(Context& context);
  void upload(int32_t* to, const int32_t* from, int64_t count);
  void make_memory(Context& context);
  void make_save_memory(Context& context);

  std::vector<Restoring> restorings();
  Restoring restoring(Context& context);
  std::function<Load()> load_kv(Context& context, int64_t layer);
  Part new_part(const Context& context, int64_t layer, int64_t cached) const;
  void embed_new(Stream& stream, const Context& context, const Activations& batch, int64_t row) const;
  Stage head_stage(Context& context);
  Stage hcache_stage(Context& context, int64_t layer);
  Stage preload_stage(Context& context, int64_t layer);

  // Returns one step that prefills the contexts' new tokens (recompute: all tokens).
  Step make_step(std::span<const int64_t> members);

  // cacheblend
  int64_t full_layers() const { return *one.options.full_layers; }
  void make_blend_memory(Context& context);
  Stage blend_stage(Context& context, int64_t layer);
  // Chooses the tokens with the largest deviation, fewer in later layers: 1.2 to 0.8 of the ratio, as kvcap
  // does.
  void choose_scattered(Context& context);
  // Brings indices to the device by a kernel: a copy would wait behind the loads of contexts.
  void bring(Stream& stream, const int32_t* from_host, int64_t count, int32_t* to) const;
  void compute_scattered(Stream& stream, Context& context, int64_t layer) const;

  // hyperinfer
  int64_t important() const { return important_tokens(*one.options.retention, one.tokens); }
  void make_importance_memory(Context& context);
  void draw_importance();
  void draw_importance(Context& context);
  // Draws important() rows, each with kvcap's probability of being important at its rank of importance.
  Indices draw(uint64_t number) const;
  void keep_important(Context& context, std::size_t at) const;
  void add_important_stages(Context& context, int64_t layer, std::vector<Stage>& stages);
  // Chooses one set of tokens for all heads from the attention of the probe heads, on which these heads
  // agree.
  void identify_layer(Context& context, std::size_t at);
  void identify_by_head(Context& context, std::size_t at);
  // Enqueues the attention mass of `count` KV heads from head `first` on.
  void mass(Stream& stream, Context& context, std::size_t at, int64_t first, int64_t count,
            const std::byte* keys, int64_t stride, int64_t head_stride) const;
  void other_mass(Stream& stream, Context& context, std::size_t at) const;
  MoveRows rows_to(std::byte* to, const std::byte* from, int64_t rows, int64_t width,
                   const int32_t* index) const;
  // Loads the important rows: from host memory these alone, from the file all chunks that hold any of them.
  Load load_important(Context& context, std::size_t at);
  // Loads the keys: from host memory those of the heads that are not probes, from the file whole chunks.
  Load load_other_keys(Context& context, std::size_t at);
  Load load_values_by_head(Context& context, std::size_t at);
  void gather_by_head(Stream& stream, Context& context, std::size_t at) const;

  // Prefills the context and stores it in the context arena. cacheblend's chunks are prefilled independently.
  void compute_contents(Context& context);
  // Prefills `count` tokens of a context layer by layer. `projected` gets the input of a layer's projections
  // between its two halves; `done` is called after the layer.
  void prefill(
      const Context& context, int64_t first, int64_t count, Arena& memory, const Activations& batch,
      const std::function<void(int64_t layer, const std::byte* hidden)>& projected,
      const std::function<void(int64_t layer, const KvRows&, const std::byte* unrotated)>& done) const;
  void put(const LayerStore& stored, const std::vector<std::byte>& kv, const std::vector<std::byte>& hidden);
  std::vector<std::byte> download(const std::byte* from, int64_t bytes) const;
  std::vector<float> floats(const std::byte* from, int64_t count) const;
};

}  // namespace kvcap::calibration
