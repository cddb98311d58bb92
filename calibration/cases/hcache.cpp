// hcache: the first layers are recomputed from tokens, the last load KV, and the layers between are projected
// from hidden states.
#include "calibration/cases/context.h"

namespace kvcap::calibration {
namespace {

class Hcache : public CaseContext {
 public:
  Hcache(const CaseSetup& setup, int64_t number) : CaseContext(setup, number) {
    for (int64_t layer = 0; layer < layers(); ++layer) {
      const bool is_kv = layer >= layers() - one.options.kv_layers.value_or(0);
      add_layer(is_kv && !recomputed(layer));
      hidden_.emplace_back();
      if (is_kv || recomputed(layer)) continue;
      const int64_t row_bytes = transformer.hidden_bytes();
      hidden_.back() = {reserve(row_bytes), device.take(one.tokens * row_bytes)};
    }
    if (recomputed(0)) history_ = transformer.activations(device, one.tokens);
  }

 private:
  struct Hidden {
    std::optional<StoredRows> stored;
    std::byte* loaded = nullptr;
  };

  bool recomputed(int64_t layer) const { return layer < one.options.recomputed_layers.value_or(0); }

  std::vector<Stage> stages(int64_t layer) override {
    const auto at = static_cast<std::size_t>(layer);
    if (recomputed(layer)) {
      return {{.compute = [this, layer, at](Stream& stream) {
        const Part part{.rows = one.tokens, .kv = kv_[at]};
        if (layer == 0) embed(stream, history_, 0, part);
        transformer.layer(stream, layer, {&part, 1}, history_);
      }}};
    }
    if (stored_kv_[at]) return {{.load = load_kv(at)}};
    return {
        {.load = load(*hidden_[at].stored, hidden_[at].loaded), .compute = [this, layer, at](Stream& stream) {
           transformer.project(stream, layer, hidden_[at].loaded, one.tokens, 0, kv_[at]);
         }}};
  }

  void put(std::size_t layer, const LayerRows& rows) override {
    CaseContext::put(layer, rows);
    if (hidden_[layer].stored) context_arena.put(*hidden_[layer].stored, rows.hidden.data());
  }

  std::vector<Hidden> hidden_;  // by layer
  Activations history_;         // of the layers that are recomputed
};

}  // namespace

Contexts hcache(const CaseSetup& setup) { return contexts_of<Hcache>(setup); }

}  // namespace kvcap::calibration
