#include <algorithm>

#include "calibration/cases/state.h"
#include "calibration/random_value.h"
#include "cost/identification.h"

namespace kvcap::calibration {
namespace {

constexpr uint64_t kSeed = 1;  // the default seed of a simulation

Indices chosen_rows(const std::vector<uint8_t>& chosen) {
  Indices rows;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i]) rows.push_back(static_cast<int32_t>(i));
  }
  return rows;
}

}  // namespace

void CaseRun::State::make_importance_memory(Context& context) {
  for (int64_t layer = 0; layer < layers(); ++layer) {
    context.probes.push_back(device.take(one.tokens * kProbeHeads * head_bytes()));
    context.mass.push_back(device.take_of<float>(heads() * one.tokens));
    context.mass_on_host.push_back(pinned.take_of<float>(heads() * one.tokens));
    context.marks.push_back(device.take_of<uint8_t>(heads() * one.tokens));
    context.marks_on_host.push_back(pinned.take_of<uint8_t>(heads() * one.tokens));
    context.important_on_host.push_back(pinned.take_of<int32_t>(heads() * one.tokens));
    context.all_keys.push_back(device.take(one.tokens * key_bytes()));
    context.all_values.push_back(device.take(one.tokens * key_bytes()));
  }
  context.important.resize(static_cast<std::size_t>(layers()));
  context.by_head.resize(static_cast<std::size_t>(layers()));
  context.falls_back.resize(static_cast<std::size_t>(layers()));
}

void CaseRun::State::draw_importance() {
  const Identification options{.retention = *one.options.retention, .probe_heads = kProbeHeads};
  statistics.emplace(ImportanceModel{}, options, layers(), kSeed);
  for (Context& context : contexts) draw_importance(context);
}

void CaseRun::State::draw_importance(Context& context) {
  const int64_t fallen = statistics->fallback_layers(one.tokens, static_cast<uint64_t>(context.number));
  for (int64_t layer = 0; layer < layers(); ++layer) {
    const auto at = static_cast<std::size_t>(layer);
    const auto number = static_cast<uint64_t>((context.number * layers() + layer) * (heads() + 1));
    context.falls_back[at] = layer >= layers() - fallen;
    context.important[at] = draw(number);
    context.by_head[at].clear();
    for (int64_t head = 0; context.falls_back[at] && head < heads(); ++head) {
      context.by_head[at].push_back(draw(number + 1 + static_cast<uint64_t>(head)));
    }
    keep_important(context, at);
  }
}

Indices CaseRun::State::draw(uint64_t number) const {
  std::vector<std::pair<double, int32_t>> luck;
  const std::vector<ChunkUse> uses = statistics->chunks(one.tokens, kChunkTokens, true);
  int32_t row = 0;
  for (const ChunkUse& use : uses) {
    const double probability = use.important_tokens / static_cast<double>(use.tokens);
    for (int64_t i = 0; i < use.tokens; ++i, ++row) {
      luck.emplace_back((random_value(number, static_cast<uint64_t>(row)) + 1) / 2 - probability, row);
    }
  }
  std::nth_element(luck.begin(), luck.begin() + important(), luck.end());
  Indices rows;
  for (int64_t i = 0; i < important(); ++i) rows.push_back(luck[static_cast<std::size_t>(i)].second);
  std::sort(rows.begin(), rows.end());
  return rows;
}

void CaseRun::State::keep_important(Context& context, std::size_t at) const {
  int32_t* to = context.important_on_host[at];
  if (!context.falls_back[at]) {
    std::copy(context.important[at].begin(), context.important[at].end(), to);
    return;
  }
  for (const Indices& rows : context.by_head[at]) to = std::copy(rows.begin(), rows.end(), to);
}

void CaseRun::State::add_important_stages(Context& context, int64_t layer, std::vector<Stage>& stages) {
  const auto at = static_cast<std::size_t>(layer);
  stages.push_back(
      {.load = [this, &context,
                at] { return context_arena.load(*context.stored[at].probes, context.probes[at], true); },
       .compute =
           [this, &context, layer, at](Stream& stream) {
             if (layer == 0) embed_new(stream, context, context.fresh, 0);
             const Part part = new_part(context, layer, important());
             transformer.queries(stream, layer, {&part, 1}, context.fresh);
             mass(stream, context, at, 0, kProbeHeads, context.probes[at], model().head_dim,
                  one.tokens * model().head_dim);
           },
       .after = [this, &context, at] { identify_layer(context, at); }});
  const auto falls_back = [&context, at] { return context.falls_back[at]; };
  stages.push_back({.load = [this, &context, at] { return load_other_keys(context, at); },
                    .waits = true,
                    .compute = [this, &context, at](Stream& stream) { other_mass(stream, context, at); },
                    .after = [this, &context, at] { identify_by_head(context, at); },
                    .skipped = [falls_back] { return !falls_back(); }});
  stages.push_back({.load =
                        [this, &context, at, falls_back] {
                          return falls_back() ? load_values_by_head(context, at)
                                              : load_important(context, at);
                        },
                    .waits = true,
                    .compute =
                        [this, &context, layer, at, falls_back](Stream& stream) {
                          if (falls_back()) gather_by_head(stream, context, at);
                          const Part part = new_part(context, layer, important());
                          transformer.after_queries(stream, layer, {&part, 1}, context.fresh);
                        }});
}

void CaseRun::State::identify_layer(Context& context, std::size_t at) {
  if (contents == Contents::drawn) return;
  const std::vector<double> mass(context.mass_on_host[at],
                                 context.mass_on_host[at] + kProbeHeads * one.tokens);
  const Identification options{.retention = *one.options.retention, .probe_heads = kProbeHeads};
  const ImportantSet set = identify(mass, kProbeHeads, important());
  context.falls_back[at] = set.jaccard < similarity_threshold(options);
  context.important[at] = chosen_rows(set.chosen);
  keep_important(context, at);
}

void CaseRun::State::identify_by_head(Context& context, std::size_t at) {
  if (contents == Contents::drawn) return;
  context.by_head[at].clear();
  for (int64_t head = 0; head < heads(); ++head) {
    const uint8_t* const marks = context.marks_on_host[at] + head * one.tokens;
    context.by_head[at].push_back(chosen_rows(std::vector<uint8_t>(marks, marks + one.tokens)));
  }
  keep_important(context, at);
}

void CaseRun::State::mass(Stream& stream, Context& context, std::size_t at, int64_t first, int64_t count,
                          const std::byte* keys, int64_t stride, int64_t head_stride) const {
  const int64_t group = model().num_attention_heads / heads();
  float* const mass = context.mass[at] + first * one.tokens;
  stream.attention_mass({.format = transformer.format(),
                         .queries = one.new_tokens,
                         .keys = one.tokens,
                         .kv_heads = count,
                         .group = group,
                         .head_dim = model().head_dim,
                         .q_stride = model().num_attention_heads * model().head_dim,
                         .k_stride = stride,
                         .k_head_stride = head_stride,
                         .q = context.fresh.q + first * group * head_bytes(),
                         .k = keys,
                         .mass = mass});
  const int64_t at_first = first * one.tokens;
  stream.mark_largest({.rows = count,
                       .length = one.tokens,
                       .count = important(),
                       .values = mass,
                       .marked = context.marks[at] + at_first});
  stream.copy(context.marks_on_host[at] + at_first, context.marks[at] + at_first, count * one.tokens);
  if (contents == Contents::drawn) return;
  stream.copy(context.mass_on_host[at] + at_first, mass,
              count * one.tokens * static_cast<int64_t>(sizeof(float)));
}

void CaseRun::State::other_mass(Stream& stream, Context& context, std::size_t at) const {
  mass(stream, context, at, kProbeHeads, heads() - kProbeHeads,
       context.all_keys[at] + kProbeHeads * head_bytes(), transformer.kv_width(), model().head_dim);
}

MoveRows CaseRun::State::rows_to(std::byte* to, const std::byte* from, int64_t rows, int64_t width,
                                 const int32_t* index) const {
  return {.format = transformer.format(),
          .rows = rows,
          .width = width,
          .in_stride = transformer.kv_width(),
          .out_stride = transformer.kv_width(),
          .in = from,
          .out = to,
          .index = index};
}

Load CaseRun::State::load_important(Context& context, std::size_t at) {
  const LayerStore& stored = context.stored[at];
  const KvRows& kv = context.kv[at];
  const int64_t rows = important();
  int32_t* const index = context.important_on_host[at];
  Load load;
  if (one.tier == Tier::dram) {
    load.enqueue = [=, this, &stored](Stream& copies, const std::byte*) {
      copies.move_rows(rows_to(kv.k, context_arena.host(*stored.keys), rows, transformer.kv_width(), index));
      copies.move_rows(
          rows_to(kv.v, context_arena.host(*stored.values), rows, transformer.kv_width(), index));
    };
    return load;
  }
  const int64_t chunk_bytes = kChunkTokens * key_bytes();
  int64_t touched = 0;
  int32_t last = -1;
  for (std::size_t i = 0; i < context.important[at].size(); ++i) {
    const int32_t row = context.important[at][i];
    const auto chunk = static_cast<int32_t>(row / kChunkTokens);
    if (chunk != last) {
      load.pieces.push_back({stored.keys->offset_bytes + chunk * chunk_bytes, chunk_bytes});
      ++touched;
      last = chunk;
    }
    index[i] = static_cast<int32_t>((touched - 1) * kChunkTokens + row % kChunkTokens);
  }
  for (int64_t i = 0; i < touched; ++i) {
    const int64_t offset_bytes = load.pieces[static_cast<std::size_t>(i)].offset_bytes;
    load.pieces.push_back(
        {offset_bytes - stored.keys->offset_bytes + stored.values->offset_bytes, chunk_bytes});
  }
  load.enqueue = [=, this](Stream& copies, const std::byte* slot) {
    const std::byte* values = slot + touched * chunk_bytes;
    copies.move_rows(rows_to(kv.k, slot, rows, transformer.kv_width(), index));
    copies.move_rows(rows_to(kv.v, values, rows, transformer.kv_width(), index));
  };
  return load;
}

Load CaseRun::State::load_other_keys(Context& context, std::size_t at) {
  const StoredRows& keys = *context.stored[at].keys;
  if (one.tier == Tier::ssd) return context_arena.load(keys, context.all_keys[at]);
  Load load;
  load.enqueue = [this, &context, &keys, at](Stream& copies, const std::byte*) {
    const int64_t offset_bytes = kProbeHeads * head_bytes();
    copies.move_rows(rows_to(context.all_keys[at] + offset_bytes, context_arena.host(keys) + offset_bytes,
                             one.tokens, (heads() - kProbeHeads) * model().head_dim, nullptr));
  };
  return load;
}

Load CaseRun::State::load_values_by_head(Context& context, std::size_t at) {
  const StoredRows& values = *context.stored[at].values;
  if (one.tier == Tier::ssd) return context_arena.load(values, context.all_values[at]);
  Load load;
  load.enqueue = [this, &context, &values, at](Stream& copies, const std::byte*) {
    for (int64_t head = 0; head < heads(); ++head) {
      copies.move_rows(rows_to(context.kv[at].v + head * head_bytes(),
                               context_arena.host(values) + head * head_bytes(), important(),
                               model().head_dim, context.important_on_host[at] + head * important()));
    }
  };
  return load;
}

void CaseRun::State::gather_by_head(Stream& stream, Context& context, std::size_t at) const {
  for (int64_t head = 0; head < heads(); ++head) {
    const int32_t* const index = context.important_on_host[at] + head * important();
    MoveRows keys = rows_to(context.kv[at].k + head * head_bytes(),
                            context.all_keys[at] + head * head_bytes(), important(), model().head_dim, index);
    if (head < kProbeHeads) {
      keys.in = context.probes[at] + head * one.tokens * head_bytes();
      keys.in_stride = model().head_dim;
    }
    stream.move_rows(keys);
    if (one.tier == Tier::dram) continue;
    stream.move_rows(rows_to(context.kv[at].v + head * head_bytes(),
                             context.all_values[at] + head * head_bytes(), important(), model().head_dim,
                             index));
  }
}

}  // namespace kvcap::calibration
