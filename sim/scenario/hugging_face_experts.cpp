// The experts of a Hugging Face model: how many, how wide, and in how many of its layers.
#include <algorithm>
#include <string>

#include "base/input_error.h"
#include "scenario/hf_config.h"

namespace kvcap {
namespace {

// Whether layer `i` has experts, as the families say it.
class SparseLayers {
 public:
  explicit SparseLayers(const HfConfig& config, int64_t layers)
      : first_(config.integer({"first_k_dense_replace"}, 0)),
        step_(config.integer({"decoder_sparse_step", "interleave_moe_layer_step"}, 1)),
        period_(config.integer({"expert_layer_period"}, 1)),
        offset_(config.integer({"expert_layer_offset"}, 0)),
        dense_(config.integers("mlp_only_layers")),
        listed_(config.integers("moe_layers")),
        types_(config.texts("mlp_layer_types", layers)) {
    const Json* frequency = config.find({"moe_layer_freq"});
    if (frequency && frequency->is_array()) {
      flags_ = config.integers("moe_layer_freq");
      if (static_cast<int64_t>(flags_.size()) != layers) {
        config.fail("moe_layer_freq", std::to_string(flags_.size()) + " entries",
                    "num_hidden_layers = " + std::to_string(layers));
      }
    } else if (frequency) {
      frequency_ = config.positive({"moe_layer_freq"});
    }
  }
  bool has(int64_t layer) const {
    const auto i = static_cast<std::size_t>(layer);
    if (!types_.empty()) return types_[i] == "sparse";
    if (!flags_.empty()) return flags_[i] != 0;
    if (!listed_.empty()) return std::find(listed_.begin(), listed_.end(), layer) != listed_.end();
    if (std::find(dense_.begin(), dense_.end(), layer) != dense_.end()) return false;
    if (step_ == 0 || (step_ > 1 && (layer + 1) % step_ != 0)) return false;
    if (period_ > 1 && layer % period_ != offset_) return false;
    return layer >= first_ && layer % frequency_ == 0;
  }

 private:
  int64_t first_, step_, period_, offset_;
  int64_t frequency_ = 1;
  std::vector<int64_t> dense_, listed_, flags_;
  std::vector<std::string> types_;
};

}  // namespace

void add_experts(const HfConfig& config, LayerRule rule, Json& model) {
  const auto layers = model["num_hidden_layers"].get<int64_t>();
  const auto dense_width = model["intermediate_size"].get<int64_t>();
  const int64_t count = config.integer({"n_routed_experts", "num_local_experts", "num_experts"}, 0);
  const int64_t whole_shared = config.integer(
      {"shared_expert_intermediate_size", "shared_intermediate_size", "moe_shared_expert_intermediate_size"},
      0);
  if (count <= 1) {
    // Granite-4's small models have a shared FFN alone; Jamba's dense ones one expert.
    if (rule == LayerRule::granite && whole_shared > 0) model["intermediate_size"] = whole_shared;
    return;
  }
  const int64_t active = config.positive({"num_experts_per_tok", "num_experts_per_token", "experts_per_token",
                                          "top_k_experts", "moe_top_k", "moe_k"});
  Json experts = {{"count", count}, {"active", active}};
  experts["intermediate_size"] = config.integer({"moe_intermediate_size"}, dense_width);
  int64_t shared = config.integer({"n_shared_experts", "num_shared_experts"}, whole_shared > 0 ? 1 : 0);
  int64_t shared_width = whole_shared;
  if (rule == LayerRule::llama4) {
    shared = 1;
    model["intermediate_size"] = config.positive({"intermediate_size_mlp"});
  } else if (rule == LayerRule::gemma4 && config.is_true("enable_moe_block")) {
    // The dense FFN stands beside the experts.
    shared = 1;
    shared_width = dense_width;
  }
  experts["shared"] = shared;
  if (shared > 0 && shared_width > 0) experts["shared_intermediate_size"] = shared_width / shared;
  if (rule == LayerRule::nemotron_h) {
    experts["dense_layers"] = layers_of_pattern(config, '-');
  } else {
    const SparseLayers sparse(config, layers);
    int64_t dense = 0;
    for (int64_t i = 0; i < layers; ++i) dense += !sparse.has(i);
    if (dense == layers) return;
    experts["dense_layers"] = dense;
  }
  model["experts"] = experts;
}

}  // namespace kvcap
