// StepTime: computes how long an engine's steps take on the GPU, including saves and drafts, and on the host.
//
// A step computes rows of prompts and one row per decoding sequence, or several rows if it verifies drafts.
// It takes the time of all layers plus that of the vocabulary projection. If saves are on the critical path,
// a layer takes at least its SaveFloor. In a run of decode steps each sequence grows by one token per step,
// so the step times are arithmetic ramps, broken only where a layer's time exceeds a floor or attention
// passes from one linear piece to the next; sums of any length are exact in closed form.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "cost/cost_model.h"
#include "engine/options.h"
#include "engine/speculation/speculation.h"
#include "metrics/recorder.h"
#include "policy/policy.h"

namespace kvcap {

// `steps` steps with durations first_s, first_s + growth_s, first_s + 2 growth_s, ...
struct Ramp {
  double first_s = 0;
  double growth_s = 0;
  int64_t steps = 0;
  double sum_s(int64_t of_steps) const {
    const auto n = static_cast<double>(of_steps);
    return n * first_s + growth_s * n * (n - 1) / 2;
  }
  // Returns the ramp without its first steps.
  Ramp from(int64_t step) const;
};

class DecodeRun {
 public:
  DecodeRun() = default;
  explicit DecodeRun(std::vector<Ramp> ramps) : ramps_(std::move(ramps)) {}
  // Steps of equal length.
  static DecodeRun steady(double step_s);
  // Returns the seconds of the first `steps` steps.
  double sum_s(int64_t steps) const;
  // Returns the smallest number of steps that together last at least `seconds`, from 1 to `at_most`.
  // REQUIRES: at_most >= 1.
  int64_t steps_to_reach(double seconds, int64_t at_most) const;
  std::span<const Ramp> ramps() const { return ramps_; }
  // Return the run with `seconds` added to each step, or with each step at least `seconds` long.
  DecodeRun longer_by(double seconds) const;
  DecodeRun at_least(double seconds) const;
  // Returns the run with each step as long as the longer of both runs' steps.
  DecodeRun longest(const DecodeRun& other) const;

 private:
  std::vector<Ramp> ramps_;  // the last ramp never ends
};

class StepTime {
 public:
  // `speculation`: null if a step yields one token per sequence. All arguments outlive it.
  StepTime(const CostModel& cost, std::vector<SaveFloor> floors, const ServingOptions& serving,
           const Speculation* speculation = nullptr);
  // Times steps without host times.
  StepTime(const CostModel& cost, std::vector<SaveFloor> floors);

  // Sets how many rows other ranks have in the steps timed from now on (CostModel::linear_layer_s); initially
  // one each.
  void set_tokens_of_others(int64_t tokens) { tokens_of_others_ = tokens; }

  // Returns the seconds of a step with prompt `chunks` and `decodes`; `sampled` rows go through the
  // vocabulary projection.
  double mixed_s(std::span<const PrefillChunk> chunks, const Decodes& decodes, int64_t sampled) const;
  // Returns the seconds of a step with `decoding` sequences, one row each, whose lengths sum to
  // `context_tokens`.
  double mixed_s(std::span<const PrefillChunk> chunks, int64_t decoding, int64_t context_tokens,
                 int64_t sampled) const {
    return mixed_s(chunks, {.sequences = decoding, .context_tokens = context_tokens}, sampled);
  }
  // Returns a run of decode steps for a batch of `decoding` sequences. Their context lengths sum to
  // `context_tokens` in the first step; `extra_s` is added to the time of every step.
  DecodeRun decode(int64_t decoding, int64_t context_tokens, double extra_s = 0) const;
  // Adds a slice of a prompt, which follows `first` tokens, to what a step computes. Engines may compute a
  // slice of one token as a decode.
  void add_slice(int64_t tokens, int64_t first, std::vector<PrefillChunk>& chunks, Decodes& decodes) const;

  // Return the seconds of the drafter's passes, and those of drafting without a model.
  double drafter_s(std::span<const PrefillChunk> chunks, const Decodes& decodes) const {
    return speculation_ ? speculation_->drafter_s(chunks, decodes) : 0;
  }
  double draft_step_s() const { return speculation_ ? speculation_->draft_step_s() : 0; }

  // Returns the host's seconds in a step of `sequences` sequences while `waiting` requests wait.
  double host_s(std::size_t sequences, std::size_t waiting = 0) const;
  // Returns the seconds of a step. Asynchronous scheduling overlaps the host's part with the GPU's.
  double step_s(double gpu_s, double host_s) const;

  // ---- estimates of whole turns (turn_time.cpp) ----

  // Returns the seconds from the first step of `prompt` to its first token on an idle engine: steps with the
  // whole token budget, including host time and saves. A completely cached prompt computes one token.
  double idle_prefill_s(PrefillChunk prompt) const;
  // Returns the seconds per turn on a fully loaded engine. `sequences_at_once` returns how many sequences of
  // a length fit the memory for KV. An estimate: it assumes mean lengths, full batches, and prompts spread
  // evenly over steps.
  double turn_s(const MeanTurn& turn, const std::function<double(double tokens)>& sequences_at_once) const;

 private:
  double layers_s(double layer_s, int64_t rows, int64_t decoding) const;

  const CostModel& cost_;
  std::vector<SaveFloor> floors_;
  int64_t unsaved_layers_;  // layers without a floor
  const ServingOptions& serving_;
  const Speculation* speculation_;
  int64_t tokens_of_others_ = 0;
};

}  // namespace kvcap
