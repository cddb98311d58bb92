#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "calibration/cases/state.h"

namespace kvcap::calibration {

void CaseRun::State::make_blend_memory(Context& context) {
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

Stage CaseRun::State::blend_stage(Context& context, int64_t layer) {
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
    stream.copy(context.distance_on_host, context.distance, one.tokens * static_cast<int64_t>(sizeof(float)));
  };
  if (last) stage.after = [this, &context] { choose_scattered(context); };
  return stage;
}

void CaseRun::State::choose_scattered(Context& context) {
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

void CaseRun::State::bring(Stream& stream, const int32_t* from_host, int64_t count, int32_t* to) const {
  const int64_t width = count * static_cast<int64_t>(sizeof(int32_t)) / bytes_of(transformer.format());
  stream.move_rows({.format = transformer.format(),
                    .rows = 1,
                    .width = width,
                    .in_stride = width,
                    .out_stride = width,
                    .in = from_host,
                    .out = to});
}

void CaseRun::State::compute_scattered(Stream& stream, Context& context, int64_t layer) const {
  const auto at = static_cast<std::size_t>(layer);
  const int64_t rows = std::ssize(context.positions[at]);
  bring(stream, context.positions_on_host[at], rows, context.positions_on_device[at]);
  bring(stream, context.ranks_on_host[at], rows, context.ranks_on_device[at]);
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

}  // namespace kvcap::calibration
