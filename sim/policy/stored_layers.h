// StoredLayers: what a layer's hidden states and KV take in host tiers, and the work that brings them back.
//
// With stored_bits of 8 or 4 elements are quantised before they leave the GPU and expanded there when they
// are back. A group of 64 elements shares a scale and a zero point of 16 bits each (FlexGen's group size), so
// an element takes 8.5 or 4.5 bits. Elements that have no more bits in the model, as 8-bit KV, are stored as
// they are. Expanding reads what was stored and writes what the model has, as an element-wise kernel a layer
// where the profile has those; quantising what is saved is not charged: a step's new tokens are few.
//
// Layers of a model in groups are stored as their mean: every layer's KV (or hidden states) of all tokens and
// a state of the recurrent ones each checkpoint_tokens. Loaded is less: of layers with a window its tokens,
// of recurrent layers one state. States are stored as they are, whatever stored_bits says.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cost/cost_model.h"
#include "policy/policy.h"

namespace kvcap {

int64_t total_tokens(std::span<const Hit> hits);

// What is copied at once: `tokens` of one layer, or of `layers` at a time, each of which then accounts for
// its share of the piece.
struct PieceShape {
  int64_t tokens = kChunkTokens;
  int64_t layers = 1;

  // Pieces that a layer of so many tokens takes part in, counted as its share of them.
  double per_layer(int64_t of_tokens) const {
    return static_cast<double>((of_tokens + tokens - 1) / tokens) / static_cast<double>(layers);
  }
};

class StoredLayers {
 public:
  // `bits`: of an element; 16 or more: as the model has it. KV that several tensor-parallel ranks hold, since
  // there are fewer KV heads than ranks or a latent that all heads share, is stored by each of them, unless
  // `once`. `cost` outlives it.
  // `checkpoint_tokens`: a recurrent state is stored each so many tokens; at least 1. The one
  // where a turn ends beside them is not counted as stored.
  StoredLayers(const CostModel& cost, int64_t bits, bool once = false, int64_t checkpoint_tokens = 1);
  explicit StoredLayers(const PolicyInputs& inputs);
  // 1 where no layer is recurrent.
  int64_t checkpoint_tokens() const { return cost_.model().is_recurrent() ? checkpoint_tokens_ : 1; }

  // Of one token at one layer, as stored; of layers that differ the mean.
  double hidden_bytes() const {
    return groups_.empty() ? hidden_.stored_bytes : mean_stored_bytes(LayerForm::hidden);
  }
  double kv_bytes() const { return groups_.empty() ? kv_.stored_bytes : mean_stored_bytes(LayerForm::kv); }
  // Expansion of one layer; 0 where nothing is quantised.
  double expand_hidden_s(int64_t tokens) const { return expand_s(hidden_, tokens); }
  double expand_kv_s(int64_t tokens) const { return expand_s(kv_, tokens); }

  // `layers` alike from where the hits lie: hidden states loaded, expanded and projected; KV loaded and
  // expanded. The context goes on behind `resident` tokens, which the GPU has, and the hits.
  LayerWork hidden(int64_t layers, std::span<const Hit> hits, int64_t resident = 0) const;
  LayerWork kv(int64_t layers, std::span<const Hit> hits, PieceShape pieces = {}, int64_t resident = 0) const;

  // What public measurements say of the forms that are kept; empty where nothing is quantised.
  std::string quality_note(bool keeps_hidden, bool keeps_kv) const;

 private:
  struct Form {
    double model_bytes = 0;  // of one token at one layer
    double stored_bytes = 0;
    bool quantised() const { return stored_bytes != model_bytes; }
  };
  // Layers that differ: of one layer of a group, and the group's share of all layers.
  struct GroupForm {
    LayerGroup group;
    Form kv;
    double state_bytes = 0;
    double share = 0;
  };
  std::vector<GroupForm> group_forms(bool once) const;
  double mean_stored_bytes(LayerForm form) const;
  // Of the mean layer: what is loaded, and the expanded and projected tokens.
  LayerWork mean_layer(LayerForm form, std::span<const Hit> hits, PieceShape pieces, int64_t resident) const;

  Form form(double elements, double bytes_per_element) const;
  double expand_s(const Form& form, int64_t tokens) const;
  static LayerWork loaded(int64_t layers, LayerForm form, double bytes_per_token, std::span<const Hit> hits,
                          PieceShape pieces);

  const CostModel& cost_;
  int64_t bits_;
  int64_t checkpoint_tokens_;
  Form hidden_, kv_;
  std::vector<GroupForm> groups_;  // empty: all layers are alike
};

}  // namespace kvcap
