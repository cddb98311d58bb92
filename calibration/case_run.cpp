#include "calibration/case_run.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>

#include "base/check.h"
#include "calibration/random_value.h"
#include "cost/identification.h"
#include "cost/importance.h"

namespace kvcap::calibration {
namespace {

constexpr int64_t kProbeHeads = 3;
constexpr uint64_t kSeed = 1;  // of a simulation too, unless it is told otherwise
constexpr int64_t kBlendChunkTokens = 512;

using Indices = std::vector<int32_t>;

}  // namespace

struct CaseRun::State {
  // What one layer of one context is kept as.
  struct LayerStore {
    std::optional<StoredRows> hidden, kv, keys, values, probes;
  };

  struct Context {
    int64_t number = 0;
    int32_t* tokens = nullptr;  // ids on the device, history and new ones
    std::vector<LayerStore> stored;
    std::vector<KvRows> kv;          // by layer, history and new tokens
    std::vector<std::byte*> hidden;  // hcache: loaded hidden states
    Activations history, fresh;      // for history rows, and for new ones
    std::byte* other_x = nullptr;    // cacheblend: x before it is thinned out
    // cached_attention: new tokens' state without positions, on the device and saved
    std::vector<std::byte*> unrotated, saved;
    std::vector<std::unique_ptr<Event>> layer_done;
    // cacheblend: the last full layer's own KV and how far it lies from what was stored
    KvRows computed_kv;
    float* distance = nullptr;  // device
    float* distance_on_host = nullptr;
    std::vector<Indices> positions;  // by layer: rows that are computed
    std::vector<int32_t*> positions_on_host, positions_on_device, ranks_on_host, ranks_on_device;
    // hyperinfer, by layer
    std::vector<std::byte*> probes, all_keys, all_values;
    std::vector<float*> mass, mass_on_host;
    std::vector<Indices> important;             // rows, ascending; all heads'
    std::vector<std::vector<Indices>> by_head;  // where heads differ
    std::vector<int32_t*> important_on_host;
    std::vector<bool> falls_back;
  };

  Backend& backend;
  const Transformer& transformer;
  Vault& vault;
  Arena& device;
  Arena& pinned;
  TwinCase one;
  Contents contents;
  std::unique_ptr<Stream> saves;
  std::vector<Context> contexts;
  Activations step_activations;
  std::optional<RestoreStatistics> statistics;

  const ModelSpec& model() const { return transformer.model(); }
  int64_t layers() const { return model().num_hidden_layers; }
  int64_t heads() const { return model().num_key_value_heads; }
  int64_t all_tokens() const { return one.tokens + one.new_tokens; }
  int64_t element_bytes() const { return transformer.element_bytes(); }
  int64_t head_bytes() const { return model().head_dim * element_bytes(); }
  int64_t key_bytes() const { return heads() * head_bytes(); }
  bool is(const char* policy) const { return one.policy == policy; }

  State(Backend& of_backend, const Transformer& of_model, Vault& in_vault, Arena& on_device, Arena& on_host,
        const TwinCase& of_case, Contents filled)
      : backend(of_backend),
        transformer(of_model),
        vault(in_vault),
        device(on_device),
        pinned(on_host),
        one(of_case),
        contents(filled) {
    vault.clear();
    device.clear();
    pinned.clear();
    saves = backend.make_stream();
    contexts.resize(static_cast<std::size_t>(one.requests));
    for (int64_t i = 0; i < one.requests; ++i) {
      Context& context = contexts[static_cast<std::size_t>(i)];
      context.number = i;
      make_tokens(context);
      make_memory(context);
    }
    const int64_t step_rows = is("recompute") ? all_tokens() : one.requests * one.new_tokens;
    step_activations = transformer.activations(device, step_rows);
    if (is("hyperinfer")) {
      const Identification options{.retention = *one.options.retention, .probe_heads = kProbeHeads};
      if (contents == Contents::drawn) statistics.emplace(ImportanceModel{}, options, layers(), kSeed);
      for (Context& context : contexts) draw_importance(context);
    }
    if (contents == Contents::computed) {
      for (Context& context : contexts) compute_contents(context);
    }
  }

  // ---- memory ----

  void make_tokens(Context& context) {
    const int64_t count = all_tokens();
    auto* ids = pinned.take_of<int32_t>(count);
    for (int64_t i = 0; i < count; ++i) {
      const float value = random_value(100 + static_cast<uint64_t>(context.number), static_cast<uint64_t>(i));
      ids[i] = static_cast<int32_t>((value + 1) / 2 * static_cast<float>(model().vocab_size));
    }
    context.tokens = device.take_of<int32_t>(count);
    upload(context.tokens, ids, count);
  }

  void upload(int32_t* to, const int32_t* from, int64_t count) {
    const std::unique_ptr<Stream> stream = backend.make_stream();
    stream->copy(to, from, count * static_cast<int64_t>(sizeof(int32_t)));
    stream->synchronize();
  }

  // hcache: layers [0, recomputed) from tokens, then hidden states, the last kv_layers KV.
  bool recomputed(int64_t layer) const { return layer < one.options.recomputed_layers.value_or(0); }
  bool hidden(int64_t layer) const {
    return is("hcache") && !recomputed(layer) && layer < layers() - one.options.kv_layers.value_or(0);
  }

  void make_memory(Context& context) {
    const bool fused = is("cached_attention") || is("cacheblend") || is("hyperinfer");
    const auto size = static_cast<std::size_t>(layers());
    context.stored.resize(size);
    for (int64_t layer = 0; layer < layers(); ++layer) {
      LayerStore& stored = context.stored[static_cast<std::size_t>(layer)];
      if (is("hyperinfer")) {
        stored.keys = vault.reserve(one.tier, key_bytes(), one.tokens);
        stored.values = vault.reserve(one.tier, key_bytes(), one.tokens);
        stored.probes = vault.reserve(one.tier, kProbeHeads * head_bytes(), one.tokens);
        std::byte* const keys = device.take(all_tokens() * key_bytes());
        context.kv.push_back({keys, device.take(all_tokens() * key_bytes()), transformer.kv_width()});
        continue;
      }
      context.kv.push_back(transformer.kv_rows(device, all_tokens()));
      if (is("recompute") || (is("hcache") && recomputed(layer))) continue;
      if (hidden(layer)) {
        stored.hidden = vault.reserve(one.tier, transformer.hidden_bytes(), one.tokens);
        context.hidden.resize(size);
        context.hidden[static_cast<std::size_t>(layer)] =
            device.take(one.tokens * transformer.hidden_bytes());
      } else {
        stored.kv = vault.reserve(one.tier, transformer.kv_bytes(), one.tokens);
      }
    }
    if (is("hcache") && recomputed(0)) context.history = transformer.activations(device, one.tokens);
    if (is("cacheblend")) {
      context.history = transformer.activations(device, all_tokens());
      context.other_x = device.take(all_tokens() * transformer.hidden_bytes());
      make_blend_memory(context);
    } else if (fused) {
      context.fresh = transformer.activations(device, one.new_tokens);
    }
    if (is("cached_attention")) make_save_memory(context);
    if (is("hyperinfer")) make_importance_memory(context);
  }

  void make_save_memory(Context& context) {
    for (int64_t layer = 0; layer < layers(); ++layer) {
      context.unrotated.push_back(device.take(one.new_tokens * transformer.kv_bytes()));
      context.saved.push_back(pinned.take(one.new_tokens * transformer.kv_bytes()));
      context.layer_done.push_back(backend.make_event());
    }
  }

  void make_blend_memory(Context& context) {
    context.computed_kv = transformer.kv_rows(device, all_tokens());
    context.distance = device.take_of<float>(one.tokens);
    context.distance_on_host = pinned.take_of<float>(one.tokens);
    context.positions.resize(static_cast<std::size_t>(layers()));
    for (int64_t layer = 0; layer < layers(); ++layer) {
      context.positions_on_host.push_back(pinned.take_of<int32_t>(all_tokens()));
      context.positions_on_device.push_back(device.take_of<int32_t>(all_tokens()));
      context.ranks_on_host.push_back(pinned.take_of<int32_t>(all_tokens()));
      context.ranks_on_device.push_back(device.take_of<int32_t>(all_tokens()));
    }
  }

  void make_importance_memory(Context& context) {
    for (int64_t layer = 0; layer < layers(); ++layer) {
      context.probes.push_back(device.take(one.tokens * kProbeHeads * head_bytes()));
      context.mass.push_back(device.take_of<float>(heads() * one.tokens));
      context.mass_on_host.push_back(pinned.take_of<float>(heads() * one.tokens));
      context.important_on_host.push_back(pinned.take_of<int32_t>(heads() * one.tokens));
      context.all_keys.push_back(device.take(one.tokens * key_bytes()));
      context.all_values.push_back(device.take(one.tokens * key_bytes()));
    }
    context.important.resize(static_cast<std::size_t>(layers()));
    context.by_head.resize(static_cast<std::size_t>(layers()));
    context.falls_back.resize(static_cast<std::size_t>(layers()));
  }

  // ---- stages ----

  std::vector<Restoring> restorings() {
    std::vector<Restoring> list;
    for (Context& context : contexts) list.push_back(restoring(context));
    return list;
  }

  Restoring restoring(Context& context) {
    Restoring restoring{.step_tokens = is("recompute") ? all_tokens() : one.new_tokens};
    for (int64_t layer = 0; layer < layers(); ++layer) {
      if (is("kv_offload")) restoring.stages.push_back({.load = load_kv(context, layer)});
      if (is("hcache")) restoring.stages.push_back(hcache_stage(context, layer));
      if (is("cached_attention")) restoring.stages.push_back(preload_stage(context, layer));
      if (is("cacheblend")) restoring.stages.push_back(blend_stage(context, layer));
      if (is("hyperinfer")) add_important_stages(context, layer, restoring.stages);
    }
    restoring.fused = is("cached_attention") || is("cacheblend") || is("hyperinfer");
    if (restoring.fused) restoring.stages.push_back(head_stage(context));
    restoring.ahead = one.options.read_buffer_layers.value_or(kNoLimit);
    return restoring;
  }

  std::function<Load()> load_kv(Context& context, int64_t layer) {
    const auto at = static_cast<std::size_t>(layer);
    return [this, &context, at] { return vault.load(*context.stored[at].kv, context.kv[at].k); };
  }

  Part new_part(const Context& context, int64_t layer, int64_t cached) const {
    return {.rows = one.new_tokens,
            .position = one.tokens,
            .cached = cached,
            .kv = context.kv[static_cast<std::size_t>(layer)]};
  }
  void embed_new(Stream& stream, const Context& context, const Activations& batch, int64_t row) const {
    transformer.embed(stream, batch, row, context.tokens + one.tokens, one.new_tokens);
  }

  Stage head_stage(Context& context) {
    return {.compute = [this, &context](Stream& stream) {
      const bool blends = is("cacheblend");
      Part part{.rows = one.new_tokens};
      if (blends) part.rows = std::ssize(context.positions.back());
      transformer.head(stream, {&part, 1}, blends ? context.history : context.fresh);
    }};
  }

  Stage hcache_stage(Context& context, int64_t layer) {
    const auto at = static_cast<std::size_t>(layer);
    if (recomputed(layer)) {
      return {.compute = [this, &context, layer, at](Stream& stream) {
        if (layer == 0) transformer.embed(stream, context.history, 0, context.tokens, one.tokens);
        const Part part{.rows = one.tokens, .kv = context.kv[at]};
        transformer.layer(stream, layer, {&part, 1}, context.history);
      }};
    }
    if (!hidden(layer)) return {.load = load_kv(context, layer)};
    return {
        .load = [this, &context, at] { return vault.load(*context.stored[at].hidden, context.hidden[at]); },
        .compute =
            [this, &context, layer, at](Stream& stream) {
              transformer.project(stream, layer, context.hidden[at], one.tokens, 0, context.kv[at]);
            }};
  }

  Stage preload_stage(Context& context, int64_t layer) {
    const auto at = static_cast<std::size_t>(layer);
    return {.load = load_kv(context, layer), .compute = [this, &context, layer, at](Stream& stream) {
              if (layer == 0) embed_new(stream, context, context.fresh, 0);
              transformer.rotate_keys(stream, context.kv[at], one.tokens, 0);
              Part part = new_part(context, layer, one.tokens);
              part.unrotated = context.unrotated[at];
              transformer.layer(stream, layer, {&part, 1}, context.fresh);
              stream.record(*context.layer_done[at]);
              saves->wait(*context.layer_done[at]);
              saves->copy(context.saved[at], context.unrotated[at], one.new_tokens * transformer.kv_bytes());
            }};
  }

  // ---- cacheblend ----

  int64_t full_layers() const { return *one.options.full_layers; }

  Stage blend_stage(Context& context, int64_t layer) {
    const auto at = static_cast<std::size_t>(layer);
    Stage stage{.load = load_kv(context, layer)};
    if (layer >= full_layers()) {
      stage.compute = [this, &context, layer](Stream& stream) { compute_scattered(stream, context, layer); };
      return stage;
    }
    const bool last = layer + 1 == full_layers();
    stage.compute = [this, &context, layer, at, last](Stream& stream) {
      if (layer == 0) transformer.embed(stream, context.history, 0, context.tokens, all_tokens());
      const Part part{.rows = all_tokens(), .kv = last ? context.computed_kv : context.kv[at]};
      transformer.layer(stream, layer, {&part, 1}, context.history);
      if (!last) return;
      stream.row_distance({.format = transformer.format(),
                           .rows = one.tokens,
                           .width = transformer.kv_width(),
                           .a_stride = context.kv[at].stride,
                           .b_stride = part.kv.stride,
                           .a = context.kv[at].v,
                           .b = part.kv.v,
                           .out = context.distance});
      stream.copy(context.distance_on_host, context.distance,
                  one.tokens * static_cast<int64_t>(sizeof(float)));
    };
    if (last) stage.after = [this, &context] { choose_scattered(context); };
    return stage;
  }

  // The tokens that deviate most, fewer of them layer by layer: from 1.2 to 0.8 of the ratio, as kvcap has
  // it.
  void choose_scattered(Context& context) {
    Indices order(static_cast<std::size_t>(one.tokens));
    std::iota(order.begin(), order.end(), 0);
    const float* distance = context.distance_on_host;
    std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return distance[a] != distance[b] ? distance[a] > distance[b] : a < b;
    });
    const int64_t partial_layers = layers() - full_layers();
    Indices before(static_cast<std::size_t>(all_tokens()));
    std::iota(before.begin(), before.end(), 0);
    for (int64_t i = 0; i < partial_layers; ++i) {
      const auto at = static_cast<std::size_t>(full_layers() + i);
      const double ratio = *one.options.recompute_ratio;
      const double tilt = partial_layers < 2 ? 0 : std::min(0.2 * ratio, 1 - ratio);
      const double slope =
          partial_layers < 2 ? 0 : static_cast<double>(i) / static_cast<double>(partial_layers - 1);
      const double share = ratio + tilt * (1 - 2 * slope);
      const auto again = std::llround(share * static_cast<double>(one.tokens));
      Indices& positions = context.positions[at];
      positions.assign(order.begin(), order.begin() + again);
      std::sort(positions.begin(), positions.end());
      for (int64_t token = one.tokens; token < all_tokens(); ++token) {
        positions.push_back(static_cast<int32_t>(token));
      }
      std::copy(positions.begin(), positions.end(), context.positions_on_host[at]);
      int32_t* rank = context.ranks_on_host[at];
      auto from = before.begin();
      for (int32_t position : positions) {
        from = std::lower_bound(from, before.end(), position);
        KVCAP_CHECK(from != before.end() && *from == position);
        *rank++ = static_cast<int32_t>(from - before.begin());
      }
      before = positions;
    }
  }

  void compute_scattered(Stream& stream, Context& context, int64_t layer) const {
    const auto at = static_cast<std::size_t>(layer);
    const int64_t rows = std::ssize(context.positions[at]);
    const int64_t bytes = rows * static_cast<int64_t>(sizeof(int32_t));
    stream.copy(context.positions_on_device[at], context.positions_on_host[at], bytes);
    stream.copy(context.ranks_on_device[at], context.ranks_on_host[at], bytes);
    stream.move_rows({.format = transformer.format(),
                      .rows = rows,
                      .width = model().hidden_size,
                      .in_stride = model().hidden_size,
                      .out_stride = model().hidden_size,
                      .in = context.history.x,
                      .out = context.other_x,
                      .index = context.ranks_on_device[at]});
    std::swap(context.history.x, context.other_x);
    transformer.rotate_keys(stream, context.kv[at], one.tokens, 0);
    transformer.scattered_layer(stream, layer, context.positions_on_device[at], rows, all_tokens(),
                                context.kv[at], context.history);
  }

  // ---- hyperinfer ----

  int64_t important() const { return important_tokens(*one.options.retention, one.tokens); }

  // So many rows, each with kvcap's probability to be important at its place in the order of importance.
  Indices draw(uint64_t number) const {
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

  void draw_importance(Context& context) {
    if (contents == Contents::computed) return;
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

  void keep_important(Context& context, std::size_t at) const {
    int32_t* to = context.important_on_host[at];
    if (!context.falls_back[at]) {
      std::copy(context.important[at].begin(), context.important[at].end(), to);
      return;
    }
    for (const Indices& rows : context.by_head[at]) to = std::copy(rows.begin(), rows.end(), to);
  }

  static Indices chosen_rows(const std::vector<uint8_t>& chosen) {
    Indices rows;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (chosen[i]) rows.push_back(static_cast<int32_t>(i));
    }
    return rows;
  }

  // From the probe heads' attention: one set for all heads where they agree.
  void identify_layer(Context& context, std::size_t at) {
    const std::vector<double> mass(context.mass_on_host[at],
                                   context.mass_on_host[at] + kProbeHeads * one.tokens);
    const Identification options{.retention = *one.options.retention, .probe_heads = kProbeHeads};
    const ImportantSet set = identify(mass, kProbeHeads, important());
    if (contents == Contents::drawn) return;
    context.falls_back[at] = set.jaccard < similarity_threshold(options);
    context.important[at] = chosen_rows(set.chosen);
    keep_important(context, at);
  }

  void identify_by_head(Context& context, std::size_t at) {
    std::vector<Indices> by_head;
    for (int64_t head = 0; head < heads(); ++head) {
      const float* mass = context.mass_on_host[at] + head * one.tokens;
      by_head.push_back(chosen_rows(largest(std::vector<double>(mass, mass + one.tokens), important())));
    }
    if (contents == Contents::drawn) return;
    context.by_head[at] = std::move(by_head);
    keep_important(context, at);
  }

  void add_important_stages(Context& context, int64_t layer, std::vector<Stage>& stages) {
    const auto at = static_cast<std::size_t>(layer);
    stages.push_back(
        {.load = [this, &context,
                  at] { return vault.load(*context.stored[at].probes, context.probes[at], true); },
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

  // Attention of `count` KV heads from `first` on.
  void mass(Stream& stream, Context& context, std::size_t at, int64_t first, int64_t count,
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
    stream.copy(context.mass_on_host[at] + first * one.tokens, mass,
                count * one.tokens * static_cast<int64_t>(sizeof(float)));
  }
  void other_mass(Stream& stream, Context& context, std::size_t at) const {
    mass(stream, context, at, kProbeHeads, heads() - kProbeHeads,
         context.all_keys[at] + kProbeHeads * head_bytes(), transformer.kv_width(), model().head_dim);
  }

  MoveRows rows_to(std::byte* to, const std::byte* from, int64_t rows, int64_t width,
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

  // Memory: the important rows alone. File: whole chunks that hold any, and of these the important rows.
  Load load_important(Context& context, std::size_t at) {
    const LayerStore& stored = context.stored[at];
    const KvRows& kv = context.kv[at];
    const int64_t rows = important();
    int32_t* const index = context.important_on_host[at];
    Load load;
    if (one.tier == Tier::dram) {
      load.enqueue = [=, this, &stored](Stream& copies, const std::byte*) {
        copies.move_rows(rows_to(kv.k, vault.host(*stored.keys), rows, transformer.kv_width(), index));
        copies.move_rows(rows_to(kv.v, vault.host(*stored.values), rows, transformer.kv_width(), index));
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

  // Of memory the heads that are no probes, of the file whole chunks.
  Load load_other_keys(Context& context, std::size_t at) {
    const StoredRows& keys = *context.stored[at].keys;
    if (one.tier == Tier::ssd) return vault.load(keys, context.all_keys[at]);
    Load load;
    load.enqueue = [this, &context, &keys, at](Stream& copies, const std::byte*) {
      const int64_t offset_bytes = kProbeHeads * head_bytes();
      copies.move_rows(rows_to(context.all_keys[at] + offset_bytes, vault.host(keys) + offset_bytes,
                               one.tokens, (heads() - kProbeHeads) * model().head_dim, nullptr));
    };
    return load;
  }

  Load load_values_by_head(Context& context, std::size_t at) {
    const StoredRows& values = *context.stored[at].values;
    if (one.tier == Tier::ssd) return vault.load(values, context.all_values[at]);
    Load load;
    load.enqueue = [this, &context, &values, at](Stream& copies, const std::byte*) {
      for (int64_t head = 0; head < heads(); ++head) {
        copies.move_rows(rows_to(context.kv[at].v + head * head_bytes(),
                                 vault.host(values) + head * head_bytes(), important(), model().head_dim,
                                 context.important_on_host[at] + head * important()));
      }
    };
    return load;
  }

  void gather_by_head(Stream& stream, Context& context, std::size_t at) const {
    for (int64_t head = 0; head < heads(); ++head) {
      const int32_t* const index = context.important_on_host[at] + head * important();
      MoveRows keys =
          rows_to(context.kv[at].k + head * head_bytes(), context.all_keys[at] + head * head_bytes(),
                  important(), model().head_dim, index);
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

  // ---- steps ----

  Step make_step(std::span<const int64_t> members) {
    const bool whole = is("recompute");
    std::vector<Context*> batch;
    for (const int64_t member : members) batch.push_back(&contexts[static_cast<std::size_t>(member)]);
    const auto parts_at = [this, whole, batch](int64_t layer) {
      std::vector<Part> parts;
      for (const Context* context : batch) {
        parts.push_back(new_part(*context, layer, one.tokens));
        if (whole) parts.back().rows = all_tokens(), parts.back().position = parts.back().cached = 0;
      }
      return parts;
    };
    Step step;
    for (int64_t layer = 0; layer < layers(); ++layer) {
      step.push_back([=, this](Stream& stream) {
        const std::vector<Part> parts = parts_at(layer);
        int64_t row = 0;
        for (std::size_t i = 0; layer == 0 && i < parts.size(); ++i) {
          transformer.embed(stream, step_activations, row, batch[i]->tokens + parts[i].position,
                            parts[i].rows);
          row += parts[i].rows;
        }
        transformer.layer(stream, layer, parts, step_activations);
      });
    }
    step.push_back([=, this](Stream& stream) { transformer.head(stream, parts_at(0), step_activations); });
    return step;
  }

  // ---- contents ----

  std::vector<std::byte> download(const std::byte* from, int64_t bytes) const {
    std::vector<std::byte> host(static_cast<std::size_t>(bytes));
    const std::unique_ptr<Stream> stream = backend.make_stream();
    stream->copy(host.data(), from, bytes);
    stream->synchronize();
    return host;
  }

  // A prefill of some of a context's tokens, layer by layer: `seen` is called between the halves of a layer
  // and after it.
  void prefill(
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

  // Really prefilled contexts into the vault. cacheblend's chunks know nothing of each other.
  void compute_contents(Context& context) {
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

  void put(const LayerStore& stored, const std::vector<std::byte>& kv, const std::vector<std::byte>& hidden) {
    if (stored.hidden) vault.put(*stored.hidden, hidden.data());
    if (stored.kv) vault.put(*stored.kv, kv.data());
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
    vault.put(*stored.keys, keys.data());
    vault.put(*stored.values, values.data());
    vault.put(*stored.probes, probes.data());
  }

  std::vector<float> floats(const std::byte* from, int64_t count) const {
    KVCAP_CHECK(transformer.format() == Format::float32);
    const std::vector<std::byte> bytes = download(from, count * 4);
    std::vector<float> values(static_cast<std::size_t>(count));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
};

int64_t stored_bytes(const TwinCase& one, const ModelSpec& model, Format format) {
  if (one.policy == "recompute") return 0;
  const int64_t kv_width = 2 * model.num_key_value_heads * model.head_dim;
  const int64_t widest = std::max(model.hidden_size, kv_width + kProbeHeads * model.head_dim);
  const int64_t layer_bytes =
      chunks(one.tokens) * kChunkTokens * widest * bytes_of(format) + 3 * kDirectBytes;
  return one.requests * model.num_hidden_layers * layer_bytes;
}

int64_t slot_bytes(const TwinCase& one, const ModelSpec& model, Format format) {
  const int64_t widest = std::max(model.hidden_size, 2 * model.num_key_value_heads * model.head_dim);
  return chunks(one.tokens) * kChunkTokens * widest * bytes_of(format) + kDirectBytes;
}

CaseRun::CaseRun(Backend& backend, const Transformer& transformer, Vault& vault, Arena& device, Arena& pinned,
                 const TwinCase& one, Contents contents)
    : state_(std::make_unique<State>(backend, transformer, vault, device, pinned, one, contents)) {}

CaseRun::~CaseRun() = default;

std::vector<Answered> CaseRun::perform(Pipeline& pipeline) {
  State& state = *state_;
  std::vector<Answered> answered = pipeline.run(
      state.restorings(), [&](std::span<const int64_t> members) { return state.make_step(members); },
      state.all_tokens());
  state.saves->synchronize();
  return answered;
}

CaseRun::Values CaseRun::restored(int64_t request) const {
  const State& state = *state_;
  const State::Context& context = state.contexts[static_cast<std::size_t>(request)];
  Values values;
  for (int64_t layer = 0; layer < state.layers(); ++layer) {
    const bool replaced = state.is("cacheblend") && layer + 1 == state.full_layers();
    const KvRows& kv = replaced ? context.computed_kv : context.kv[static_cast<std::size_t>(layer)];
    values.kv.push_back(state.floats(kv.k, state.one.tokens * 2 * state.transformer.kv_width()));
  }
  const Activations& batch = context.fresh.logits     ? context.fresh
                             : state.is("cacheblend") ? context.history
                                                      : state.step_activations;
  values.logits = state.floats(batch.logits, state.model().vocab_size);
  return values;
}

CaseRun::Values CaseRun::original(int64_t request) const {
  const State& state = *state_;
  Arena memory(state.backend, Place::device);
  const Activations batch = state.transformer.activations(memory, state.all_tokens());
  Values values;
  state.prefill(
      state.contexts[static_cast<std::size_t>(request)], 0, state.all_tokens(), memory, batch, {},
      [&](int64_t, const KvRows& kv, const std::byte*) {
        values.kv.push_back(state.floats(kv.k, state.one.tokens * 2 * state.transformer.kv_width()));
      });
  values.logits = state.floats(batch.logits, state.model().vocab_size);
  return values;
}

std::vector<float> CaseRun::saved(int64_t request, int64_t layer) const {
  const State& state = *state_;
  return state.floats(
      state.contexts[static_cast<std::size_t>(request)].saved[static_cast<std::size_t>(layer)],
      state.one.new_tokens * 2 * state.transformer.kv_width());
}

std::vector<float> CaseRun::cached_new(int64_t request, int64_t layer) const {
  const State& state = *state_;
  const KvRows& kv = state.contexts[static_cast<std::size_t>(request)].kv[static_cast<std::size_t>(layer)];
  KVCAP_CHECK(kv.stride == 2 * state.transformer.kv_width());
  return state.floats(state.transformer.key(kv, state.one.tokens), state.one.new_tokens * kv.stride);
}

int64_t CaseRun::used_tokens(int64_t request, int64_t layer) const {
  return std::ssize(
      state_->contexts[static_cast<std::size_t>(request)].important[static_cast<std::size_t>(layer)]);
}

}  // namespace kvcap::calibration
