// cached_attention: loads KV without positions layer by layer while the new tokens are prefilled, and saves
// the new tokens' KV.
#include "calibration/cases/context.h"

namespace kvcap::calibration {
namespace {

class CachedAttention : public FusedContext {
 public:
  CachedAttention(const CaseSetup& setup, int64_t number, const std::shared_ptr<Stream>& saves)
      : FusedContext(setup, number), saves_(saves) {
    for (int64_t layer = 0; layer < layers(); ++layer) add_layer(true);
    batch_ = transformer.activations(device, one.new_tokens);
    const int64_t new_bytes = one.new_tokens * transformer.kv_bytes();
    for (int64_t layer = 0; layer < layers(); ++layer) {
      saving_.push_back({device.take(new_bytes), pinned.take(new_bytes), backend.make_event()});
    }
  }

  void finish() override { saves_->synchronize(); }

  CaseRun::Values restored(const Activations& step) const override {
    CaseRun::Values values = CaseContext::restored(step);
    for (const Saving& saving : saving_) {
      values.saved.push_back(floats(saving.saved, one.new_tokens * 2 * transformer.kv_width()));
    }
    return values;
  }

 private:
  // KV of the new tokens of one layer without positions, on the device and in host memory.
  struct Saving {
    std::byte *unrotated, *saved;
    std::unique_ptr<Event> layer_done;
  };

  std::vector<Stage> stages(int64_t layer) override {
    const auto at = static_cast<std::size_t>(layer);
    return {{.load = load_kv(at), .compute = [this, layer, at](Stream& stream) {
               const Saving& saving = saving_[at];
               Part part = new_part(layer, one.tokens);
               if (layer == 0) embed(stream, batch_, 0, part);
               transformer.rotate_keys(stream, kv_[at], one.tokens, 0);
               part.unrotated = saving.unrotated;
               transformer.layer(stream, layer, {&part, 1}, batch_);
               stream.record(*saving.layer_done);
               saves_->wait(*saving.layer_done);
               saves_->copy(saving.saved, saving.unrotated, one.new_tokens * transformer.kv_bytes());
             }}};
  }
  bool stores_positions() const override { return false; }

  std::shared_ptr<Stream> saves_;  // of all contexts
  std::vector<Saving> saving_;     // by layer
};

}  // namespace

Contexts cached_attention(const CaseSetup& setup) {
  return contexts_of<CachedAttention>(setup, std::shared_ptr(setup.backend.make_stream()));
}

}  // namespace kvcap::calibration
