// StoredLayers: the size of a layer's hidden states and KV in host tiers, and the work to restore them.
//
// With stored_bits of 8 or 4, elements are quantised before they leave the GPU and expanded there after
// loading. A group of 64 elements shares a scale and a zero point of 16 bits each (FlexGen's group size), so
// an element takes 8.5 or 4.5 bits. Elements that do not have more bits than that in the model, such as 8-bit
// KV, are stored unchanged. Expansion reads the stored and writes the model's format, as one element-wise
// kernel per layer if the profile has these; quantisation during saves takes no time here, because a step has
// few new tokens.
//
// Layers of a model with groups are stored as their mean: KV (or hidden states) of all tokens, and for
// recurrent layers a state every checkpoint_tokens. A restoration loads less: only the tokens in the window
// for layers with a window, and one state for recurrent layers. States are stored unchanged, whatever
// stored_bits is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cost/cost_model.h"
#include "policy/policy.h"

namespace kvcap {

int64_t total_tokens(std::span<const Hit> hits);

// Size of a copied piece: `tokens` tokens of `layers` layers. Each of these layers counts for its share of
// the piece.
struct PieceShape {
  int64_t tokens = kChunkTokens;
  int64_t layers = 1;

  // Returns how many pieces a layer of `of_tokens` tokens takes; a piece of several layers counts by the
  // layer's share.
  double per_layer(int64_t of_tokens) const {
    return static_cast<double>((of_tokens + tokens - 1) / tokens) / static_cast<double>(layers);
  }
};

class StoredLayers {
 public:
  // `bits`: bits per element; with 16 or more, elements are stored as in the model. KV that several
  // tensor-parallel ranks hold, because there are fewer KV heads than ranks or all heads share a latent, is
  // stored by each rank, or only once if `once`. `checkpoint_tokens`: tokens between stored recurrent states,
  // at least 1; the additional state at the end of a turn is not counted. `cost` outlives this object.
  StoredLayers(const CostModel& cost, int64_t bits, bool once = false, int64_t checkpoint_tokens = 1);
  explicit StoredLayers(const PolicyInputs& inputs);
  // Returns 1 if no layer is recurrent.
  int64_t checkpoint_tokens() const { return cost_.model().is_recurrent() ? checkpoint_tokens_ : 1; }

  // Return the stored bytes per token and layer; the mean if layers differ.
  double hidden_bytes() const {
    return groups_.empty() ? hidden_.stored_bytes : mean_stored_bytes(LayerForm::hidden);
  }
  double kv_bytes() const { return groups_.empty() ? kv_.stored_bytes : mean_stored_bytes(LayerForm::kv); }
  // Return the time to expand one layer; 0 if it is not quantised.
  double expand_hidden_s(int64_t tokens) const { return expand_s(hidden_, tokens); }
  double expand_kv_s(int64_t tokens) const { return expand_s(kv_, tokens); }

  // Return the work to restore `layers` equal layers from the tiers of the hits: hidden() loads, expands and
  // projects hidden states; kv() loads and expands KV. The hits follow `resident` tokens, which the GPU has.
  LayerWork hidden(int64_t layers, std::span<const Hit> hits, int64_t resident = 0) const;
  LayerWork kv(int64_t layers, std::span<const Hit> hits, PieceShape pieces = {}, int64_t resident = 0) const;

  // Returns what published measurements report about the quality of the kept forms; empty if not quantised.
  std::string quality_note(bool keeps_hidden, bool keeps_kv) const;

 private:
  struct Form {
    double model_bytes = 0;  // one token at one layer
    double stored_bytes = 0;
    bool quantised() const { return stored_bytes != model_bytes; }
  };
  // One layer of a group, and the group's share of all layers, for models whose layers differ.
  struct GroupForm {
    LayerGroup group;
    Form kv;
    double state_bytes = 0;
    double share = 0;
  };
  std::vector<GroupForm> group_forms(bool once) const;
  double mean_stored_bytes(LayerForm form) const;
  // Returns the loads and the expanded and projected tokens of the mean layer.
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
