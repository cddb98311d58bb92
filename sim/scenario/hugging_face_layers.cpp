// Which layers of a Hugging Face model keep what: as layer_types lists them, or by the rule of the family.
#include <algorithm>
#include <string>

#include "scenario/hf_config.h"

namespace kvcap {
namespace {

// Layers of each kind.
struct Kinds {
  int64_t full = 0, sliding = 0, chunked = 0, recurrent = 0;
};

Kinds listed_kinds(const HfConfig& config, int64_t layers) {
  Kinds kinds;
  for (const std::string& type : config.texts("layer_types", layers)) {
    if (type == "full_attention" || type == "attention") {
      ++kinds.full;
    } else if (type == "sliding_attention") {
      ++kinds.sliding;
    } else if (type == "chunked_attention") {
      ++kinds.chunked;
    } else if (type == "linear_attention" || type == "mamba") {
      ++kinds.recurrent;
    } else {
      config.fail("layer_types", "\"" + type + "\"",
                  "full_attention, attention, sliding_attention, chunked_attention, linear_attention, mamba");
    }
  }
  return kinds;
}

Kinds llama4_kinds(const HfConfig& config, int64_t layers) {
  Kinds kinds;
  if (!config.has("attention_chunk_size")) return {.full = layers};
  // 1: the layer has rotary positions and sees its chunk only.
  const std::vector<int64_t> rotary = config.integers("no_rope_layers");
  if (rotary.empty()) {
    kinds.full = layers / config.positive({"no_rope_layer_interval"});
  } else {
    if (static_cast<int64_t>(rotary.size()) != layers) {
      config.fail("no_rope_layers", std::to_string(rotary.size()) + " entries",
                  "num_hidden_layers = " + std::to_string(layers));
    }
    kinds.full = std::count(rotary.begin(), rotary.end(), 0);
  }
  kinds.chunked = layers - kinds.full;
  return kinds;
}

Kinds jamba_kinds(const HfConfig& config, int64_t layers) {
  const int64_t period = config.positive({"attn_layer_period"});
  const int64_t offset = config.required({"attn_layer_offset"});
  Kinds kinds;
  for (int64_t i = 0; i < layers; ++i) ++(i % period == offset ? kinds.full : kinds.recurrent);
  return kinds;
}

Kinds kimi_kinds(const HfConfig& config, int64_t layers) {
  const Json* linear = config.object("linear_attn_config");
  if (!linear) return {.full = layers};
  const HfConfig inner(*linear, config.place() + ": linear_attn_config");
  const auto full = static_cast<int64_t>(inner.integers("full_attn_layers").size());
  const auto recurrent = static_cast<int64_t>(inner.integers("kda_layers").size());
  if (full + recurrent != layers) {
    inner.fail("kda_layers", std::to_string(full + recurrent) + " layers with full_attn_layers",
               "num_hidden_layers = " + std::to_string(layers));
  }
  return {.full = full, .recurrent = recurrent};
}

Kinds minimax_kinds(const HfConfig& config, int64_t layers) {
  const std::vector<int64_t> types = config.integers("attn_type_list");
  if (types.empty()) return {.full = layers};
  if (static_cast<int64_t>(types.size()) != layers) {
    config.fail("attn_type_list", std::to_string(types.size()) + " entries",
                "num_hidden_layers = " + std::to_string(layers));
  }
  const auto recurrent = static_cast<int64_t>(std::count(types.begin(), types.end(), 0));
  return {.full = layers - recurrent, .recurrent = recurrent};
}

Kinds qwen2_kinds(const HfConfig& config, int64_t layers) {
  const int64_t full = config.integer({"max_window_layers"}, layers);
  const bool has_window = config.has("sliding_window");
  if (!has_window || !config.is_true("use_sliding_window")) return {.full = layers};
  return {.full = std::min(full, layers), .sliding = layers - std::min(full, layers)};
}

Kinds kinds_by_rule(const HfConfig& config, LayerRule rule, int64_t layers) {
  const auto every = [&](int64_t period) {
    return Kinds{.full = layers / period, .sliding = layers - layers / period};
  };
  switch (rule) {
    case LayerRule::uniform:
      return {.full = layers};
    case LayerRule::sliding:
      if (!config.has("sliding_window")) return {.full = layers};
      return {.sliding = layers};
    case LayerRule::optional_sliding:
      return qwen2_kinds(config, layers);
    case LayerRule::alternating:
      return every(2);
    case LayerRule::pattern:
      return every(config.positive({"sliding_window_pattern", "_sliding_window_pattern"}));
    case LayerRule::llama4:
      return llama4_kinds(config, layers);
    case LayerRule::interval: {
      const int64_t full = layers / config.positive({"full_attention_interval"});
      return {.full = full, .recurrent = layers - full};
    }
    case LayerRule::nemotron_h:
      return {.full = layers_of_pattern(config, '*'), .recurrent = layers_of_pattern(config, 'M')};
    case LayerRule::jamba:
      return jamba_kinds(config, layers);
    case LayerRule::kimi_linear:
      return kimi_kinds(config, layers);
    case LayerRule::minimax:
      return minimax_kinds(config, layers);
    case LayerRule::gemma4:
    case LayerRule::granite:
      break;
  }
  config.required({"layer_types"});
  return {};
}

// The state of a family's recurrent layers.
Json state_of(const HfConfig& config, LayerRule rule) {
  if (rule == LayerRule::interval) {
    Json state = {{"heads", config.positive({"linear_num_value_heads"})},
                  {"head_dim", config.positive({"linear_value_head_dim"})},
                  {"state_size", config.positive({"linear_key_head_dim"})},
                  {"groups", config.positive({"linear_num_key_heads"})},
                  {"conv_kernel", config.positive({"linear_conv_kernel_dim"})}};
    if (config.text("mamba_ssm_dtype") == "bfloat16") state["state_bytes_per_element"] = 2;
    return state;
  }
  if (rule == LayerRule::kimi_linear) {
    const HfConfig inner(*config.object("linear_attn_config"), config.place() + ": linear_attn_config");
    const int64_t heads = inner.positive({"num_heads"});
    const int64_t dim = inner.positive({"head_dim"});
    return {{"heads", heads},
            {"head_dim", dim},
            {"state_size", dim},
            {"groups", heads},
            {"conv_kernel", inner.positive({"short_conv_kernel_size"})}};
  }
  if (rule == LayerRule::minimax) {
    // Lightning attention: a matrix for each head, and no convolution.
    const int64_t heads = config.positive({"num_attention_heads"});
    const int64_t dim = config.positive({"head_dim"});
    return {{"heads", heads}, {"head_dim", dim}, {"state_size", dim}, {"groups", heads}, {"conv_kernel", 1}};
  }
  if (rule == LayerRule::jamba) {
    const int64_t inner = config.positive({"mamba_expand"}) * config.positive({"hidden_size"});
    // transformers: "auto" is ceil(hidden_size / 16).
    const Json* rank = config.find({"mamba_dt_rank"});
    const int64_t automatic = (config.positive({"hidden_size"}) + 15) / 16;
    return {{"heads", 1},
            {"head_dim", inner},
            {"state_size", config.positive({"mamba_d_state"})},
            {"conv_kernel", config.positive({"mamba_d_conv"})},
            {"dt_rank", rank && rank->is_number() ? config.positive({"mamba_dt_rank"}) : automatic}};
  }
  return {{"heads", config.positive({"mamba_num_heads", "mamba_n_heads"})},
          {"head_dim", config.positive({"mamba_head_dim", "mamba_d_head"})},
          {"state_size", config.positive({"ssm_state_size", "mamba_d_state", "mamba_state_dim"})},
          {"groups", config.positive({"n_groups", "mamba_n_groups", "mamba_num_groups"})},
          {"conv_kernel", config.positive({"conv_kernel", "mamba_d_conv"})}};
}

// DeepSeek-V3.2's: an 8-bit key and a 4-byte scale of each token. GLM-5 lists the layers that have one.
void add_indexer(const HfConfig& config, int64_t layers, Json& group) {
  if (!config.has("index_topk")) return;
  const int64_t dim = config.positive({"index_head_dim"});
  Json indexer = {{"heads", config.positive({"index_n_heads"})},
                  {"head_dim", dim},
                  {"bytes_per_token", dim + 4},
                  {"top_k", config.positive({"index_topk"})}};
  const std::vector<std::string> types = config.texts("indexer_types", layers);
  if (!types.empty()) {
    indexer["layers"] = static_cast<int64_t>(std::count(types.begin(), types.end(), "full"));
  }
  group["indexer"] = indexer;
}

// Gemma 4: full layers have their own heads, whose keys may serve as values.
void add_global_heads(const HfConfig& config, Json& group) {
  const int64_t dim = config.integer({"global_head_dim"}, 0);
  if (dim > 0) group["head_dim"] = dim;
  const bool same = config.is_true("attention_k_eq_v");
  const int64_t heads = config.integer({"num_global_key_value_heads"}, 0);
  if (same && heads > 0) group["num_key_value_heads"] = heads;
  if (config.integer({"num_kv_shared_layers"}, 0) > 0) {
    config.fail("num_kv_shared_layers", std::to_string(config.integer({"num_kv_shared_layers"}, 0)),
                "0: layers that share the KV of others are not known");
  }
}

}  // namespace

int64_t layers_of_pattern(const HfConfig& config, char letter) {
  const std::string pattern = config.text("hybrid_override_pattern");
  if (pattern.empty()) config.required({"hybrid_override_pattern"});
  const std::size_t unknown = pattern.find_first_not_of("M*-E");
  if (unknown != std::string::npos) {
    config.fail("hybrid_override_pattern", "'" + pattern.substr(unknown, 1) + "'",
                "M (Mamba-2), * (attention), - (FFN), E (experts)");
  }
  return std::count(pattern.begin(), pattern.end(), letter);
}

void add_layer_groups(const HfConfig& config, LayerRule rule, Json& model) {
  const auto layers = model["num_hidden_layers"].get<int64_t>();
  const bool listed = config.has("layer_types");
  // The same once more, for readers that know no layer_types.
  if (listed) {
    config.find({"sliding_window", "use_sliding_window", "max_window_layers", "sliding_window_pattern",
                 "_sliding_window_pattern", "full_attention_interval", "no_rope_layers",
                 "no_rope_layer_interval", "attention_chunk_size", "attn_type_list"});
  }
  const Kinds kinds = listed ? listed_kinds(config, layers) : kinds_by_rule(config, rule, layers);
  const bool is_latent = model.contains("kv_lora_rank");
  if (rule == LayerRule::nemotron_h) {
    const int64_t ffns = layers_of_pattern(config, '-') + layers_of_pattern(config, 'E');
    if (kinds.full + kinds.recurrent + ffns != layers) {
      config.fail("hybrid_override_pattern", std::to_string(kinds.full + kinds.recurrent + ffns) + " layers",
                  "num_hidden_layers = " + std::to_string(layers));
    }
    model["feed_forward_layers"] = ffns;
  }
  Json groups = Json::array();
  if (kinds.full > 0) {
    Json group = {{"layers", kinds.full}, {"attention", is_latent ? "latent" : "full"}};
    if (is_latent) add_indexer(config, layers, group);
    if (rule == LayerRule::gemma4) add_global_heads(config, group);
    groups.push_back(group);
  }
  if (kinds.sliding > 0) {
    groups.push_back({{"layers", kinds.sliding},
                      {"attention", "sliding"},
                      {"window_tokens", config.positive({"sliding_window"})}});
  }
  if (kinds.chunked > 0) {
    groups.push_back({{"layers", kinds.chunked},
                      {"attention", "chunked"},
                      {"window_tokens", config.positive({"attention_chunk_size"})}});
  }
  if (kinds.recurrent > 0) {
    groups.push_back(
        {{"layers", kinds.recurrent}, {"attention", "recurrent"}, {"recurrent", state_of(config, rule)}});
  }
  // Layers that are all alike need no groups.
  const bool alike = groups.size() == 1 && kinds.full == layers && !groups[0].contains("indexer");
  if (!alike) model["layer_groups"] = groups;
}

}  // namespace kvcap
