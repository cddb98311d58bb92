// cacheblend: loads KV of chunks; the leading layers compute all tokens, the others those with the largest
// deviation.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "calibration/cases/context.h"

namespace kvcap::calibration {
namespace {

constexpr int64_t kBlendChunkTokens = 512;

class CacheBlend : public FusedContext {
 public:
  CacheBlend(const CaseSetup& setup, int64_t number) : FusedContext(setup, number) {
    for (int64_t layer = 0; layer < layers(); ++layer) add_layer(true);
    batch_ = transformer.activations(device, all_tokens());
    other_x_ = device.take(all_tokens() * transformer.hidden_bytes());
    loaded_kv_ = transformer.kv_rows(device, all_tokens());
    std::swap(loaded_kv_, kv_[last_full()]);
    distance_ = device.take_of<float>(one.tokens);
    distance_on_host_ = pinned.take_of<float>(one.tokens);
    for (int64_t layer = 0; layer < layers(); ++layer) {
      int32_t* const positions = pinned.take_of<int32_t>(all_tokens());
      int32_t* const positions_on_device = device.take_of<int32_t>(all_tokens());
      int32_t* const ranks = pinned.take_of<int32_t>(all_tokens());
      scattered_.push_back({0, positions, positions_on_device, ranks, device.take_of<int32_t>(all_tokens())});
    }
  }

 private:
  // The rows that a layer computes: their positions, and their ranks among the rows of the layer before.
  struct Scattered {
    int64_t rows = 0;
    int32_t *positions, *positions_on_device, *ranks, *ranks_on_device;
  };

  int64_t full_layers() const { return *one.options.full_layers; }
  std::size_t last_full() const { return static_cast<std::size_t>(full_layers() - 1); }
  bool stores_positions() const override { return false; }
  int64_t chunk_tokens() const override {
    return std::min(kBlendChunkTokens, std::max<int64_t>(1, one.tokens / 4));
  }
  int64_t last_rows() const override { return scattered_.back().rows; }

  std::vector<Stage> stages(int64_t layer) override {
    const auto at = static_cast<std::size_t>(layer);
    if (layer >= full_layers()) {
      return {{.load = load_kv(at), .compute = [this, layer](Stream& to) { compute_scattered(to, layer); }}};
    }
    if (at < last_full()) {
      return {{.load = load_kv(at), .compute = [this, layer](Stream& to) { compute_full(to, layer); }}};
    }
    return {{.load = load(*stored_kv_[at], loaded_kv_.k),
             .compute = [this, layer](Stream& to) { compute_full(to, layer), compare(to); },
             .after = [this] { choose_scattered(); }}};
  }

  void compute_full(Stream& stream, int64_t layer) const {
    const Part part{.rows = all_tokens(), .kv = kv_[static_cast<std::size_t>(layer)]};
    if (layer == 0) embed(stream, batch_, 0, part);
    transformer.layer(stream, layer, {&part, 1}, batch_);
  }

  void compare(Stream& stream) const {
    const KvRows& computed = kv_[last_full()];
    stream.row_distance({.format = transformer.format(),
                         .rows = one.tokens,
                         .width = transformer.kv_width(),
                         .a_stride = loaded_kv_.stride,
                         .b_stride = computed.stride,
                         .a = loaded_kv_.v,
                         .b = computed.v,
                         .out = distance_});
    stream.copy(distance_on_host_, distance_, one.tokens * static_cast<int64_t>(sizeof(float)));
  }

  // Chooses the tokens with the largest deviation, fewer in later layers.
  void choose_scattered() {
    Indices order(static_cast<std::size_t>(one.tokens));
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [distance = distance_on_host_](int32_t a, int32_t b) {
      return distance[a] != distance[b] ? distance[a] > distance[b] : a < b;
    });
    Indices before(static_cast<std::size_t>(all_tokens()));
    std::iota(before.begin(), before.end(), 0);
    for (int64_t layer = full_layers(); layer < layers(); ++layer) {
      Indices positions(order.begin(), order.begin() + computed_tokens(layer));
      std::sort(positions.begin(), positions.end());
      for (int64_t token = one.tokens; token < all_tokens(); ++token) {
        positions.push_back(static_cast<int32_t>(token));
      }
      keep(positions, before, scattered_[static_cast<std::size_t>(layer)]);
      before = positions;
    }
  }

  // Returns how many tokens of the context a layer computes: 1.2 to 0.8 of the ratio, as kvcap does.
  int64_t computed_tokens(int64_t layer) const {
    const int64_t partial_layers = layers() - full_layers();
    const double ratio = *one.options.recompute_ratio;
    if (partial_layers < 2) return std::llround(ratio * static_cast<double>(one.tokens));
    const double tilt = std::min(0.2 * ratio, 1 - ratio);
    const double slope = static_cast<double>(layer - full_layers()) / static_cast<double>(partial_layers - 1);
    return std::llround((ratio + tilt * (1 - 2 * slope)) * static_cast<double>(one.tokens));
  }

  static void keep(const Indices& positions, const Indices& before, Scattered& to) {
    to.rows = std::ssize(positions);
    std::copy(positions.begin(), positions.end(), to.positions);
    auto from = before.begin();
    for (std::size_t i = 0; i < positions.size(); ++i) {
      from = std::lower_bound(from, before.end(), positions[i]);
      KVCAP_CHECK(from != before.end() && *from == positions[i]);
      to.ranks[i] = static_cast<int32_t>(from - before.begin());
    }
  }

  // Brings indices to the device by a kernel: a copy would wait behind the loads of contexts.
  void bring(Stream& stream, const int32_t* from_host, int64_t count, int32_t* to) const {
    const int64_t width = count * static_cast<int64_t>(sizeof(int32_t)) / transformer.element_bytes();
    stream.move_rows(moved(to, from_host, 1, width, width, nullptr));
  }

  void compute_scattered(Stream& stream, int64_t layer) {
    const Scattered& here = scattered_[static_cast<std::size_t>(layer)];
    const KvRows& kv = kv_[static_cast<std::size_t>(layer)];
    bring(stream, here.positions, here.rows, here.positions_on_device);
    bring(stream, here.ranks, here.rows, here.ranks_on_device);
    const int64_t width = model().hidden_size;
    stream.move_rows(moved(other_x_, batch_.x, here.rows, width, width, here.ranks_on_device));
    std::swap(batch_.x, other_x_);
    transformer.rotate_keys(stream, kv, one.tokens, 0);
    transformer.scattered_layer(stream, layer, here.positions_on_device, here.rows, all_tokens(), kv, batch_);
  }

  std::byte* other_x_;  // destination when x is thinned out
  // The stored KV of the last full layer, and its distance from the KV that this layer computes.
  KvRows loaded_kv_;
  float *distance_, *distance_on_host_;
  std::vector<Scattered> scattered_;  // by layer
};

}  // namespace

Contexts cacheblend(const CaseSetup& setup) { return contexts_of<CacheBlend>(setup); }

}  // namespace kvcap::calibration
