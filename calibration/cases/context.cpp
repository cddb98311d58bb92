#include "calibration/cases/context.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "calibration/number_format.h"
#include "calibration/random_value.h"

namespace kvcap::calibration {

CaseContext::CaseContext(const CaseSetup& setup, int64_t number) : CaseSetup(setup), number_(number) {
  const int64_t count = all_tokens();
  auto* ids = pinned.take_of<int32_t>(count);
  for (int64_t i = 0; i < count; ++i) {
    const float value = random_value(100 + static_cast<uint64_t>(number), static_cast<uint64_t>(i));
    ids[i] = static_cast<int32_t>((value + 1) / 2 * static_cast<float>(model().vocab_size));
  }
  tokens_ = device.take_of<int32_t>(count);
  copy(tokens_, ids, count * static_cast<int64_t>(sizeof(int32_t)));
}

void CaseContext::add_layer(bool is_stored) {
  kv_.push_back(transformer.kv_rows(device, all_tokens()));
  stored_kv_.emplace_back();
  if (is_stored) stored_kv_.back() = reserve(transformer.kv_bytes());
}

std::function<Load()> CaseContext::load(const StoredRows& from, std::byte* to, bool whole) const {
  return [=, this] { return context_arena.load(from, to, whole); };
}

Part CaseContext::new_part(int64_t layer, int64_t cached) const {
  return {.rows = one.new_tokens,
          .position = one.tokens,
          .cached = cached,
          .kv = kv_[static_cast<std::size_t>(layer)]};
}

void CaseContext::embed(Stream& stream, const Activations& batch, int64_t row, const Part& part) const {
  transformer.embed(stream, batch, row, tokens_ + part.position, part.rows);
}

Restoring CaseContext::restoring() {
  Restoring restoring{.ahead = one.options.read_buffer_layers.value_or(kNoLimit),
                      .step_tokens = step_part(0).rows};
  for (int64_t layer = 0; layer < layers(); ++layer) {
    for (Stage& stage : stages(layer)) restoring.stages.push_back(std::move(stage));
  }
  return restoring;
}

Restoring FusedContext::restoring() {
  Restoring restoring = CaseContext::restoring();
  restoring.fused = true;
  restoring.stages.push_back({.compute = [this](Stream& stream) {
    const Part part{.rows = last_rows()};
    transformer.head(stream, {&part, 1}, batch_);
  }});
  return restoring;
}

void CaseContext::compute_contents() {
  Arena memory(backend, Place::device);
  std::vector<LayerRows> rows(static_cast<std::size_t>(layers()));
  const int64_t chunk = chunk_tokens();
  for (int64_t first = 0; first < one.tokens; first += chunk) {
    memory.clear();
    prefill(first, std::min(chunk, one.tokens - first), memory, stores_positions(), &rows);
  }
  for (std::size_t layer = 0; layer < rows.size(); ++layer) put(layer, rows[layer]);
}

Activations CaseContext::prefill(int64_t first, int64_t count, Arena& memory, bool with_positions,
                                 std::vector<LayerRows>* rows) const {
  const Activations batch = transformer.activations(memory, count);
  const std::unique_ptr<Stream> stream = backend.make_stream();
  transformer.embed(*stream, batch, 0, tokens_ + first, count);
  std::byte* const unrotated = memory.take(count * transformer.kv_bytes());
  const KvRows kv = transformer.kv_rows(memory, count);
  const Part part{.rows = count, .kv = kv, .unrotated = unrotated};
  for (int64_t layer = 0; layer < layers(); ++layer) {
    LayerRows& to = (*rows)[static_cast<std::size_t>(layer)];
    transformer.queries(*stream, layer, {&part, 1}, batch);
    stream->synchronize();
    append(&to.hidden, batch.normed, count * transformer.hidden_bytes());
    transformer.after_queries(*stream, layer, {&part, 1}, batch);
    stream->synchronize();
    append(&to.kv, with_positions ? kv.k : unrotated, count * transformer.kv_bytes());
  }
  transformer.head(*stream, {&part, 1}, batch);
  stream->synchronize();
  return batch;
}

void CaseContext::put(std::size_t layer, const LayerRows& rows) {
  if (stored_kv_[layer]) context_arena.put(*stored_kv_[layer], rows.kv.data());
}

CaseRun::Values CaseContext::restored(const Activations& step) const {
  CaseRun::Values values;
  for (const KvRows& kv : kv_) {
    values.kv.push_back(floats(kv.k, one.tokens * kv.stride));
    values.new_kv.push_back(floats(transformer.key(kv, one.tokens), one.new_tokens * kv.stride));
  }
  values.logits = logits(step);
  return values;
}

CaseRun::Values CaseContext::original() const {
  Arena memory(backend, Place::device);
  std::vector<LayerRows> rows(static_cast<std::size_t>(layers()));
  const Activations batch = prefill(0, all_tokens(), memory, true, &rows);
  CaseRun::Values values;
  for (const LayerRows& layer : rows) {
    values.kv.push_back(
        numbers(transformer.format(), layer.kv.data(), one.tokens * 2 * transformer.kv_width()));
  }
  values.logits = floats(batch.logits, model().vocab_size);
  return values;
}

void CaseContext::copy(void* to, const void* from, int64_t bytes) const {
  const std::unique_ptr<Stream> stream = backend.make_stream();
  stream->copy(to, from, bytes);
  stream->synchronize();
}

void CaseContext::append(std::vector<std::byte>* to, const std::byte* from, int64_t bytes) const {
  to->resize(to->size() + static_cast<std::size_t>(bytes));
  copy(to->data() + to->size() - bytes, from, bytes);
}

MoveRows CaseContext::moved(void* to, const void* from, int64_t rows, int64_t width, int64_t stride,
                            const int32_t* index) const {
  return {.format = transformer.format(),
          .rows = rows,
          .width = width,
          .in_stride = stride,
          .out_stride = stride,
          .in = from,
          .out = to,
          .index = index};
}

std::vector<float> CaseContext::floats(const std::byte* from, int64_t count) const {
  const Format format = transformer.format();
  std::vector<std::byte> stored(static_cast<std::size_t>(count * bytes_of(format)));
  copy(stored.data(), from, std::ssize(stored));
  return numbers(format, stored.data(), count);
}

}  // namespace kvcap::calibration
