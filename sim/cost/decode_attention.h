// DecodeAttention: the time of attention in a decode step, as a piecewise linear function of the batch's
// context tokens.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <span>

#include "spec/model_spec.h"

namespace kvcap {

// Time of a batch of sequences that each decode one token, where context is the sum of their lengths. From
// ramp_tokens on: fixed_s + per_context_token_s * context. Between least_tokens and ramp_tokens: a line with
// slope ramp_token_s. Below least_tokens: the time at least_tokens. Linear segments allow closed-form sums
// over runs of decode steps.
struct DecodeAttention {
  double fixed_s = 0;
  double per_context_token_s = 0;
  double least_tokens = 0;
  double ramp_tokens = 0;
  double ramp_token_s = 0;
  // For layers that attend to only a part of the context: above most_tokens, the time is that at
  // tokens_beyond.
  double most_tokens = std::numeric_limits<double>::infinity();
  double tokens_beyond = 0;

  // Converts this to the time of one of `parts` GPUs that hold equal parts of the context.
  void spread_over(double parts);
  double at_s(double context_tokens) const;
  // Return the slope and the end (infinity: none) of the linear segment that begins at `context_tokens`.
  double slope_s(double context_tokens) const;
  double piece_end(double context_tokens) const;
};

// DecodeAttentions: the mean time of several kinds of layers, as a weighted sum of DecodeAttention.
class DecodeAttentions {
 public:
  static constexpr std::size_t kMost = 2 * kMostLayerGroups;  // attention and an indexer per group
  // A kind of layers; `share` is its share of all layers.
  struct Part {
    DecodeAttention attention;
    double share = 1;
  };
  void add(const DecodeAttention& attention, double share);
  double at_s(double context_tokens) const;
  double slope_s(double context_tokens) const;
  double piece_end(double context_tokens) const;
  std::span<const Part> parts() const { return {parts_.data(), count_}; }

 private:
  std::array<Part, kMost> parts_;
  std::size_t count_ = 0;
};

}  // namespace kvcap
