#include <algorithm>

#include "base/check.h"
#include "calibration/cases/state.h"
#include "calibration/random_value.h"

namespace kvcap::calibration {

CaseRun::State::State(Backend& of_backend, const Transformer& of_model, ContextArena& in_context_arena,
                      Arena& on_device, Arena& on_host, const TwinCase& of_case, Contents filled)
    : backend(of_backend),
      transformer(of_model),
      context_arena(in_context_arena),
      device(on_device),
      pinned(on_host),
      one(of_case),
      contents(filled) {
  context_arena.clear();
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
  if (is("hyperinfer") && contents == Contents::drawn) draw_importance();
  if (contents == Contents::computed) {
    for (Context& context : contexts) compute_contents(context);
  }
}

void CaseRun::State::make_tokens(Context& context) {
  const int64_t count = all_tokens();
  auto* ids = pinned.take_of<int32_t>(count);
  for (int64_t i = 0; i < count; ++i) {
    const float value = random_value(100 + static_cast<uint64_t>(context.number), static_cast<uint64_t>(i));
    ids[i] = static_cast<int32_t>((value + 1) / 2 * static_cast<float>(model().vocab_size));
  }
  context.tokens = device.take_of<int32_t>(count);
  upload(context.tokens, ids, count);
}

void CaseRun::State::upload(int32_t* to, const int32_t* from, int64_t count) {
  const std::unique_ptr<Stream> stream = backend.make_stream();
  stream->copy(to, from, count * static_cast<int64_t>(sizeof(int32_t)));
  stream->synchronize();
}

void CaseRun::State::make_memory(Context& context) {
  const bool fused = is("cached_attention") || is("cacheblend") || is("hyperinfer");
  const auto size = static_cast<std::size_t>(layers());
  context.stored.resize(size);
  for (int64_t layer = 0; layer < layers(); ++layer) {
    LayerStore& stored = context.stored[static_cast<std::size_t>(layer)];
    if (is("hyperinfer")) {
      stored.keys = context_arena.reserve(one.tier, key_bytes(), one.tokens);
      stored.values = context_arena.reserve(one.tier, key_bytes(), one.tokens);
      stored.probes = context_arena.reserve(one.tier, kProbeHeads * head_bytes(), one.tokens);
      std::byte* const keys = device.take(all_tokens() * key_bytes());
      context.kv.push_back({keys, device.take(all_tokens() * key_bytes()), transformer.kv_width()});
      continue;
    }
    context.kv.push_back(transformer.kv_rows(device, all_tokens()));
    if (is("recompute") || (is("hcache") && recomputed(layer))) continue;
    if (hidden(layer)) {
      stored.hidden = context_arena.reserve(one.tier, transformer.hidden_bytes(), one.tokens);
      context.hidden.resize(size);
      context.hidden[static_cast<std::size_t>(layer)] = device.take(one.tokens * transformer.hidden_bytes());
    } else {
      stored.kv = context_arena.reserve(one.tier, transformer.kv_bytes(), one.tokens);
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

void CaseRun::State::make_save_memory(Context& context) {
  for (int64_t layer = 0; layer < layers(); ++layer) {
    context.unrotated.push_back(device.take(one.new_tokens * transformer.kv_bytes()));
    context.saved.push_back(pinned.take(one.new_tokens * transformer.kv_bytes()));
    context.layer_done.push_back(backend.make_event());
  }
}

std::vector<Restoring> CaseRun::State::restorings() {
  std::vector<Restoring> list;
  for (Context& context : contexts) list.push_back(restoring(context));
  return list;
}

Restoring CaseRun::State::restoring(Context& context) {
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

std::function<Load()> CaseRun::State::load_kv(Context& context, int64_t layer) {
  const auto at = static_cast<std::size_t>(layer);
  return [this, &context, at] { return context_arena.load(*context.stored[at].kv, context.kv[at].k); };
}

Part CaseRun::State::new_part(const Context& context, int64_t layer, int64_t cached) const {
  return {.rows = one.new_tokens,
          .position = one.tokens,
          .cached = cached,
          .kv = context.kv[static_cast<std::size_t>(layer)]};
}

void CaseRun::State::embed_new(Stream& stream, const Context& context, const Activations& batch,
                               int64_t row) const {
  transformer.embed(stream, batch, row, context.tokens + one.tokens, one.new_tokens);
}

Stage CaseRun::State::head_stage(Context& context) {
  return {.compute = [this, &context](Stream& stream) {
    const bool blends = is("cacheblend");
    Part part{.rows = one.new_tokens};
    if (blends) part.rows = std::ssize(context.positions.back());
    transformer.head(stream, {&part, 1}, blends ? context.history : context.fresh);
  }};
}

Stage CaseRun::State::hcache_stage(Context& context, int64_t layer) {
  const auto at = static_cast<std::size_t>(layer);
  if (recomputed(layer)) {
    return {.compute = [this, &context, layer, at](Stream& stream) {
      if (layer == 0) transformer.embed(stream, context.history, 0, context.tokens, one.tokens);
      const Part part{.rows = one.tokens, .kv = context.kv[at]};
      transformer.layer(stream, layer, {&part, 1}, context.history);
    }};
  }
  if (!hidden(layer)) return {.load = load_kv(context, layer)};
  return {.load = [this, &context,
                   at] { return context_arena.load(*context.stored[at].hidden, context.hidden[at]); },
          .compute =
              [this, &context, layer, at](Stream& stream) {
                transformer.project(stream, layer, context.hidden[at], one.tokens, 0, context.kv[at]);
              }};
}

Stage CaseRun::State::preload_stage(Context& context, int64_t layer) {
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

Step CaseRun::State::make_step(std::span<const int64_t> members) {
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
        transformer.embed(stream, step_activations, row, batch[i]->tokens + parts[i].position, parts[i].rows);
        row += parts[i].rows;
      }
      transformer.layer(stream, layer, parts, step_activations);
    });
  }
  step.push_back([=, this](Stream& stream) { transformer.head(stream, parts_at(0), step_activations); });
  return step;
}

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

CaseRun::CaseRun(Backend& backend, const Transformer& transformer, ContextArena& context_arena, Arena& device,
                 Arena& pinned, const TwinCase& one, Contents contents)
    : state_(std::make_unique<State>(backend, transformer, context_arena, device, pinned, one, contents)) {}

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

}  // namespace kvcap::calibration
