// CaseRun::State: the contexts of a case, each with what the vault keeps of it and the device memory that it
// comes back to, and the stages that bring it back. Every policy uses its own part of a context; the rest is
// empty. The stages of CacheBlend and HyperInfer have a file each.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "calibration/case_run.h"
#include "cost/importance.h"

namespace kvcap::calibration {

inline constexpr int64_t kProbeHeads = 3;

using Indices = std::vector<int32_t>;

struct CaseRun::State {
  // What one layer of one context is kept as.
  struct LayerStore {
    std::optional<StoredRows> hidden, kv, keys, values, probes;
  };

  struct Context {
    int64_t number = 0;
    int32_t* tokens = nullptr;  // ids on the device, history and new ones
    std::vector<LayerStore> stored;
    std::vector<KvRows> kv;          // by layer, history and new tokens
    std::vector<std::byte*> hidden;  // hcache: loaded hidden states
    Activations history, fresh;      // for history rows, and for new ones
    std::byte* other_x = nullptr;    // cacheblend: x before it is thinned out
    // cached_attention: new tokens' state without positions, on the device and saved
    std::vector<std::byte*> unrotated, saved;
    std::vector<std::unique_ptr<Event>> layer_done;
    // cacheblend: the last full layer's own KV and how far it lies from what was stored
    KvRows computed_kv;
    float* distance = nullptr;  // device
    float* distance_on_host = nullptr;
    std::vector<Indices> positions;  // by layer: rows that are computed
    std::vector<int32_t*> positions_on_host, positions_on_device, ranks_on_host, ranks_on_device;
    // hyperinfer, by layer
    std::vector<std::byte*> probes, all_keys, all_values;
    std::vector<float*> mass, mass_on_host;
    std::vector<Indices> important;             // rows, ascending; all heads'
    std::vector<std::vector<Indices>> by_head;  // where heads differ
    std::vector<int32_t*> important_on_host;
    std::vector<bool> falls_back;
  };

  State(Backend& of_backend, const Transformer& of_model, Vault& in_vault, Arena& on_device, Arena& on_host,
        const TwinCase& of_case, Contents filled);

  Backend& backend;
  const Transformer& transformer;
  Vault& vault;
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

  // hcache: layers [0, recomputed) from tokens, then hidden states, the last kv_layers KV.
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

  // One step that prefills these contexts' new tokens, or all that recompute has.
  Step make_step(std::span<const int64_t> members);

  // cacheblend
  int64_t full_layers() const { return *one.options.full_layers; }
  void make_blend_memory(Context& context);
  Stage blend_stage(Context& context, int64_t layer);
  // The tokens that deviate most, fewer of them layer by layer: 1.2 to 0.8 of the ratio, as in kvcap.
  void choose_scattered(Context& context);
  void compute_scattered(Stream& stream, Context& context, int64_t layer) const;

  // hyperinfer
  int64_t important() const { return important_tokens(*one.options.retention, one.tokens); }
  void make_importance_memory(Context& context);
  void draw_importance();
  void draw_importance(Context& context);
  // So many rows, each with kvcap's probability to be important at its place in the order of importance.
  Indices draw(uint64_t number) const;
  void keep_important(Context& context, std::size_t at) const;
  void add_important_stages(Context& context, int64_t layer, std::vector<Stage>& stages);
  // From the probe heads' attention: one set for all heads where they agree.
  void identify_layer(Context& context, std::size_t at);
  void identify_by_head(Context& context, std::size_t at);
  // Attention of `count` KV heads from `first` on.
  void mass(Stream& stream, Context& context, std::size_t at, int64_t first, int64_t count,
            const std::byte* keys, int64_t stride, int64_t head_stride) const;
  void other_mass(Stream& stream, Context& context, std::size_t at) const;
  MoveRows rows_to(std::byte* to, const std::byte* from, int64_t rows, int64_t width,
                   const int32_t* index) const;
  // Memory: the important rows alone. File: whole chunks that hold any, and of these the important rows.
  Load load_important(Context& context, std::size_t at);
  // Of memory the heads that are no probes, of the file whole chunks.
  Load load_other_keys(Context& context, std::size_t at);
  Load load_values_by_head(Context& context, std::size_t at);
  void gather_by_head(Stream& stream, Context& context, std::size_t at) const;

  // Really prefilled contexts into the vault. cacheblend's chunks know nothing of each other.
  void compute_contents(Context& context);
  // A prefill of some of a context's tokens, layer by layer: `projected` is called between the halves of a
  // layer with what entered its projections, `done` after it.
  void prefill(
      const Context& context, int64_t first, int64_t count, Arena& memory, const Activations& batch,
      const std::function<void(int64_t layer, const std::byte* hidden)>& projected,
      const std::function<void(int64_t layer, const KvRows&, const std::byte* unrotated)>& done) const;
  void put(const LayerStore& stored, const std::vector<std::byte>& kv, const std::vector<std::byte>& hidden);
  std::vector<std::byte> download(const std::byte* from, int64_t bytes) const;
  std::vector<float> floats(const std::byte* from, int64_t count) const;
};

}  // namespace kvcap::calibration
