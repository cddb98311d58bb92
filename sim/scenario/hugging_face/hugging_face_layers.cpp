// Determines what each layer of a Hugging Face model keeps of a context, from layer_types or by the family's
// rule.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "scenario/hugging_face/hf_config.h"

namespace kvcap {
namespace {

// Returns the config of one part ("attention" or "ffn") of a layer of Nemotron-NAS.
HfConfig nas_block(const HfConfig& config, int64_t layer, const char* part) {
  static const Json kNone = Json::object();
  const Json* blocks = config.find({"block_configs"});
  const std::string place = config.place() + ": block_configs." + std::to_string(layer);
  if (!blocks || !blocks->is_array() || static_cast<int64_t>(blocks->size()) <= layer) {
    config.fail("block_configs", "too few entries", "one for each of num_hidden_layers");
  }
  const Json& block = (*blocks)[static_cast<std::size_t>(layer)];
  const auto found = block.is_object() ? block.find(part) : block.end();
  const bool is_object = block.is_object() && found != block.end() && found->is_object();
  return HfConfig(is_object ? *found : kNone, place + "." + part);
}

// True iff sliding_window has a value other than 0 and -1.
bool has_window(const HfConfig& config) {
  const Json* window = config.find({"sliding_window"});
  return window && (!window->is_number() || *window > 0);
}

int64_t count(const std::vector<Mixer>& mixers, Mixer kind) {
  return std::count(mixers.begin(), mixers.end(), kind);
}

Mixer mixer_of(const HfConfig& config, const std::string& type) {
  for (const char* name : {"full_attention", "attention", "deepseek_sparse_attention"}) {
    if (type == name) return Mixer::full;
  }
  if (type == "sliding_attention") return Mixer::sliding;
  if (type == "chunked_attention") return Mixer::chunked;
  for (const char* name : {"linear_attention", "mamba", "conv"}) {
    if (type == name) return Mixer::recurrent;
  }
  config.fail(
      "layer_types", "\"" + type + "\"",
      "full_attention, attention, sliding_attention, chunked_attention, linear_attention, mamba, conv");
}

std::vector<Mixer> alike(int64_t layers, Mixer mixer) {
  return std::vector<Mixer>(static_cast<std::size_t>(layers), mixer);
}

// Returns full layers where `is_full(i)`, with i from 0, and `other` elsewhere.
template <class IsFull>
std::vector<Mixer> full_where(int64_t layers, Mixer other, const IsFull& is_full) {
  std::vector<Mixer> mixers = alike(layers, other);
  for (int64_t i = 0; i < layers; ++i) {
    if (is_full(i)) mixers[static_cast<std::size_t>(i)] = Mixer::full;
  }
  return mixers;
}

// Returns full layers where the list `key`, with one entry per layer, has the value `full`; `other`
// elsewhere.
std::vector<Mixer> flagged(const HfConfig& config, std::string_view key, int64_t layers, int64_t full,
                           Mixer other) {
  const std::vector<int64_t> flags = config.integers(key);
  if (static_cast<int64_t>(flags.size()) != layers) {
    config.fail(key, std::to_string(flags.size()) + " entries",
                "num_hidden_layers = " + std::to_string(layers));
  }
  return full_where(layers, other, [&](int64_t i) { return flags[static_cast<std::size_t>(i)] == full; });
}

std::vector<Mixer> llama4_mixers(const HfConfig& config, int64_t layers) {
  if (!config.has("attention_chunk_size")) return alike(layers, Mixer::full);
  // An entry of 1 in no_rope_layers means that the layer has rotary positions and attends to its chunk only.
  if (!config.integers("no_rope_layers").empty()) {
    return flagged(config, "no_rope_layers", layers, 0, Mixer::chunked);
  }
  const int64_t period = config.positive({"no_rope_layer_interval"});
  return full_where(layers, Mixer::chunked, [&](int64_t i) { return (i + 1) % period == 0; });
}

std::vector<Mixer> kimi_mixers(const HfConfig& config, int64_t layers) {
  const Json* linear = config.object("linear_attn_config");
  if (!linear) return alike(layers, Mixer::full);
  const HfConfig inner(*linear, config.place() + ": linear_attn_config");
  const std::vector<int64_t> full = inner.integers("full_attn_layers");  // numbered from 1
  const auto both = static_cast<int64_t>(full.size() + inner.integers("kda_layers").size());
  if (both != layers) {
    inner.fail("kda_layers", std::to_string(both) + " layers with full_attn_layers",
               "num_hidden_layers = " + std::to_string(layers));
  }
  for (const int64_t layer : full) {
    if (layer < 1 || layer > layers) {
      inner.fail("full_attn_layers", "layer " + std::to_string(layer),
                 "layers from 1 to " + std::to_string(layers));
    }
  }
  return full_where(layers, Mixer::recurrent,
                    [&](int64_t i) { return std::find(full.begin(), full.end(), i + 1) != full.end(); });
}

std::vector<Mixer> qwen2_mixers(const HfConfig& config, int64_t layers) {
  const int64_t full = config.integer({"max_window_layers"}, layers);
  const bool slides = has_window(config) && config.is_true("use_sliding_window");
  return full_where(layers, Mixer::sliding, [&](int64_t i) { return !slides || i < full; });
}

std::vector<Mixer> letter_mixers(const HfConfig& config, int64_t layers) {
  const std::string letters = config.text("sliding_window_pattern");
  if (letters.empty() || !has_window(config)) return alike(layers, Mixer::full);
  return full_where(layers, Mixer::sliding, [&](int64_t i) {
    return letters[static_cast<std::size_t>(i) % letters.size()] == 'G' || i + 1 == layers;
  });
}

std::vector<Mixer> lfm2_mixers(const HfConfig& config, int64_t layers) {
  const std::vector<int64_t> full = config.integers("full_attn_idxs");
  return full_where(layers, Mixer::recurrent,
                    [&](int64_t i) { return std::find(full.begin(), full.end(), i) != full.end(); });
}

std::vector<Mixer> nemotron_mixers(const HfConfig& config, int64_t layers) {
  const std::string letters = nemotron_pattern(config);
  if (static_cast<int64_t>(letters.size()) != layers) {
    config.fail("hybrid_override_pattern", std::to_string(letters.size()) + " layers",
                "num_hidden_layers = " + std::to_string(layers));
  }
  std::vector<Mixer> mixers;
  for (char letter : letters) {
    mixers.push_back(letter == '*' ? Mixer::full : letter == 'M' ? Mixer::recurrent : Mixer::none);
  }
  return mixers;
}

std::vector<Mixer> nas_mixers(const HfConfig& config, int64_t layers) {
  std::vector<Mixer> mixers;
  for (int64_t i = 0; i < layers; ++i) {
    mixers.push_back(nas_block(config, i, "attention").has("n_heads_in_group") ? Mixer::full : Mixer::none);
  }
  return mixers;
}

std::vector<Mixer> mixers_by_rule(const HfConfig& config, LayerRule rule, int64_t layers) {
  const auto every = [&](int64_t period, Mixer other) {
    return full_where(layers, other, [&](int64_t i) { return (i + 1) % period == 0; });
  };
  switch (rule) {
    case LayerRule::uniform:
    case LayerRule::falcon_h1:
    case LayerRule::step3p5:
      return alike(layers, Mixer::full);
    case LayerRule::sliding:
      return alike(layers, has_window(config) ? Mixer::sliding : Mixer::full);
    case LayerRule::optional_sliding:
      return qwen2_mixers(config, layers);
    case LayerRule::alternating:
      return every(2, Mixer::sliding);
    case LayerRule::pattern:
      return every(config.positive({"sliding_window_pattern", "_sliding_window_pattern"}), Mixer::sliding);
    case LayerRule::letters:
      return letter_mixers(config, layers);
    case LayerRule::llama4:
      return llama4_mixers(config, layers);
    case LayerRule::interval:
      return every(config.positive({"full_attention_interval"}), Mixer::recurrent);
    case LayerRule::nemotron_h:
      return nemotron_mixers(config, layers);
    case LayerRule::nemotron_nas:
      return nas_mixers(config, layers);
    case LayerRule::jamba: {
      const int64_t period = config.positive({"attn_layer_period"});
      const int64_t offset = config.required({"attn_layer_offset"});
      if (offset >= period)
        config.fail("attn_layer_offset", std::to_string(offset), "less than attn_layer_period");
      return full_where(layers, Mixer::recurrent, [&](int64_t i) { return i % period == offset; });
    }
    case LayerRule::kimi_linear:
      return kimi_mixers(config, layers);
    case LayerRule::minimax:
      if (!config.has("attn_type_list")) return alike(layers, Mixer::full);
      return flagged(config, "attn_type_list", layers, 1, Mixer::recurrent);
    case LayerRule::mimo:
      config.find({"sliding_window_size", "attention_chunk_size"});  // both repeat sliding_window
      return flagged(config, "hybrid_layer_pattern", layers, 0, Mixer::sliding);
    case LayerRule::lfm2:
      return lfm2_mixers(config, layers);
    case LayerRule::gemma4:
    case LayerRule::granite:
      break;
  }
  config.required({"layer_types"});
  return {};
}

// Returns the shape of a family's recurrent states.
Json state_shape(const HfConfig& config, LayerRule rule) {
  if (rule == LayerRule::interval) {
    return {{"heads", config.positive({"linear_num_value_heads"})},
            {"head_dim", config.positive({"linear_value_head_dim"})},
            {"state_size", config.positive({"linear_key_head_dim"})},
            {"groups", config.positive({"linear_num_key_heads"})},
            {"conv_kernel", config.positive({"linear_conv_kernel_dim"})}};
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
  if (rule == LayerRule::lfm2) {
    // A layer of LFM2 is a convolution between two gates, with three projections of the model's width. Its
    // only state is the last inputs of the convolution.
    const int64_t hidden = config.positive({"hidden_size"});
    return {{"heads", 1},
            {"head_dim", hidden},
            {"state_size", 1},
            {"groups", hidden / 2},
            {"conv_kernel", config.positive({"conv_L_cache"})},
            {"state_bytes_per_element", 0.125}};
  }
  if (rule == LayerRule::minimax) {
    // Lightning attention: a matrix per head, no convolution.
    const int64_t heads = config.positive({"num_attention_heads"});
    const int64_t dim = config.positive({"head_dim"});
    return {{"heads", heads}, {"head_dim", dim}, {"state_size", dim}, {"groups", heads}, {"conv_kernel", 1}};
  }
  if (rule == LayerRule::jamba) {
    const int64_t inner = config.positive({"mamba_expand"}) * config.positive({"hidden_size"});
    // transformers: "auto" means ceil(hidden_size / 16).
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

// Returns the bytes per element in which vLLM keeps a state: those of the model, unless its config.json names
// others. Nemotron-H's (vllm#39032) and Kimi's delta attention (mamba_utils.py: kda_state_dtype) have 32
// bits.
double state_bytes(const HfConfig& config, LayerRule rule) {
  for (const char* key : {"mamba_ssm_dtype", "mamba_ssm_cache_dtype"}) {
    const std::string dtype = config.text(key);
    if (!dtype.empty()) return dtype == "float32" ? 4 : 2;
  }
  return rule == LayerRule::nemotron_h || rule == LayerRule::kimi_linear ? 4 : 2;
}

// Returns the state of a family's recurrent layers.
Json state_of(const HfConfig& config, LayerRule rule) {
  Json state = state_shape(config, rule);
  if (!state.contains("state_bytes_per_element")) {
    state["state_bytes_per_element"] = state_bytes(config, rule);
  }
  return state;
}

// Adds the indexer of DeepSeek-V3.2: an 8-bit key and a 4-byte scale per token. GLM-5 lists the layers with
// an indexer.
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

// Adds the indexer of MiniMax-M3: 16-bit keys select the blocks of tokens that a layer attends to.
void add_block_indexer(const HfConfig& config, Json& group) {
  const Json* sparse = config.object("sparse_attention_config");
  if (!sparse) return;
  const HfConfig inner(*sparse, config.place() + ": sparse_attention_config");
  if (!inner.is_true("use_sparse_attention")) return;
  const int64_t dim = inner.positive({"sparse_index_dim"});
  const std::vector<int64_t> flags = inner.integers("sparse_attention_freq");
  group["indexer"] = {
      {"layers", static_cast<int64_t>(std::count(flags.begin(), flags.end(), 1))},
      {"heads", inner.positive({"sparse_num_index_heads"})},
      {"head_dim", dim},
      {"bytes_per_token", 2 * dim},
      {"top_k", inner.positive({"sparse_topk_blocks"}) * inner.positive({"sparse_block_size"})}};
}

// Adds the heads of Gemma 4's full layers, whose keys may serve as values.
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

// Adds the heads of sliding layers, which differ from full layers in MiMo-V2 and Step-3.5.
void add_sliding_heads(const HfConfig& config, LayerRule rule, Json& group) {
  if (rule == LayerRule::mimo) {
    group["num_attention_heads"] = config.positive({"swa_num_attention_heads"});
    group["num_key_value_heads"] = config.positive({"swa_num_key_value_heads"});
    group["head_dim"] = config.positive({"swa_head_dim"});
    group["value_head_dim"] = config.positive({"swa_v_head_dim"});
  } else if (rule == LayerRule::step3p5) {
    const Json* other = config.object("attention_other_setting");
    if (!other) return;
    const HfConfig inner(*other, config.place() + ": attention_other_setting");
    group["num_attention_heads"] = inner.positive({"num_attention_heads"});
    group["num_key_value_heads"] = inner.positive({"num_attention_groups"});
    if (inner.has("head_dim")) group["head_dim"] = inner.positive({"head_dim"});
  }
}

// Adds the layers of Nemotron-NAS, grouped by KV heads, and the mean width of their FFNs.
void add_nas_layers(const HfConfig& config, Json& model) {
  const auto layers = model["num_hidden_layers"].get<int64_t>();
  const auto heads = model["num_attention_heads"].get<int64_t>();
  const auto hidden = static_cast<double>(model["hidden_size"].get<int64_t>());
  std::map<int64_t, int64_t> by_heads;
  double widths = 0;
  int64_t ffns = 0;
  for (int64_t i = 0; i < layers; ++i) {
    const HfConfig attention = nas_block(config, i, "attention"), ffn = nas_block(config, i, "ffn");
    if (attention.has("n_heads_in_group")) ++by_heads[heads / attention.positive({"n_heads_in_group"})];
    const Json* multiple = ffn.find({"ffn_mult"});
    if (!multiple || !multiple->is_number()) continue;
    if (*multiple < 0 || *multiple > 100) ffn.fail("ffn_mult", shown(*multiple), "a number from 0 to 100");
    // DeciLM: the width is 2/3 of 2 x ffn_mult x hidden_size, rounded up to a multiple of 256.
    widths += std::ceil(std::floor(2 * multiple->get<double>() * hidden / 3) / 256) * 256;
    ++ffns;
  }
  Json groups = Json::array();
  for (const auto& [kv_heads, count] : by_heads) {
    groups.push_back({{"layers", count}, {"attention", "full"}, {"num_key_value_heads", kv_heads}});
  }
  model["layer_groups"] = groups;
  model["feed_forward_layers"] = ffns;
  model["intermediate_size"] = std::llround(widths / static_cast<double>(std::max<int64_t>(ffns, 1)));
}

}  // namespace

std::string nemotron_pattern(const HfConfig& config) {
  const Json* blocks = config.find({"layers_block_type"});
  std::string letters = config.text("hybrid_override_pattern");
  if (letters.empty() && blocks && blocks->is_array()) {
    for (const Json& block : *blocks) {
      const std::string type = block.is_string() ? block.get<std::string>() : shown(block);
      letters += type == "mamba"       ? 'M'
                 : type == "attention" ? '*'
                 : type == "moe"       ? 'E'
                 : type == "mlp"       ? '-'
                                       : '?';
    }
  }
  if (letters.empty()) config.required({"hybrid_override_pattern"});
  const std::size_t unknown = letters.find_first_not_of("M*-E");
  if (unknown != std::string::npos) {
    config.fail("hybrid_override_pattern", "'" + letters.substr(unknown, 1) + "'",
                "M (Mamba-2), * (attention), - (FFN), E (experts)");
  }
  return letters;
}

std::vector<Mixer> mixers_of(const HfConfig& config, LayerRule rule, int64_t layers) {
  const int64_t drafts = config.integer({"num_nextn_predict_layers"}, 0);
  const Json* listed = config.find({"layer_types"});
  // Step-3.5 also lists its layers for multi-token prediction.
  const bool has_drafts =
      listed && listed->is_array() && static_cast<int64_t>(listed->size()) == layers + drafts;
  std::vector<std::string> types = config.texts("layer_types", has_drafts ? layers + drafts : layers);
  types.resize(std::min(types.size(), static_cast<std::size_t>(layers)));
  if (types.empty() || rule == LayerRule::nemotron_h) return mixers_by_rule(config, rule, layers);
  // These keys repeat layer_types for older readers.
  config.find({"sliding_window", "use_sliding_window", "max_window_layers", "sliding_window_pattern",
               "_sliding_window_pattern", "full_attention_interval", "no_rope_layers", "full_attn_idxs",
               "no_rope_layer_interval", "attention_chunk_size", "attn_type_list", "attn_layer_indices",
               "global_attn_every_n_layers"});
  std::vector<Mixer> mixers;
  for (const std::string& type : types) mixers.push_back(mixer_of(config, type));
  return mixers;
}

void add_layer_groups(const HfConfig& config, LayerRule rule, const std::vector<Mixer>& mixers, Json& model) {
  if (rule == LayerRule::nemotron_nas) return add_nas_layers(config, model);
  const auto layers = static_cast<int64_t>(mixers.size());
  const bool is_latent = model.contains("kv_lora_rank");
  Json groups = Json::array();
  int64_t full = count(mixers, Mixer::full), sliding = count(mixers, Mixer::sliding);
  // A window longer than the context has no effect.
  if (sliding > 0 && config.positive({"sliding_window"}) >= model["max_position_embeddings"]) {
    full += std::exchange(sliding, 0);
  }
  if (full > 0) {
    Json group = {{"layers", full}, {"attention", is_latent ? "latent" : "full"}};
    if (is_latent) add_indexer(config, layers, group);
    add_block_indexer(config, group);
    if (rule == LayerRule::gemma4) add_global_heads(config, group);
    if (rule == LayerRule::mimo) group["value_head_dim"] = config.positive({"v_head_dim"});
    groups.push_back(group);
  }
  if (sliding > 0) {
    Json group = {{"layers", sliding},
                  {"attention", "sliding"},
                  {"window_tokens", config.positive({"sliding_window"})}};
    add_sliding_heads(config, rule, group);
    groups.push_back(group);
  }
  if (const int64_t chunked = count(mixers, Mixer::chunked); chunked > 0) {
    groups.push_back({{"layers", chunked},
                      {"attention", "chunked"},
                      {"window_tokens", config.positive({"attention_chunk_size"})}});
  }
  int64_t recurrent = count(mixers, Mixer::recurrent);
  if (recurrent == 0 && rule == LayerRule::granite) {
    config.find({"mamba_d_conv", "mamba_d_head", "mamba_d_state", "mamba_n_groups", "mamba_n_heads"});
  }
  if (rule == LayerRule::falcon_h1) {
    config.find({"mamba_d_ssm"});  // number of heads times their size
    // Attention and Mamba-2 run in every layer, which is represented by two layers, one of which has an FFN.
    recurrent = layers;
    model["num_hidden_layers"] = 2 * layers;
    model["feed_forward_layers"] = layers;
  }
  if (recurrent > 0) {
    groups.push_back(
        {{"layers", recurrent}, {"attention", "recurrent"}, {"recurrent", state_of(config, rule)}});
  }
  // Uniform layers need no groups.
  const bool uniform = groups.size() == 1 && full == layers && groups[0].size() == 2;
  if (!uniform) model["layer_groups"] = groups;
}

}  // namespace kvcap
