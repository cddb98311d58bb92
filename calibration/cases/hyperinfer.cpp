// hyperinfer: loads the probe heads' keys, then keys and values of the tokens identified as important.
#include <algorithm>

#include "calibration/cases/context.h"
#include "calibration/random_value.h"
#include "cost/identification.h"
#include "cost/importance.h"

namespace kvcap::calibration {
namespace {

constexpr uint64_t kSeed = 1;  // the default seed of a simulation

Identification identification(const CaseSetup& setup) {
  return {.retention = *setup.one.options.retention, .probe_heads = kProbeHeads};
}

void add_chosen(const auto& chosen, Indices* rows) {
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i]) rows->push_back(static_cast<int32_t>(i));
  }
}

class HyperInfer : public FusedContext {
 public:
  HyperInfer(const CaseSetup& setup, int64_t number, const std::optional<RestoreStatistics>& drawn)
      : FusedContext(setup, number) {
    for (int64_t layer = 0; layer < layers(); ++layer) {
      std::byte* const keys = device.take(all_tokens() * key_bytes());
      kv_.push_back({keys, device.take(all_tokens() * key_bytes()), transformer.kv_width()});
      by_layer_.push_back({.number = layer,
                           .stored_keys = reserve(key_bytes()),
                           .stored_values = reserve(key_bytes()),
                           .stored_probes = reserve(kProbeHeads * head_bytes()),
                           .kv = kv_.back()});
    }
    batch_ = transformer.activations(device, one.new_tokens);
    for (Layer& layer : by_layer_) make_memory(layer);
    if (drawn) draw_importance(*drawn);
  }

 private:
  struct Layer {
    int64_t number = 0;
    StoredRows stored_keys, stored_values, stored_probes;
    KvRows kv;                                                        // the important rows, then the new ones
    std::byte *probes = nullptr, *keys = nullptr, *values = nullptr;  // loaded, of all rows
    float *mass = nullptr, *mass_on_host = nullptr;
    uint8_t *marks = nullptr, *marks_on_host = nullptr;
    int32_t* important_on_host = nullptr;
    Indices important;  // rows for all heads, ascending, or for one head after the other
    bool falls_back = false;
  };

  int64_t important() const { return important_tokens(*one.options.retention, one.tokens); }

  void make_memory(Layer& layer) {
    layer.probes = device.take(one.tokens * kProbeHeads * head_bytes());
    layer.mass = device.take_of<float>(heads() * one.tokens);
    layer.mass_on_host = pinned.take_of<float>(heads() * one.tokens);
    layer.marks = device.take_of<uint8_t>(heads() * one.tokens);
    layer.marks_on_host = pinned.take_of<uint8_t>(heads() * one.tokens);
    layer.important_on_host = pinned.take_of<int32_t>(heads() * one.tokens);
    layer.keys = device.take(one.tokens * key_bytes());
    layer.values = device.take(one.tokens * key_bytes());
  }

  void draw_importance(const RestoreStatistics& statistics) {
    const int64_t fallen = statistics.fallback_layers(one.tokens, static_cast<uint64_t>(number_));
    const std::vector<ChunkUse> uses = statistics.chunks(one.tokens, kChunkTokens, true);
    for (Layer& layer : by_layer_) {
      const auto number = static_cast<uint64_t>((number_ * layers() + layer.number) * (heads() + 1));
      layer.falls_back = layer.number >= layers() - fallen;
      if (!layer.falls_back) draw(uses, number, &layer.important);
      for (int64_t head = 1; layer.falls_back && head <= heads(); ++head) {
        draw(uses, number + static_cast<uint64_t>(head), &layer.important);
      }
      std::ranges::copy(layer.important, layer.important_on_host);
    }
  }

  // Draws important() rows, each with kvcap's probability of being important at its rank of importance.
  void draw(const std::vector<ChunkUse>& uses, uint64_t number, Indices* rows) const {
    std::vector<std::pair<double, int32_t>> luck;
    int32_t row = 0;
    for (const ChunkUse& use : uses) {
      const double probability = use.important_tokens / static_cast<double>(use.tokens);
      for (int64_t i = 0; i < use.tokens; ++i, ++row) {
        luck.emplace_back((random_value(number, static_cast<uint64_t>(row)) + 1) / 2 - probability, row);
      }
    }
    std::nth_element(luck.begin(), luck.begin() + important(), luck.end());
    for (int64_t i = 0; i < important(); ++i) rows->push_back(luck[static_cast<std::size_t>(i)].second);
    std::sort(rows->end() - important(), rows->end());
  }

  void put(std::size_t layer, const LayerRows& rows) override {
    std::vector<std::byte> keys, values, probes;
    const auto add = [&](std::vector<std::byte>* to, int64_t offset_bytes, int64_t bytes) {
      for (int64_t token = 0; token < one.tokens; ++token) {
        const auto from = rows.kv.begin() + token * transformer.kv_bytes() + offset_bytes;
        to->insert(to->end(), from, from + bytes);
      }
    };
    add(&keys, 0, key_bytes());
    add(&values, key_bytes(), key_bytes());
    for (int64_t head = 0; head < kProbeHeads; ++head) add(&probes, head * head_bytes(), head_bytes());
    context_arena.put(by_layer_[layer].stored_keys, keys.data());
    context_arena.put(by_layer_[layer].stored_values, values.data());
    context_arena.put(by_layer_[layer].stored_probes, probes.data());
  }

  std::vector<Stage> stages(int64_t number) override {
    Layer& layer = by_layer_[static_cast<std::size_t>(number)];
    return {{.load = load(layer.stored_probes, layer.probes, true),
             .compute = [this, &layer](Stream& stream) { probe(stream, layer); },
             .after = [this, &layer] { identify_layer(layer); }},
            {.load = [this, &layer] { return load_other_keys(layer); },
             .waits = true,
             .compute = [this, &layer](Stream& stream) { other_mass(stream, layer); },
             .after = [this, &layer] { identify_by_head(layer); },
             .skipped = [&layer] { return !layer.falls_back; }},
            {.load = [this, &layer] { return load_rows(layer); },
             .waits = true,
             .compute = [this, &layer](Stream& stream) { attend(stream, layer); }}};
  }

  void probe(Stream& stream, const Layer& layer) const {
    const Part part = new_part(layer.number, important());
    if (layer.number == 0) embed(stream, batch_, 0, part);
    transformer.queries(stream, layer.number, {&part, 1}, batch_);
    mass(stream, layer, 0, kProbeHeads, layer.probes, model().head_dim, one.tokens * model().head_dim);
  }

  void other_mass(Stream& stream, const Layer& layer) const {
    mass(stream, layer, kProbeHeads, heads() - kProbeHeads, layer.keys + kProbeHeads * head_bytes(),
         transformer.kv_width(), model().head_dim);
  }

  void attend(Stream& stream, const Layer& layer) const {
    if (layer.falls_back) gather_by_head(stream, layer);
    const Part part = new_part(layer.number, important());
    transformer.after_queries(stream, layer.number, {&part, 1}, batch_);
  }

  // Chooses one set of tokens for all heads from the attention of the probe heads, on which these heads
  // agree.
  void identify_layer(Layer& layer) const {
    if (contents == Contents::drawn) return;
    const std::vector<double> mass(layer.mass_on_host, layer.mass_on_host + kProbeHeads * one.tokens);
    const ImportantSet set = identify(mass, kProbeHeads, important());
    layer.falls_back = set.jaccard < similarity_threshold(identification(*this));
    layer.important.clear();
    add_chosen(set.chosen, &layer.important);
    std::ranges::copy(layer.important, layer.important_on_host);
  }

  void identify_by_head(Layer& layer) const {
    if (contents == Contents::drawn) return;
    layer.important.clear();
    for (int64_t head = 0; head < heads(); ++head) {
      const auto* const marks = layer.marks_on_host + head * one.tokens;
      add_chosen(std::span(marks, static_cast<std::size_t>(one.tokens)), &layer.important);
    }
    std::ranges::copy(layer.important, layer.important_on_host);
  }

  // Enqueues the attention mass of `count` KV heads from head `first` on.
  void mass(Stream& stream, const Layer& layer, int64_t first, int64_t count, const std::byte* keys,
            int64_t stride, int64_t head_stride) const {
    const int64_t group = model().num_attention_heads / heads();
    const int64_t at_first = first * one.tokens;
    stream.attention_mass({.format = transformer.format(),
                           .queries = one.new_tokens,
                           .keys = one.tokens,
                           .kv_heads = count,
                           .group = group,
                           .head_dim = model().head_dim,
                           .q_stride = model().num_attention_heads * model().head_dim,
                           .k_stride = stride,
                           .k_head_stride = head_stride,
                           .q = batch_.q + first * group * head_bytes(),
                           .k = keys,
                           .mass = layer.mass + at_first});
    stream.mark_largest({.rows = count,
                         .length = one.tokens,
                         .count = important(),
                         .values = layer.mass + at_first,
                         .marked = layer.marks + at_first});
    stream.copy(layer.marks_on_host + at_first, layer.marks + at_first, count * one.tokens);
    if (contents == Contents::drawn) return;
    stream.copy(layer.mass_on_host + at_first, layer.mass + at_first,
                count * one.tokens * static_cast<int64_t>(sizeof(float)));
  }

  MoveRows important_to(std::byte* to, const std::byte* from, const Layer& layer) const {
    const int64_t width = transformer.kv_width();
    return moved(to, from, important(), width, width, layer.important_on_host);
  }
  MoveRows important_of_head(std::byte* to, const std::byte* from, const Layer& layer, int64_t head) const {
    const int64_t offset_bytes = head * head_bytes();
    return moved(to + offset_bytes, from + offset_bytes, important(), model().head_dim,
                 transformer.kv_width(), layer.important_on_host + head * important());
  }

  // Loads what the probe heads leave: values where heads differ, else the important rows, from host memory
  // these alone, from the file all chunks that hold any of them.
  Load load_rows(const Layer& layer) const {
    if (layer.falls_back) return load_values_by_head(layer);
    if (one.tier != Tier::dram) return load_touched_chunks(layer);
    return {.enqueue = [this, &layer](Stream& copies, const std::byte*) {
      copies.move_rows(important_to(layer.kv.k, context_arena.host(layer.stored_keys), layer));
      copies.move_rows(important_to(layer.kv.v, context_arena.host(layer.stored_values), layer));
    }};
  }

  Load load_touched_chunks(const Layer& layer) const {
    const int64_t chunk_bytes = kChunkTokens * key_bytes();
    std::vector<DiskPiece> keys, values;
    int32_t* index = layer.important_on_host;
    int64_t last = -1;
    for (const int32_t row : layer.important) {
      const int64_t chunk = row / kChunkTokens;
      if (chunk != last) {
        keys.push_back({layer.stored_keys.offset_bytes + chunk * chunk_bytes, chunk_bytes});
        values.push_back({layer.stored_values.offset_bytes + chunk * chunk_bytes, chunk_bytes});
      }
      last = chunk;
      *index++ = static_cast<int32_t>((std::ssize(keys) - 1) * kChunkTokens + row % kChunkTokens);
    }
    const int64_t values_at = std::ssize(keys) * chunk_bytes;
    keys.insert(keys.end(), values.begin(), values.end());
    return {keys, [this, &layer, values_at](Stream& copies, const std::byte* slot) {
              copies.move_rows(important_to(layer.kv.k, slot, layer));
              copies.move_rows(important_to(layer.kv.v, slot + values_at, layer));
            }};
  }

  // Loads the keys: from host memory those of the heads that are not probes, from the file whole chunks.
  Load load_other_keys(const Layer& layer) const {
    if (one.tier == Tier::ssd) return context_arena.load(layer.stored_keys, layer.keys);
    return {.enqueue = [this, &layer](Stream& copies, const std::byte*) {
      const int64_t offset_bytes = kProbeHeads * head_bytes();
      const int64_t width = (heads() - kProbeHeads) * model().head_dim;
      copies.move_rows(moved(layer.keys + offset_bytes, context_arena.host(layer.stored_keys) + offset_bytes,
                             one.tokens, width, transformer.kv_width(), nullptr));
    }};
  }

  Load load_values_by_head(const Layer& layer) const {
    if (one.tier == Tier::ssd) return context_arena.load(layer.stored_values, layer.values);
    return {.enqueue = [this, &layer](Stream& copies, const std::byte*) {
      const std::byte* const values = context_arena.host(layer.stored_values);
      for (int64_t head = 0; head < heads(); ++head) {
        copies.move_rows(important_of_head(layer.kv.v, values, layer, head));
      }
    }};
  }

  void gather_by_head(Stream& stream, const Layer& layer) const {
    for (int64_t head = 0; head < heads(); ++head) {
      MoveRows keys = important_of_head(layer.kv.k, layer.keys, layer, head);
      if (head < kProbeHeads) {
        keys.in = layer.probes + head * one.tokens * head_bytes();
        keys.in_stride = model().head_dim;
      }
      stream.move_rows(keys);
      if (one.tier == Tier::dram) continue;
      stream.move_rows(important_of_head(layer.kv.v, layer.values, layer, head));
    }
  }

  std::vector<Layer> by_layer_;
};

}  // namespace

Contexts hyperinfer(const CaseSetup& setup) {
  std::optional<RestoreStatistics> drawn;
  if (setup.contents == Contents::drawn) {
    drawn.emplace(ImportanceModel{}, identification(setup), setup.layers(), kSeed);
  }
  return contexts_of<HyperInfer>(setup, drawn);
}

}  // namespace kvcap::calibration
