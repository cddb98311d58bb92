// StepTime: how long the engine's steps take, saving included.
//
// A step computes some rows of prompts and one row for each decoding sequence, or several where it verifies
// drafts; its time is that of all layers plus the vocabulary projection. What a policy saves on the critical
// path makes a layer last at least as long as its SaveFloor. A run of decode steps over the same sequences
// grows by one token a sequence and step, so its steps' times are arithmetic ramps, broken only where a
// layer's time grows past a floor or attention passes from one straight piece to the next, and sums of any
// length are exact in closed form.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cost/cost_model.h"
#include "policy/policy.h"
#include "serving/options.h"

namespace kvcap {

// `steps` steps that last first_s, first_s + growth_s, first_s + 2 growth_s, ...
struct Ramp {
  double first_s = 0;
  double growth_s = 0;
  int64_t steps = 0;
  double sum_s(int64_t of_steps) const {
    const auto n = static_cast<double>(of_steps);
    return n * first_s + growth_s * n * (n - 1) / 2;
  }
};

class DecodeRun {
 public:
  DecodeRun() = default;
  explicit DecodeRun(std::vector<Ramp> ramps) : ramps_(std::move(ramps)) {}
  // Seconds of the first `steps` steps.
  double sum_s(int64_t steps) const;
  // The least number of steps that last at least `seconds`; at least 1. REQUIRES: at_most >= 1.
  int64_t steps_to_reach(double seconds, int64_t at_most) const;
  std::span<const Ramp> ramps() const { return ramps_; }
  // The same steps, each longer by `seconds`, or at least as long.
  DecodeRun longer_by(double seconds) const;
  DecodeRun at_least(double seconds) const;

 private:
  std::vector<Ramp> ramps_;  // the last one never ends
};

class StepTime {
 public:
  StepTime(const CostModel& cost, std::vector<SaveFloor> floors,
           MixedAttention mixed_attention = MixedAttention::two_calls);

  // Rows that other ranks have in the steps that are timed from now on (CostModel::linear_layer_s); at first
  // one each.
  void set_tokens_of_others(int64_t tokens) { tokens_of_others_ = tokens; }

  // One step: prompt chunks together with `decodes`; `sampled` rows go through the vocabulary projection.
  double mixed_s(std::span<const PrefillChunk> chunks, const Decodes& decodes, int64_t sampled) const;
  // The same with `decoding` sequences of `context_tokens` tokens in all, one row each.
  double mixed_s(std::span<const PrefillChunk> chunks, int64_t decoding, int64_t context_tokens,
                 int64_t sampled) const {
    return mixed_s(chunks, {.sequences = decoding, .context_tokens = context_tokens}, sampled);
  }
  // Steps of `decoding` sequences whose lengths add up to `context_tokens` in the first one, each lengthened
  // by `extra_s`.
  DecodeRun decode(int64_t decoding, int64_t context_tokens, double extra_s = 0) const;

 private:
  double layers_s(double layer_s, int64_t rows, int64_t decoding) const;

  const CostModel& cost_;
  std::vector<SaveFloor> floors_;
  int64_t unsaved_layers_;  // without a floor
  MixedAttention mixed_attention_;
  int64_t tokens_of_others_ = 0;
};

}  // namespace kvcap
