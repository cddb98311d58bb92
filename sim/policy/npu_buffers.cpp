// KV buffers of a static-graph NPU: the graph reads keys and values of a whole window of S - 1 tokens, padded
// on the left, as one contiguous buffer per head and layer, and outputs those of one new token. Appending
// that token moves the window by one. S is serving.max_model_len (source: KV Cache Implementation for
// inference on HTP).
//
//   npu_copy          S slots: every decoded token copies the window
//   npu_reserve_2x    2 (S - 1) slots: the window is a moving pointer; within S tokens it never copies
//   npu_reserve_1_5x  1.5 (S - 1) slots: one copy of the window after every (S - 1)/2 moves
//
// A copy moves the whole window, including padding, at the speed of device memory, reading and writing it.
// Stored contexts are KV in host tiers; a hit is copied into the window before the new tokens are prefilled.
// Prefill writes its KV directly into the window. The time of attention over padding is not counted.
#include <cmath>
#include <cstdio>

#include "policy/stored_layers.h"
#include "policy/table.h"

namespace kvcap {
namespace {

class NpuBuffers : public Policy {
 public:
  explicit NpuBuffers(const PolicyInputs& inputs)
      : name_(inputs.options.name),
        kept_(*inputs.cost, inputs.options.stored_bits.value_or(kPolicyDefaults.stored_bits),
              inputs.options.store_once.value_or(kPolicyDefaults.store_once)),
        layers_(inputs.cost->model().num_hidden_layers),
        window_tokens_(std::max<int64_t>(1, inputs.max_model_len - 1)) {
    const auto window = static_cast<double>(window_tokens_);
    const double windows = inputs.options.reserved_windows.value_or(1);
    buffer_.reserved_tokens = std::max(window + 1, windows * window);
    const auto moves = static_cast<int64_t>(std::floor((windows - 1) * window));  // moves between copies
    buffer_.copy_every_tokens = moves + 1;
    buffer_.copy_bytes = window * inputs.cost->model().kv_bytes_per_token();
    buffer_.copy_s = inputs.cost->device_copy_s(buffer_.copy_bytes);
    set_traits({.reuse = Reuse::stored,
                .stored_bytes_per_token = static_cast<double>(layers_) * kept_.kv_bytes(),
                .kv_buffer = buffer_,
                .notes = notes(),
                .quality_note = kept_.quality_note(false, true)});
  }

  Restoration restore(const Context&, std::span<const Hit> hits, const LoadRates&) const override {
    return {.work = {kept_.kv(layers_, hits)}};
  }

  double save_requests(int64_t tokens) const override {
    return static_cast<double>(layers_ * chunks(tokens));
  }

  Schedule schedule(int64_t, Tier) const override { return {.kv_layers = layers_}; }

 private:
  std::vector<std::string> notes() const {
    char text[240];
    std::snprintf(text, sizeof text, "%s reserves %.1f KV slots per sequence for a window of %lld; ",
                  name_.c_str(), buffer_.reserved_tokens, static_cast<long long>(window_tokens_));
    std::string first = text;
    if (buffer_.copy_every_tokens > window_tokens_) {
      first += "the window is never copied";
    } else {
      const std::string which = buffer_.copy_every_tokens == 1
                                    ? "each decoded token"
                                    : "one decoded token in " + std::to_string(buffer_.copy_every_tokens);
      std::snprintf(text, sizeof text, "%s of a sequence copies %.1f MB in %.2f ms", which.c_str(),
                    buffer_.copy_bytes / 1e6, buffer_.copy_s * 1e3);
      first += text;
    }
    return {first, "attention over the padding of a static graph's window is not charged"};
  }

  std::string name_;
  StoredLayers kept_;
  int64_t layers_;
  int64_t window_tokens_;
  KvBuffer buffer_;
};

}  // namespace

std::unique_ptr<Policy> make_npu_buffers(const PolicyInputs& inputs) {
  return std::make_unique<NpuBuffers>(inputs);
}

}  // namespace kvcap
