// Transformer is a decoder of a model's shape with random weights that runs layer by layer on a backend:
// norms, projections, rotary positions, attention over cached keys, gated feed-forward. Its outputs are
// meaningless but deterministic, so that a restored context can be compared with the original, and its
// operations take the time of a trained model's.
//
// A batch concatenates the rows of several sequences. They share every GEMM; each attends to its own keys.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "calibration/arena.h"
#include "calibration/backend.h"
#include "spec/model_spec.h"

namespace kvcap::calibration {

// Keys and values of one layer of one sequence on the device. Rows are tokens, `stride` elements apart.
struct KvRows {
  std::byte* k = nullptr;
  std::byte* v = nullptr;
  int64_t stride = 0;
};

// The rows of one sequence in a batch: `rows` new tokens from `position` on. They attend to `cached` earlier
// rows of keys and values; their own are appended to these.
struct Part {
  int64_t rows = 0;
  int64_t position = 0;
  int64_t cached = 0;
  KvRows kv;
  std::byte* unrotated = nullptr;  // if not null: receives their keys and values without positions
};

inline constexpr int64_t kMostParts = 16;  // most sequences per batch

// Buffers of a batch of up to `rows` rows. `x` is the residual stream, input and output of each layer.
struct Activations {
  int64_t rows = 0;
  std::byte *x = nullptr, *normed = nullptr, *q = nullptr, *kv = nullptr, *attended = nullptr;
  std::byte *gate_up = nullptr, *gated = nullptr, *out = nullptr, *last = nullptr, *logits = nullptr;
};

class Transformer {
 public:
  // Throws InputError for models with experts, latents or plain feed-forward layers.
  Transformer(Backend& backend, const ModelSpec& model, Format format, uint64_t seed);

  const ModelSpec& model() const { return model_; }
  Format format() const { return format_; }
  int64_t element_bytes() const { return bytes_of(format_); }
  int64_t hidden_bytes() const { return model_.hidden_size * element_bytes(); }  // per token
  int64_t kv_width() const {
    return model_.num_key_value_heads * model_.head_dim;
  }  // elements per token, keys alone
  int64_t kv_bytes() const { return 2 * kv_width() * element_bytes(); }

  Activations activations(Arena& device, int64_t rows) const;
  // Allocates rows with keys and values side by side, as one projection writes them.
  KvRows kv_rows(Arena& device, int64_t tokens) const;
  std::byte* key(const KvRows& kv, int64_t row) const { return kv.k + row * kv.stride * element_bytes(); }
  std::byte* value(const KvRows& kv, int64_t row) const { return kv.v + row * kv.stride * element_bytes(); }

  // Writes the embeddings of `tokens` (device memory, ids below the vocabulary size) into rows of x.
  void embed(Stream& stream, const Activations& batch, int64_t first_row, const int32_t* tokens,
             int64_t rows) const;
  // Computes one layer of x in place. Until after_queries(), batch.normed holds the input of its projections
  // (HCache's hidden states).
  void layer(Stream& stream, int64_t layer, std::span<const Part> parts, const Activations& batch) const;
  // Compute the two halves of layer(): queries() up to the queries, which decide what HyperInfer loads, and
  // after_queries() the rest.
  void queries(Stream& stream, int64_t layer, std::span<const Part> parts, const Activations& batch) const;
  void after_queries(Stream& stream, int64_t layer, std::span<const Part> parts,
                     const Activations& batch) const;
  // Computes one layer of the rows of x, which belong to ascending `positions` of a sequence of `tokens`
  // tokens. Their keys and values replace those in `kv` (CacheBlend).
  void scattered_layer(Stream& stream, int64_t layer, const int32_t* positions, int64_t rows, int64_t tokens,
                       const KvRows& kv, const Activations& batch) const;
  // Computes keys and values of `rows` tokens from the input of the projections (HCache).
  void project(Stream& stream, int64_t layer, const std::byte* hidden, int64_t rows, int64_t position,
               const KvRows& kv) const;
  void rotate_keys(Stream& stream, const KvRows& kv, int64_t rows, int64_t position) const;
  // Computes the logits of each part's last row.
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
