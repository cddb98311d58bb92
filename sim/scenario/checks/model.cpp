// Checks a model: heads, layer groups, experts.
#include "scenario/checks/checks.h"
#include "scenario/fields.h"

namespace kvcap {
namespace {

void check_group(const LayerGroup& filled, const Places& places, const std::string& path) {
  if (filled.keeps_window() && filled.window_tokens < 1) {
    fail(places, below(path, "window_tokens"), "no value",
         "at least 1 where attention is \"sliding\" or \"chunked\"");
  }
  if (filled.attention == AttentionKind::latent && !filled.latent) {
    fail(places, below(path, "latent"), "no value", "an object where attention is \"latent\"");
  }
  const bool is_recurrent = filled.attention == AttentionKind::recurrent;
  if (is_recurrent != filled.recurrent.has_value()) {
    fail(places, below(path, "recurrent"), is_recurrent ? "no value" : "an object",
         is_recurrent ? "an object where attention is \"recurrent\""
                      : "none where attention is not \"recurrent\"");
  }
  if (is_recurrent) return;
  if (filled.num_attention_heads % filled.num_key_value_heads != 0) {
    fail(places, below(path, "num_key_value_heads"), std::to_string(filled.num_key_value_heads),
         "a divisor of num_attention_heads = " + std::to_string(filled.num_attention_heads));
  }
  if (filled.indexer && filled.indexer->layers > filled.layers) {
    fail(places, below(path, "indexer.layers"), std::to_string(filled.indexer->layers),
         "at most layers = " + std::to_string(filled.layers));
  }
}

void check_groups(const ModelSpec& model, const Places& places, std::string_view path) {
  int64_t layers = 0;
  const std::vector<LayerGroup> groups = model.groups();
  if (groups.size() > kMostLayerGroups) {
    fail(places, below(path, "layer_groups"), std::to_string(groups.size()) + " groups",
         "at most " + std::to_string(kMostLayerGroups));
  }
  for (std::size_t i = 0; i < model.layer_groups.size(); ++i) {
    const std::string group = below(path, "layer_groups[" + std::to_string(i) + "]");
    check_group(groups[i], places, group);
    layers += groups[i].layers;
    // Groups contain the layers that mix tokens. They are fewer than num_hidden_layers only if FFNs count as
    // layers of their own.
    if (layers > model.num_hidden_layers) {
      fail(places, below(group, "layers"), std::to_string(groups[i].layers),
           "groups of at most num_hidden_layers = " + std::to_string(model.num_hidden_layers) +
               " layers in all");
    }
  }
  if (!model.layer_groups.empty() && layers < model.num_hidden_layers && !model.ffn_layers) {
    fail(places, below(path, "layer_groups"), std::to_string(layers) + " layers",
         "num_hidden_layers = " + std::to_string(model.num_hidden_layers) +
             " layers, or fewer where feed_forward_layers is given");
  }
  if (model.layers_with_ffn() > model.num_hidden_layers) {
    fail(places, below(path, "feed_forward_layers"), std::to_string(*model.ffn_layers),
         "at most num_hidden_layers = " + std::to_string(model.num_hidden_layers));
  }
}

}  // namespace

void check_model(const ModelSpec& model, const Places& places, std::string_view path) {
  if (model.head_dim < 1) {
    fail(places, below(path, "num_attention_heads"), std::to_string(model.num_attention_heads),
         "at most hidden_size = " + std::to_string(model.hidden_size));
  }
  if (model.num_attention_heads % model.num_key_value_heads != 0) {
    fail(places, below(path, "num_key_value_heads"), std::to_string(model.num_key_value_heads),
         "a divisor of num_attention_heads = " + std::to_string(model.num_attention_heads));
  }
  check_groups(model, places, path);
  if (!model.experts) return;
  const std::string experts = below(path, "experts");
  if (model.experts->active > model.experts->count) {
    fail(places, below(experts, "active"), std::to_string(model.experts->active),
         "at most experts.count = " + std::to_string(model.experts->count));
  }
  if (model.experts->dense_layers > model.layers_with_ffn()) {
    fail(places, below(experts, "dense_layers"), std::to_string(model.experts->dense_layers),
         "at most num_hidden_layers = " + std::to_string(model.layers_with_ffn()));
  }
}

}  // namespace kvcap
