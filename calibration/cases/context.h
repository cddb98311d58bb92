// CaseContext is one context of a case: its tokens, the device memory that it is restored to, and the stages
// that restore it. Each policy derives a class that owns what only this policy needs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "calibration/cases/run.h"

namespace kvcap::calibration {

inline constexpr int64_t kProbeHeads = 3;

using Indices = std::vector<int32_t>;

class CaseContext : protected CaseSetup {
 public:
  CaseContext(const CaseSetup& setup, int64_t number);
  virtual ~CaseContext() = default;
  CaseContext(const CaseContext&) = delete;
  CaseContext& operator=(const CaseContext&) = delete;

  // Prefills the context and stores it in the context arena.
  void compute_contents();
  virtual Restoring restoring();
  // Returns the rows that a step computes after the restoration.
  virtual Part step_part(int64_t layer) const { return new_part(layer, one.tokens); }
  // Writes the embeddings of the part's tokens into rows of the batch.
  void embed(Stream& stream, const Activations& batch, int64_t row, const Part& part) const;
  // Waits for work that outlasts the first token.
  virtual void finish() {}

  // `step`: the activations of the step that followed the restoration, if one did.
  virtual CaseRun::Values restored(const Activations& step) const;
  std::vector<float> logits(const Activations& step) const {
    return floats(last_batch(step).logits, model().vocab_size);
  }
  CaseRun::Values original() const;

 protected:
  // Rows of one layer on the host: inputs of its projections, keys and values.
  struct LayerRows {
    std::vector<std::byte> hidden, kv;
  };

  // Returns the stages that restore a layer.
  virtual std::vector<Stage> stages(int64_t /*layer*/) { return {}; }
  // Stores a layer's rows; keys have positions unless the policy stores them without.
  virtual void put(std::size_t layer, const LayerRows& rows);
  virtual bool stores_positions() const { return true; }
  // Returns how many tokens are prefilled at once, without those before them.
  virtual int64_t chunk_tokens() const { return one.tokens; }

  // Reserves a row per token of the context.
  StoredRows reserve(int64_t row_bytes) { return context_arena.reserve(one.tier, row_bytes, one.tokens); }
  // Adds the next layer's KV on the device, and in the context arena if it `is_stored`.
  void add_layer(bool is_stored);
  std::function<Load()> load(const StoredRows& from, std::byte* to, bool whole = false) const;
  std::function<Load()> load_kv(std::size_t layer) const { return load(*stored_kv_[layer], kv_[layer].k); }
  Part new_part(int64_t layer, int64_t cached) const;
  // Returns the batch that the last layer computed.
  virtual const Activations& last_batch(const Activations& step) const { return step; }
  MoveRows moved(void* to, const void* from, int64_t rows, int64_t width, int64_t stride,
                 const int32_t* index) const;
  std::vector<float> floats(const std::byte* from, int64_t count) const;

  int64_t number_;
  std::vector<KvRows> kv_;                            // by layer, history and new tokens
  std::vector<std::optional<StoredRows>> stored_kv_;  // by layer

 private:
  // Prefills `count` tokens and adds their rows by layer. Returns the batch, which has the logits.
  Activations prefill(int64_t first, int64_t count, Arena& memory, bool with_positions,
                      std::vector<LayerRows>* rows) const;
  void copy(void* to, const void* from, int64_t bytes) const;
  void append(std::vector<std::byte>* to, const std::byte* from, int64_t bytes) const;

  int32_t* tokens_ = nullptr;  // ids on the device, history and new tokens
};

// A context whose stages prefill the new tokens, too.
class FusedContext : public CaseContext {
 public:
  using CaseContext::CaseContext;
  Restoring restoring() override;

 protected:
  const Activations& last_batch(const Activations&) const override { return batch_; }
  // Returns the rows of the batch after the last layer.
  virtual int64_t last_rows() const { return one.new_tokens; }

  Activations batch_;
};

using Contexts = std::vector<std::unique_ptr<CaseContext>>;

template <typename Policy, typename... Shared>
Contexts contexts_of(const CaseSetup& setup, const Shared&... shared) {
  Contexts contexts;
  for (int64_t i = 0; i < setup.one.requests; ++i) {
    contexts.push_back(std::make_unique<Policy>(setup, i, shared...));
  }
  return contexts;
}

Contexts recompute(const CaseSetup& setup);
Contexts kv_offload(const CaseSetup& setup);
Contexts hcache(const CaseSetup& setup);
Contexts cached_attention(const CaseSetup& setup);
Contexts cacheblend(const CaseSetup& setup);
Contexts hyperinfer(const CaseSetup& setup);

}  // namespace kvcap::calibration
