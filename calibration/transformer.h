// Transformer: a real decoder of a model's shape with random weights, layer by layer on a backend: norms,
// projections, rotary positions, attention over cached keys, a gated feed-forward. Values mean nothing, but
// follow from each other as those of a trained model do, so that a restored context can be compared with the
// original, and their computation takes what the real one takes.
//
// Rows of several sequences stand one after the other in one batch; they share every GEMM, and each attends
// to its own keys.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "calibration/arena.h"
#include "calibration/backend.h"
#include "spec/model_spec.h"

namespace kvcap::calibration {

// Keys and values of one layer of one sequence on the device; rows are tokens, `stride` elements apart.
struct KvRows {
  std::byte* k = nullptr;
  std::byte* v = nullptr;
  int64_t stride = 0;
};

// The rows of one sequence in a batch: `rows` new tokens at positions from `position` on, over `cached` rows
// of keys and values behind which their own are written.
struct Part {
  int64_t rows = 0;
  int64_t position = 0;
  int64_t cached = 0;
  KvRows kv;
  std::byte* unrotated = nullptr;  // where given: receives their keys and values before positions are in them
};

inline constexpr int64_t kMostParts = 16;  // of a batch

// What a batch of up to `rows` rows is computed in. x: the residual stream, where a layer begins and ends.
struct Activations {
  int64_t rows = 0;
  std::byte *x = nullptr, *normed = nullptr, *q = nullptr, *kv = nullptr, *attended = nullptr;
  std::byte *gate_up = nullptr, *gated = nullptr, *out = nullptr, *last = nullptr, *logits = nullptr;
};

class Transformer {
 public:
  // Throws InputError for shapes that it has no kernels for (experts, latents, plain feed-forward).
  Transformer(Backend& backend, const ModelSpec& model, Format format, uint64_t seed);

  const ModelSpec& model() const { return model_; }
  Format format() const { return format_; }
  int64_t element_bytes() const { return bytes_of(format_); }
  int64_t hidden_bytes() const { return model_.hidden_size * element_bytes(); }  // of a token
  int64_t kv_width() const {
    return model_.num_key_value_heads * model_.head_dim;
  }  // elements, of keys alone
  int64_t kv_bytes() const { return 2 * kv_width() * element_bytes(); }

  Activations activations(Arena& device, int64_t rows) const;
  // Keys and values side by side, as one projection writes them.
  KvRows kv_rows(Arena& device, int64_t tokens) const;
  std::byte* key(const KvRows& kv, int64_t row) const { return kv.k + row * kv.stride * element_bytes(); }
  std::byte* value(const KvRows& kv, int64_t row) const { return kv.v + row * kv.stride * element_bytes(); }

  // Embeddings of `tokens` (ids below the vocabulary, on the device) into rows of x.
  void embed(Stream& stream, const Activations& batch, int64_t first_row, const int32_t* tokens,
             int64_t rows) const;
  // x through one layer. batch.normed holds what entered its projections (HCache's hidden states) until the
  // second half begins.
  void layer(Stream& stream, int64_t layer, std::span<const Part> parts, const Activations& batch) const;
  // Its two halves: up to the queries, which decide what is loaded (HyperInfer), and the rest.
  void queries(Stream& stream, int64_t layer, std::span<const Part> parts, const Activations& batch) const;
  void after_queries(Stream& stream, int64_t layer, std::span<const Part> parts,
                     const Activations& batch) const;
  // The rows of x, which stand at ascending `positions` of a sequence of `tokens` tokens, through one layer;
  // their keys and values take the place of those in `kv` (CacheBlend).
  void scattered_layer(Stream& stream, int64_t layer, const int32_t* positions, int64_t rows, int64_t tokens,
                       const KvRows& kv, const Activations& batch) const;
  // Keys and values of `rows` tokens from what entered the projections (HCache).
  void project(Stream& stream, int64_t layer, const std::byte* hidden, int64_t rows, int64_t position,
               const KvRows& kv) const;
  void rotate_keys(Stream& stream, const KvRows& kv, int64_t rows, int64_t position) const;
  // Logits of the last row of every part.
  void head(Stream& stream, std::span<const Part> parts, const Activations& batch) const;

 private:
  struct Weights {
    std::byte *attention_norm, *q, *kv, *o, *ffn_norm, *gate_up, *down;
  };

  std::byte* weights(Stream& stream, int64_t rows, int64_t columns);
  std::byte* norm_weights(Stream& stream);
  void gemm(Stream& stream, int64_t m, int64_t n, int64_t k, const std::byte* a, const std::byte* w,
            std::byte* c) const;
  void norm(Stream& stream, const std::byte* in, const std::byte* weight, int64_t rows, std::byte* out) const;
  void rope(Stream& stream, std::byte* data, int64_t rows, int64_t heads, int64_t stride, int64_t position,
            const int32_t* positions = nullptr) const;
  void project_kv(Stream& stream, const Weights& weights, const std::byte* normed, int64_t rows,
                  const KvRows& to) const;
  void after_attention(Stream& stream, const Weights& weights, int64_t rows, const Activations& batch) const;

  ModelSpec model_;
  Format format_;
  uint64_t seed_;
  Arena memory_;
  std::vector<Weights> layers_;
  std::byte *embedding_ = nullptr, *final_norm_ = nullptr, *vocabulary_ = nullptr;
};

}  // namespace kvcap::calibration
