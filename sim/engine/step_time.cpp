#include "engine/step_time.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace kvcap {
namespace {

double floor_s(const SaveFloor& floor, int64_t rows, int64_t decoding) {
  return std::max(floor.copy_s_per_token * static_cast<double>(rows),
                  floor.write_s_per_sequence * static_cast<double>(decoding));
}

constexpr int64_t kUnlimitedSteps = std::numeric_limits<int64_t>::max();
constexpr double kFarSteps = 1e15;  // later than the end of any run
const ServingOptions kWithoutHostTime;

}  // namespace

Ramp Ramp::from(int64_t step) const {
  return {.first_s = first_s + growth_s * static_cast<double>(step),
          .growth_s = growth_s,
          .steps = steps == kUnlimitedSteps ? steps : steps - step};
}

DecodeRun DecodeRun::steady(double step_s) {
  return DecodeRun({{.first_s = step_s, .growth_s = 0, .steps = kUnlimitedSteps}});
}

double DecodeRun::sum_s(int64_t steps) const {
  double total_s = 0;
  for (const Ramp& ramp : ramps_) {
    const int64_t here = std::min(steps, ramp.steps);
    total_s += ramp.sum_s(here);
    steps -= here;
    if (steps == 0) break;
  }
  return total_s;
}

// Estimates the number from the ramp that reaches the time, and corrects what rounding has shifted.
int64_t DecodeRun::steps_to_reach(double seconds, int64_t at_most) const {
  if (seconds <= 0) return 1;
  double estimate = 0, left_s = seconds;
  for (const Ramp& ramp : ramps_) {
    const double ramp_s = ramp.steps == kUnlimitedSteps ? left_s : ramp.sum_s(ramp.steps);
    if (ramp_s >= left_s) {
      const double slope = ramp.first_s - ramp.growth_s / 2;
      estimate += 2 * left_s / (slope + std::sqrt(slope * slope + 2 * ramp.growth_s * left_s));
      break;
    }
    left_s -= ramp_s;
    estimate += static_cast<double>(ramp.steps);
  }
  int64_t steps =
      static_cast<int64_t>(std::clamp(estimate, 1.0, std::min(kFarSteps, static_cast<double>(at_most))));
  while (steps > 1 && sum_s(steps - 1) >= seconds) --steps;
  while (steps < at_most && sum_s(steps) < seconds) ++steps;
  return steps;
}

DecodeRun DecodeRun::longer_by(double seconds) const {
  if (seconds == 0) return *this;
  std::vector<Ramp> ramps = ramps_;
  for (Ramp& ramp : ramps) ramp.first_s += seconds;
  return DecodeRun(std::move(ramps));
}

DecodeRun DecodeRun::at_least(double seconds) const {
  if (seconds == 0) return *this;
  std::vector<Ramp> ramps;
  for (const Ramp& ramp : ramps_) {
    int64_t short_steps = 0;  // how many steps at the beginning are shorter than `seconds`
    if (ramp.first_s < seconds) {
      short_steps = ramp.steps;
      if (ramp.growth_s > 0) {
        const double crossing = std::ceil((seconds - ramp.first_s) / ramp.growth_s);
        if (crossing < static_cast<double>(ramp.steps)) short_steps = static_cast<int64_t>(crossing);
      }
      ramps.push_back({.first_s = seconds, .growth_s = 0, .steps = short_steps});
    }
    if (short_steps == ramp.steps) continue;
    ramps.push_back(ramp.from(short_steps));
  }
  return DecodeRun(std::move(ramps));
}

DecodeRun DecodeRun::longest(const DecodeRun& other) const {
  std::vector<Ramp> ramps;
  auto mine = ramps_.begin(), others = other.ramps_.begin();
  int64_t of_mine = 0, of_others = 0;  // steps of the current ramps that are done
  for (;;) {
    Ramp longer = mine->from(of_mine), shorter = others->from(of_others);
    int64_t steps = std::min(longer.steps, shorter.steps);
    if (std::pair(shorter.first_s, shorter.growth_s) > std::pair(longer.first_s, longer.growth_s))
      std::swap(longer, shorter);
    if (shorter.growth_s > longer.growth_s) {
      const double crossing =
          std::ceil((longer.first_s - shorter.first_s) / (shorter.growth_s - longer.growth_s));
      if (crossing < std::min(kFarSteps, static_cast<double>(steps)))
        steps = std::max<int64_t>(1, static_cast<int64_t>(crossing));
    }
    longer.steps = steps;
    ramps.push_back(longer);
    if (steps == kUnlimitedSteps) return DecodeRun(std::move(ramps));
    of_mine += steps;
    of_others += steps;
    if (of_mine == mine->steps) ++mine, of_mine = 0;
    if (of_others == others->steps) ++others, of_others = 0;
  }
}

StepTime::StepTime(const CostModel& cost, std::vector<SaveFloor> floors, const ServingOptions& serving,
                   const Speculation* speculation)
    : cost_(cost),
      floors_(std::move(floors)),
      unsaved_layers_(cost.model().num_hidden_layers),
      serving_(serving),
      speculation_(speculation),
      tokens_of_others_(cost.placement().ranks - 1) {
  for (const SaveFloor& floor : floors_) unsaved_layers_ -= floor.layers;
}

StepTime::StepTime(const CostModel& cost, std::vector<SaveFloor> floors)
    : StepTime(cost, std::move(floors), kWithoutHostTime) {}

double StepTime::layers_s(double layer_s, int64_t rows, int64_t decoding) const {
  double total_s = static_cast<double>(unsaved_layers_) * layer_s;
  for (const SaveFloor& floor : floors_) {
    total_s += static_cast<double>(floor.layers) * std::max(layer_s, floor_s(floor, rows, decoding));
  }
  return total_s;
}

double StepTime::mixed_s(std::span<const PrefillChunk> chunks, const Decodes& decodes,
                         int64_t sampled) const {
  int64_t rows = decodes.rows();
  for (const PrefillChunk& chunk : chunks) rows += chunk.new_tokens;
  double attention_s = 0;
  if (serving_.mixed_attention == MixedAttention::one_call) {
    attention_s =
        cost_.mixed_attention_layer_s(chunks, decodes.sequences, decodes.context_tokens, decodes.queries());
  } else {
    attention_s = cost_.attention_layer_s(chunks) +
                  cost_.decode_attentions_layer_s(decodes.sequences, decodes.queries())
                      .at_s(static_cast<double>(decodes.context_tokens));
  }
  const double head_s = sampled > 0 ? cost_.head_s(sampled) : 0;
  return layers_s(cost_.linear_layer_s(rows, tokens_of_others_) + attention_s, rows, decodes.sequences) +
         head_s;
}

void StepTime::add_slice(int64_t tokens, int64_t first, std::vector<PrefillChunk>& chunks,
                         Decodes& decodes) const {
  if (tokens == 1 && serving_.one_token_slices == OneTokenSlices::decode) {
    ++decodes.sequences;
    decodes.context_tokens += first + 1;
  } else {
    chunks.push_back({tokens, first});
  }
}

double StepTime::host_s(std::size_t sequences, std::size_t waiting) const {
  return serving_.step_overhead_s + serving_.step_overhead_per_sequence_s * static_cast<double>(sequences) +
         serving_.waiting_overhead_s * static_cast<double>(waiting);
}

double StepTime::step_s(double gpu_s, double host_s) const {
  return serving_.async_scheduling ? std::max(gpu_s, host_s) : gpu_s + host_s;
}

DecodeRun StepTime::decode(int64_t decoding, int64_t context_tokens, double extra_s) const {
  const DecodeAttentions attention = cost_.decode_attentions_layer_s(decoding);
  const double linear_s = cost_.linear_layer_s(decoding, tokens_of_others_);
  const double head_s = cost_.head_s(decoding);
  const auto growth = static_cast<double>(decoding);  // growth of the context per step

  // The layers of step j last max(floor, linear + attention(context + j growth)). Attention is piecewise
  // linear; a ramp ends where its linear piece ends, or where the layer's time crosses a floor.
  std::vector<Ramp> ramps;
  int64_t begin = 0;
  while (begin != kUnlimitedSteps) {
    const double context = static_cast<double>(context_tokens) + growth * static_cast<double>(begin);
    const double layer_s = linear_s + attention.at_s(context);
    const double layer_growth_s = attention.slope_s(context) * growth;
    int64_t end = kUnlimitedSteps;
    const double last_step = (attention.piece_end(context) - context) / growth;
    if (last_step < kFarSteps) end = begin + static_cast<int64_t>(last_step) + 1;
    int64_t growing_layers = unsaved_layers_;
    for (const SaveFloor& floor : floors_) {
      const double least_s = floor_s(floor, decoding, decoding);
      if (layer_s >= least_s) {
        growing_layers += floor.layers;
      } else if (layer_growth_s > 0) {
        const double crossing = std::ceil((least_s - layer_s) / layer_growth_s);
        if (crossing < kFarSteps) {
          end = std::min(end, begin + std::max<int64_t>(static_cast<int64_t>(crossing), 1));
        }
      }
    }
    ramps.push_back({.first_s = layers_s(layer_s, decoding, decoding) + head_s + extra_s,
                     .growth_s = layer_growth_s * static_cast<double>(growing_layers),
                     .steps = end == kUnlimitedSteps ? kUnlimitedSteps : end - begin});
    begin = end;
  }
  return DecodeRun(std::move(ramps));
}

}  // namespace kvcap
