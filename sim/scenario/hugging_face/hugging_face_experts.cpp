// Reads the experts of a Hugging Face model: their number, their width and the layers that have them.
#include <algorithm>
#include <charconv>
#include <sstream>
#include <string>
#include <vector>

#include "base/input_error.h"
#include "scenario/hugging_face/hf_config.h"

namespace kvcap {
namespace {

// Returns the layers in moe_layers or, for Step-3.5, in moe_layers_enum, a text such as "3,4,5".
std::vector<int64_t> listed_layers(const HfConfig& config) {
  const std::string text = config.text("moe_layers_enum");
  if (text.empty()) return config.integers("moe_layers");
  std::vector<int64_t> layers;
  std::istringstream numbers(text);
  for (std::string number; std::getline(numbers, number, ',');) {
    int64_t layer = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), layer);
    if (error != std::errc() || end != number.data() + number.size()) {
      config.fail("moe_layers_enum", "\"" + number + "\"", "numbers of layers");
    }
    layers.push_back(layer);
  }
  return layers;
}

// Returns ERNIE 4.5's last layer with experts; -1 means the model's last layer.
int64_t last_layer(const HfConfig& config, int64_t layers) {
  const Json* found = config.find({"moe_layer_end_index"});
  return found && *found == -1 ? layers : config.integer({"moe_layer_end_index"}, layers);
}

// The set of layers that have experts, read from the keys of any family.
class SparseLayers {
 public:
  explicit SparseLayers(const HfConfig& config, int64_t layers)
      : first_(config.integer({"first_k_dense_replace", "num_dense_layers"}, 0)),
        step_(config.integer({"decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval"}, 1)),
        period_(config.integer({"expert_layer_period"}, 1)),
        offset_(config.integer({"expert_layer_offset"}, 0)),
        start_(config.integer({"moe_layer_start_index"}, 0)),
        end_(last_layer(config, layers)),
        dense_(config.integers("mlp_only_layers")),
        listed_(listed_layers(config)),
        types_(config.texts("mlp_layer_types", layers)) {
    for (const std::vector<int64_t>* list : {&dense_, &listed_}) {
      for (const int64_t layer : *list) {
        if (layer >= 0 && layer < layers) continue;
        config.fail(list == &dense_ ? "mlp_only_layers" : "moe_layers", "layer " + std::to_string(layer),
                    "layers from 0 to " + std::to_string(layers - 1));
      }
    }
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
    return layer >= std::max(first_, start_) && layer <= end_ && layer % frequency_ == 0;
  }

 private:
  int64_t first_, step_, period_, offset_, start_, end_;
  int64_t frequency_ = 1;
  std::vector<int64_t> dense_, listed_, flags_;
  std::vector<std::string> types_;
};

int64_t expert_count(const HfConfig& config) {
  const auto keys = {std::string_view("n_routed_experts"), std::string_view("num_local_experts"),
                     std::string_view("num_experts"), std::string_view("moe_num_experts")};
  const Json* found = config.find(keys);
  return found && *found != 0 ? config.positive(keys) : 0;
}

}  // namespace

double image_expert_parameters(const HfConfig& config, const std::vector<LayerFfn>& ffns) {
  const Json* counts = config.find({"moe_num_experts"});
  const Json* widths = config.find({"moe_intermediate_size"});
  const auto second = [](const Json* list) -> double {
    const bool is_there = list && list->is_array() && list->size() > 1 && (*list)[1].is_number();
    return is_there ? (*list)[1].get<double>() : 0;
  };
  const auto layers = static_cast<double>(std::count(ffns.begin(), ffns.end(), LayerFfn::sparse));
  return layers * second(counts) * 3 * static_cast<double>(config.positive({"hidden_size"})) * second(widths);
}

std::vector<LayerFfn> ffns_of(const HfConfig& config, LayerRule rule, int64_t layers) {
  std::vector<LayerFfn> ffns(static_cast<std::size_t>(layers), LayerFfn::dense);
  if (rule == LayerRule::nemotron_h) {
    const std::string letters = nemotron_pattern(config);
    for (std::size_t i = 0; i < ffns.size() && i < letters.size(); ++i) {
      ffns[i] = letters[i] == 'E' ? LayerFfn::sparse : letters[i] == '-' ? LayerFfn::dense : LayerFfn::none;
    }
    return ffns;
  }
  const SparseLayers sparse(config, layers);
  if (expert_count(config) <= 1) return ffns;
  for (int64_t i = 0; i < layers; ++i) {
    if (sparse.has(i)) ffns[static_cast<std::size_t>(i)] = LayerFfn::sparse;
  }
  return ffns;
}

void add_experts(const HfConfig& config, LayerRule rule, const std::vector<LayerFfn>& ffns, Json& model) {
  const auto dense_width = model["intermediate_size"].get<int64_t>();
  const int64_t count = expert_count(config);
  const int64_t whole_shared = config.integer({"shared_expert_intermediate_size", "shared_intermediate_size",
                                               "share_expert_dim", "moe_shared_expert_intermediate_size"},
                                              0);
  const auto layers_with = [&](LayerFfn kind) {
    return static_cast<int64_t>(std::count(ffns.begin(), ffns.end(), kind));
  };
  if (rule == LayerRule::nemotron_h) {
    model["feed_forward_layers"] = layers_with(LayerFfn::dense) + layers_with(LayerFfn::sparse);
  }
  if (count <= 1) {
    // Granite-4's small models have only a shared FFN; Jamba's dense models have one expert.
    if (rule == LayerRule::granite && whole_shared > 0) model["intermediate_size"] = whole_shared;
    return;
  }
  const int64_t active = config.positive({"num_experts_per_tok", "num_experts_per_token", "experts_per_token",
                                          "top_k_experts", "moe_top_k", "moe_topk", "moe_k"});
  if (layers_with(LayerFfn::sparse) == 0) {
    config.find({"moe_intermediate_size", "n_shared_experts", "num_shared_experts"});
    return;
  }
  Json experts = {{"count", count}, {"active", active}};
  const bool dense_is_named = config.has("dense_intermediate_size") && config.has("intermediate_size");
  experts["intermediate_size"] = config.has("moe_intermediate_size")
                                     ? config.positive({"moe_intermediate_size"})
                                 : dense_is_named ? config.positive({"intermediate_size"})
                                                  : dense_width;
  int64_t shared = config.has("num_shared_expert")
                       ? config.positive({"num_shared_expert"})
                       : config.integer({"n_shared_experts", "num_shared_experts"}, whole_shared > 0 ? 1 : 0);
  if (const Json* ernie = config.find({"moe_num_shared_experts"}); ernie && *ernie != 0) {
    shared = config.positive({"moe_num_shared_experts"});
  }
  int64_t shared_width = whole_shared;
  if (rule == LayerRule::llama4) {
    shared = 1;
    model["intermediate_size"] = config.positive({"intermediate_size_mlp"});
  } else if (rule == LayerRule::gemma4 && config.is_true("enable_moe_block")) {
    // The dense FFN runs in addition to the experts.
    shared = 1;
    shared_width = dense_width;
  }
  experts["shared"] = shared;
  if (shared > 0 && shared_width > 0) experts["shared_intermediate_size"] = shared_width / shared;
  experts["dense_layers"] = layers_with(LayerFfn::dense);
  const int64_t latent = config.integer({"moe_latent_size"}, 0);
  if (latent > 0) experts["hidden_size"] = latent;
  model["experts"] = experts;
}

}  // namespace kvcap
