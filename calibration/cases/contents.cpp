#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "calibration/cases/state.h"

namespace kvcap::calibration {
namespace {

constexpr int64_t kBlendChunkTokens = 512;

}  // namespace

void CaseRun::State::compute_contents(Context& context) {
  Arena memory(backend, Place::device);
  const bool in_chunks = is("cacheblend");
  const int64_t stretch =
      in_chunks ? std::min(kBlendChunkTokens, std::max<int64_t>(1, one.tokens / 4)) : one.tokens;
  std::vector<std::vector<std::byte>> kv(static_cast<std::size_t>(layers()));
  std::vector<std::vector<std::byte>> hidden(static_cast<std::size_t>(layers()));
  for (int64_t first = 0; first < one.tokens; first += stretch) {
    const int64_t count = std::min(stretch, one.tokens - first);
    memory.clear();
    const Activations batch = transformer.activations(memory, count);
    const bool without_positions = is("cached_attention") || in_chunks;
    prefill(
        context, first, count, memory, batch,
        [&](int64_t layer, const std::byte* normed) {
          const std::vector<std::byte> rows = download(normed, count * transformer.hidden_bytes());
          auto& all = hidden[static_cast<std::size_t>(layer)];
          all.insert(all.end(), rows.begin(), rows.end());
        },
        [&](int64_t layer, const KvRows& rotated, const std::byte* unrotated) {
          const std::vector<std::byte> rows =
              download(without_positions ? unrotated : rotated.k, count * transformer.kv_bytes());
          auto& all = kv[static_cast<std::size_t>(layer)];
          all.insert(all.end(), rows.begin(), rows.end());
        });
  }
  for (int64_t layer = 0; layer < layers(); ++layer) {
    const auto at = static_cast<std::size_t>(layer);
    put(context.stored[at], kv[at], hidden[at]);
  }
}

void CaseRun::State::prefill(
    const Context& context, int64_t first, int64_t count, Arena& memory, const Activations& batch,
    const std::function<void(int64_t layer, const std::byte* hidden)>& projected,
    const std::function<void(int64_t layer, const KvRows&, const std::byte* unrotated)>& done) const {
  const std::unique_ptr<Stream> stream = backend.make_stream();
  transformer.embed(*stream, batch, 0, context.tokens + first, count);
  std::byte* const unrotated = memory.take(count * transformer.kv_bytes());
  const KvRows kv = transformer.kv_rows(memory, count);
  const Part part{.rows = count, .kv = kv, .unrotated = unrotated};
  for (int64_t layer = 0; layer < layers(); ++layer) {
    transformer.queries(*stream, layer, {&part, 1}, batch);
    stream->synchronize();
    if (projected) projected(layer, batch.normed);
    transformer.after_queries(*stream, layer, {&part, 1}, batch);
    stream->synchronize();
    done(layer, kv, unrotated);
  }
  transformer.head(*stream, {&part, 1}, batch);
  stream->synchronize();
}

void CaseRun::State::put(const LayerStore& stored, const std::vector<std::byte>& kv,
                         const std::vector<std::byte>& hidden) {
  if (stored.hidden) context_arena.put(*stored.hidden, hidden.data());
  if (stored.kv) context_arena.put(*stored.kv, kv.data());
  if (!stored.keys) return;
  std::vector<std::byte> keys, values, probes;
  for (int64_t token = 0; token < one.tokens; ++token) {
    const auto row = kv.begin() + token * transformer.kv_bytes();
    keys.insert(keys.end(), row, row + key_bytes());
    values.insert(values.end(), row + key_bytes(), row + 2 * key_bytes());
  }
  for (int64_t head = 0; head < kProbeHeads; ++head) {
    for (int64_t token = 0; token < one.tokens; ++token) {
      const auto row = keys.begin() + token * key_bytes() + head * head_bytes();
      probes.insert(probes.end(), row, row + head_bytes());
    }
  }
  context_arena.put(*stored.keys, keys.data());
  context_arena.put(*stored.values, values.data());
  context_arena.put(*stored.probes, probes.data());
}

std::vector<std::byte> CaseRun::State::download(const std::byte* from, int64_t bytes) const {
  std::vector<std::byte> host(static_cast<std::size_t>(bytes));
  const std::unique_ptr<Stream> stream = backend.make_stream();
  stream->copy(host.data(), from, bytes);
  stream->synchronize();
  return host;
}

std::vector<float> CaseRun::State::floats(const std::byte* from, int64_t count) const {
  KVCAP_CHECK(transformer.format() == Format::float32);
  const std::vector<std::byte> bytes = download(from, count * 4);
  std::vector<float> values(static_cast<std::size_t>(count));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace kvcap::calibration
