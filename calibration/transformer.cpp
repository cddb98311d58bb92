#include "calibration/transformer.h"

#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/input_error.h"
#include "calibration/number_format.h"

namespace kvcap::calibration {
namespace {}  // namespace

Transformer::Transformer(Backend& backend, const ModelSpec& model, Format format, uint64_t seed)
    : model_(model), format_(format), seed_(seed), memory_(backend, Place::device) {
  if (model.experts || model.latent || model.ffn != FfnKind::gated) {
    throw InputError("--model: found \"" + model.name +
                     "\", allowed: models with gated feed-forward layers, without experts or latents");
  }
  const std::unique_ptr<Stream> stream = backend.make_stream();
  const int64_t hidden = model.hidden_size;
  const int64_t heads_width = model.num_attention_heads * model.head_dim;
  for (int64_t layer = 0; layer < model.num_hidden_layers; ++layer) {
    layers_.push_back({.attention_norm = norm_weights(*stream),
                       .q = weights(*stream, heads_width, hidden),
                       .kv = weights(*stream, 2 * kv_width(), hidden),
                       .o = weights(*stream, hidden, heads_width),
                       .ffn_norm = norm_weights(*stream),
                       .gate_up = weights(*stream, 2 * model.intermediate_size, hidden),
                       .down = weights(*stream, hidden, model.intermediate_size)});
  }
  embedding_ = weights(*stream, model.vocab_size, hidden);
  final_norm_ = norm_weights(*stream);
  vocabulary_ = weights(*stream, model.vocab_size, hidden);
  stream->synchronize();
}

std::byte* Transformer::weights(Stream& stream, int64_t rows, int64_t columns) {
  std::byte* const data = memory_.take(rows * columns * element_bytes());
  stream.fill_random(format_, data, rows * columns, seed_++);
  return data;
}

// Returns norm weights. Other weights are uniform on [-1, 1), so that a product with a row of variance 3/k
// has variance 1; norms scale rows to that variance.
std::byte* Transformer::norm_weights(Stream& stream) {
  const int64_t width = model_.hidden_size;
  std::vector<std::byte> host(static_cast<std::size_t>(width * element_bytes()));
  const float scale = std::sqrt(3.0F / static_cast<float>(width));
  for (int64_t i = 0; i < width; ++i) store(format_, scale, host.data() + i * element_bytes());
  std::byte* const data = memory_.take(width * element_bytes());
  stream.copy(data, host.data(), width * element_bytes());
  stream.synchronize();
  return data;
}

Activations Transformer::activations(Arena& device, int64_t rows) const {
  const auto matrix = [&](int64_t width) { return device.take(rows * width * element_bytes()); };
  const int64_t hidden = model_.hidden_size;
  const int64_t heads_width = model_.num_attention_heads * model_.head_dim;
  return {.rows = rows,
          .x = matrix(hidden),
          .normed = matrix(hidden),
          .q = matrix(heads_width),
          .kv = matrix(2 * kv_width()),
          .attended = matrix(heads_width),
          .gate_up = matrix(2 * model_.intermediate_size),
          .gated = matrix(model_.intermediate_size),
          .out = matrix(hidden),
          .last = device.take(kMostParts * hidden_bytes()),
          .logits = device.take(kMostParts * model_.vocab_size * element_bytes())};
}

KvRows Transformer::kv_rows(Arena& device, int64_t tokens) const {
  std::byte* const data = device.take(tokens * kv_bytes());
  return {data, data + kv_width() * element_bytes(), 2 * kv_width()};
}

// ---- kernels ----

void Transformer::gemm(Stream& stream, int64_t m, int64_t n, int64_t k, const std::byte* a,
                       const std::byte* w, std::byte* c) const {
  stream.gemm({.format = format_, .m = m, .n = n, .k = k, .a = a, .w = w, .c = c});
}

void Transformer::norm(Stream& stream, const std::byte* in, const std::byte* weight, int64_t rows,
                       std::byte* out) const {
  stream.rms_norm(
      {.format = format_, .rows = rows, .width = model_.hidden_size, .in = in, .weight = weight, .out = out});
}

void Transformer::rope(Stream& stream, std::byte* data, int64_t rows, int64_t heads, int64_t stride,
                       int64_t position, const int32_t* positions) const {
  stream.rope({.format = format_,
               .tokens = rows,
               .heads = heads,
               .head_dim = model_.head_dim,
               .stride = stride,
               .first_position = position,
               .data = data,
               .positions = positions});
}

void Transformer::rotate_keys(Stream& stream, const KvRows& kv, int64_t rows, int64_t position) const {
  rope(stream, kv.k, rows, model_.num_key_value_heads, kv.stride, position);
}

// Uses one GEMM if keys and values are side by side.
void Transformer::project_kv(Stream& stream, const Weights& weights, const std::byte* normed, int64_t rows,
                             const KvRows& to) const {
  const int64_t width = kv_width();
  if (to.stride == 2 * width) {
    gemm(stream, rows, 2 * width, model_.hidden_size, normed, weights.kv, to.k);
    return;
  }
  KVCAP_CHECK(to.stride == width);
  gemm(stream, rows, width, model_.hidden_size, normed, weights.kv, to.k);
  gemm(stream, rows, width, model_.hidden_size, normed, weights.kv + width * hidden_bytes(), to.v);
}

// ---- layers ----

void Transformer::embed(Stream& stream, const Activations& batch, int64_t first_row, const int32_t* tokens,
                        int64_t rows) const {
  stream.move_rows({.format = format_,
                    .rows = rows,
                    .width = model_.hidden_size,
                    .in_stride = model_.hidden_size,
                    .out_stride = model_.hidden_size,
                    .in = embedding_,
                    .out = batch.x + first_row * hidden_bytes(),
                    .index = tokens});
}

void Transformer::layer(Stream& stream, int64_t layer, std::span<const Part> parts,
                        const Activations& batch) const {
  queries(stream, layer, parts, batch);
  after_queries(stream, layer, parts, batch);
}

void Transformer::queries(Stream& stream, int64_t layer, std::span<const Part> parts,
                          const Activations& batch) const {
  const Weights& weights = layers_[static_cast<std::size_t>(layer)];
  const int64_t heads_width = model_.num_attention_heads * model_.head_dim;
  int64_t rows = 0;
  for (const Part& part : parts) rows += part.rows;
  KVCAP_CHECK(rows <= batch.rows);
  norm(stream, batch.x, weights.attention_norm, rows, batch.normed);
  gemm(stream, rows, heads_width, model_.hidden_size, batch.normed, weights.q, batch.q);
  int64_t row = 0;
  for (const Part& part : parts) {
    rope(stream, batch.q + row * heads_width * element_bytes(), part.rows, model_.num_attention_heads,
         heads_width, part.position);
    row += part.rows;
  }
}

void Transformer::after_queries(Stream& stream, int64_t layer, std::span<const Part> parts,
                                const Activations& batch) const {
  const Weights& weights = layers_[static_cast<std::size_t>(layer)];
  const int64_t heads_width = model_.num_attention_heads * model_.head_dim;
  int64_t rows = 0;
  for (const Part& part : parts) rows += part.rows;
  const bool together = parts.size() > 1;
  if (together) {
    project_kv(stream, weights, batch.normed, rows, {batch.kv, batch.kv + kv_bytes() / 2, 2 * kv_width()});
  }
  int64_t row = 0;
  for (const Part& part : parts) {
    const KvRows fresh{key(part.kv, part.cached), value(part.kv, part.cached), part.kv.stride};
    if (together) {
      KVCAP_CHECK(part.kv.stride == 2 * kv_width());
      stream.copy(fresh.k, batch.kv + row * kv_bytes(), part.rows * kv_bytes());
    } else {
      project_kv(stream, weights, batch.normed, part.rows, fresh);
    }
    if (part.unrotated) {
      KVCAP_CHECK(part.kv.stride == 2 * kv_width());
      stream.copy(part.unrotated, fresh.k, part.rows * kv_bytes());
    }
    rotate_keys(stream, fresh, part.rows, part.position);
    const int64_t offset_bytes = row * heads_width * element_bytes();
    stream.attention({.format = format_,
                      .new_tokens = part.rows,
                      .cached_tokens = part.cached,
                      .query_heads = model_.num_attention_heads,
                      .kv_heads = model_.num_key_value_heads,
                      .head_dim = model_.head_dim,
                      .q_stride = heads_width,
                      .kv_stride = part.kv.stride,
                      .out_stride = heads_width,
                      .q = batch.q + offset_bytes,
                      .k = part.kv.k,
                      .v = part.kv.v,
                      .out = batch.attended + offset_bytes});
    row += part.rows;
  }
  after_attention(stream, weights, rows, batch);
}

void Transformer::scattered_layer(Stream& stream, int64_t layer, const int32_t* positions, int64_t rows,
                                  int64_t tokens, const KvRows& kv, const Activations& batch) const {
  const Weights& weights = layers_[static_cast<std::size_t>(layer)];
  const int64_t heads_width = model_.num_attention_heads * model_.head_dim;
  KVCAP_CHECK(rows <= batch.rows && kv.stride == 2 * kv_width());
  norm(stream, batch.x, weights.attention_norm, rows, batch.normed);
  gemm(stream, rows, heads_width, model_.hidden_size, batch.normed, weights.q, batch.q);
  project_kv(stream, weights, batch.normed, rows, {batch.kv, batch.kv + kv_bytes() / 2, kv.stride});
  rope(stream, batch.q, rows, model_.num_attention_heads, heads_width, 0, positions);
  rope(stream, batch.kv, rows, model_.num_key_value_heads, kv.stride, 0, positions);
  stream.move_rows({.format = format_,
                    .rows = rows,
                    .width = kv.stride,
                    .in_stride = kv.stride,
                    .out_stride = kv.stride,
                    .in = batch.kv,
                    .out = kv.k,
                    .index = positions,
                    .scatter = true});
  stream.attention({.format = format_,
                    .new_tokens = rows,
                    .cached_tokens = tokens - rows,
                    .query_heads = model_.num_attention_heads,
                    .kv_heads = model_.num_key_value_heads,
                    .head_dim = model_.head_dim,
                    .q_stride = heads_width,
                    .kv_stride = kv.stride,
                    .out_stride = heads_width,
                    .q = batch.q,
                    .k = kv.k,
                    .v = kv.v,
                    .out = batch.attended,
                    .query_positions = positions});
  after_attention(stream, weights, rows, batch);
}

void Transformer::after_attention(Stream& stream, const Weights& weights, int64_t rows,
                                  const Activations& batch) const {
  const int64_t hidden = model_.hidden_size;
  const int64_t width = model_.intermediate_size;
  const auto add_out = [&] {
    stream.add({.format = format_, .count = rows * hidden, .a = batch.x, .b = batch.out, .out = batch.x});
  };
  gemm(stream, rows, hidden, model_.num_attention_heads * model_.head_dim, batch.attended, weights.o,
       batch.out);
  add_out();
  norm(stream, batch.x, weights.ffn_norm, rows, batch.normed);
  gemm(stream, rows, 2 * width, hidden, batch.normed, weights.gate_up, batch.gate_up);
  stream.silu_multiply(
      {.format = format_, .rows = rows, .width = width, .in = batch.gate_up, .out = batch.gated});
  gemm(stream, rows, hidden, width, batch.gated, weights.down, batch.out);
  add_out();
}

void Transformer::project(Stream& stream, int64_t layer, const std::byte* hidden, int64_t rows,
                          int64_t position, const KvRows& kv) const {
  project_kv(stream, layers_[static_cast<std::size_t>(layer)], hidden, rows, kv);
  rotate_keys(stream, kv, rows, position);
}

void Transformer::head(Stream& stream, std::span<const Part> parts, const Activations& batch) const {
  const auto sequences = static_cast<int64_t>(parts.size());
  KVCAP_CHECK(sequences <= kMostParts);
  int64_t row = 0;
  for (int64_t i = 0; i < sequences; ++i) {
    row += parts[static_cast<std::size_t>(i)].rows;
    stream.copy(batch.last + i * hidden_bytes(), batch.x + (row - 1) * hidden_bytes(), hidden_bytes());
  }
  norm(stream, batch.last, final_norm_, sequences, batch.last);
  gemm(stream, sequences, model_.vocab_size, model_.hidden_size, batch.last, vocabulary_, batch.logits);
}

}  // namespace kvcap::calibration
