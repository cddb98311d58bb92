// Converts a Hugging Face config.json to a kvcap model file. Families use different keys for the same
// quantities.
#include <algorithm>

#include "base/input_error.h"
#include "base/text/warning.h"
#include "scenario/fields.h"
#include "scenario/hugging_face/hf_config.h"
#include "scenario/model_reading.h"

namespace kvcap {
namespace {

int64_t key_value_heads(const HfConfig& config, std::string_view type, int64_t heads) {
  const bool falcon = type == "falcon" || type.starts_with("RefinedWeb");
  const int64_t listed = config.integer(
      {"num_key_value_heads", "num_kv_heads", "n_head_kv", "num_attention_groups", "multi_query_group_num"},
      heads);
  const bool has_one_head = config.is_true("multi_query");
  if (falcon && !config.is_true("new_decoder_architecture")) {
    // Falcon-7B shares one head and does not list it; the older format of Falcon-40B lists n_head_kv.
    const bool one = config.has("multi_query") ? has_one_head : type != "RefinedWeb";
    return one ? 1 : config.integer({"n_head_kv"}, heads);
  }
  return listed;
}

void add_latent_attention(const HfConfig& config, Json& model) {
  if (!config.has("kv_lora_rank")) return;
  const int64_t rope = config.positive({"qk_rope_head_dim"});
  const int64_t nope = config.positive({"qk_nope_head_dim"});
  model["kv_lora_rank"] = config.positive({"kv_lora_rank"});
  model["q_lora_rank"] = config.integer({"q_lora_rank"}, 0);
  model["qk_rope_head_dim"] = rope;
  model["qk_nope_head_dim"] = nope;
  model["v_head_dim"] = config.positive({"v_head_dim"});
  model["head_dim"] = rope + nope;
}

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

int64_t layer_count(const HfConfig& config) {
  constexpr int64_t kMaxLayers = 10'000;
  const Json* blocks = config.find({"layers_block_type"});
  const bool listed = blocks && blocks->is_array() && !config.has("num_hidden_layers");
  const int64_t layers = listed ? static_cast<int64_t>(blocks->size())
                                : config.positive({"num_hidden_layers", "n_layer", "num_layers"});
  if (layers < 1 || layers > kMaxLayers) {
    config.fail("num_hidden_layers", std::to_string(layers), "an integer from 1 to 10000");
  }
  return layers;
}

// Returns the width of LFM2's FFN: block_ff_dim or, if it is adjusted, 2/3 of it times a factor, rounded up
// to a multiple of block_multiple_of.
int64_t lfm2_width(const HfConfig& config) {
  config.find({"block_dim", "intermediate_size"});  // these keys repeat hidden_size and block_ff_dim
  const int64_t whole = config.positive({"block_ff_dim"});
  const Json* factor = config.find({"block_ffn_dim_multiplier"});
  const int64_t multiple = config.integer({"block_multiple_of"}, 256);
  if (!config.is_true("block_auto_adjust_ff_dim")) return whole;
  const double times = factor && factor->is_number() ? factor->get<double>() : 1;
  const auto width = static_cast<int64_t>(times * static_cast<double>(2 * whole / 3));
  return (width + multiple - 1) / multiple * multiple;
}

// Returns the FFN's width. Older configs of Falcon omit the width, which is four times the hidden size.
int64_t ffn_width(const HfConfig& config, const HfFamily& family, int64_t hidden) {
  const auto keys = {std::string_view("intermediate_size"), std::string_view("ffn_dim"),
                     std::string_view("ffn_hidden_size")};
  const bool falcon = family.model_type == "falcon" || family.model_type.starts_with("RefinedWeb");
  if (falcon) return config.integer(keys, 4 * hidden);
  // add_nas_layers replaces this value.
  if (family.layers == LayerRule::nemotron_nas) return hidden;
  if (config.has("dense_intermediate_size")) {
    config.find(keys);  // width of the experts
    return config.positive({"dense_intermediate_size"});
  }
  if (!config.find(keys)) return config.positive({"moe_intermediate_size", "shared_intermediate_size"});
  if (family.layers == LayerRule::lfm2 && config.has("block_ff_dim")) return lfm2_width(config);
  const int64_t width = config.positive(keys);
  return family.model_type == "qwen" ? width / 2 : width;  // Qwen 1 gives the width of gate and up together
}

// Returns the text model's part of a multimodal config, or the object itself.
const Json& text_part(const Json& object) {
  for (const char* key : {"text_config", "llm_config", "language_config", "thinker_config"}) {
    const auto found = object.find(key);
    if (found != object.end() && found->is_object() && !found->empty()) return text_part(*found);
  }
  return object;
}

const Json* vision_part(const Json& object) {
  for (const char* key : {"vision_config", "vision_tower", "thinker_config"}) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_object()) continue;
    return std::string_view(key) == "thinker_config" ? vision_part(*found) : &*found;
  }
  return nullptr;
}

bool is_off(const Json& value) {
  if (value.is_boolean()) return !value.get<bool>();
  return value == 0 || value == "" || ((value.is_array() || value.is_object()) && value.empty());
}

// Throws InputError for unknown keys that may change sizes; warns about other unknown keys.
void tell_unread(const HfConfig& config) {
  std::string assumed = ",";
  for (const std::string& keys : model_reading().assumed_keys) assumed += keys + ",";
  std::vector<std::string> stopping;
  std::string told;
  for (const std::string& key : config.unread()) {
    if (is_off(config.json()[key]) || is_harmless_key(key)) continue;
    if (assumed.find("," + key + ",") != std::string::npos) continue;
    if (may_change_sizes(key)) {
      stopping.push_back(key);
    } else {
      told += (told.empty() ? "" : ", ") + key;
    }
  }
  if (!stopping.empty()) {
    std::string keys, flag;
    for (const std::string& key : stopping) {
      keys += (keys.empty() ? "" : ", ") + key;
      flag += (flag.empty() ? "" : ",") + key;
    }
    throw InputError(config.place() + ": unknown keys that may change sizes or times: " + keys +
                     "; --assume " + flag + " ignores them");
  }
  if (!told.empty()) {
    warn(config.place() + ": unknown keys, ignored because their names do not suggest sizes: " + told);
  }
}

}  // namespace

bool is_hugging_face(const Json& object) {
  return object.is_object() && (object.contains("model_type") || object.contains("architectures"));
}

static QkNorm qk_norm_of(const HfConfig& config, std::string_view model_type) {
  for (std::string_view family : {"qwen3", "gemma3", "gemma4", "exaone4", "lfm2", "afmoe", "step3p5"}) {
    if (model_type.starts_with(family)) return QkNorm::head;
  }
  if (model_type == "olmo2" || model_type == "olmo3") return QkNorm::all_heads;
  if (!config.is_true("use_qk_norm")) return QkNorm::none;
  return config.text("qk_norm_type") == "per_layer" ? QkNorm::all_heads : QkNorm::head;
}

Json model_of_hugging_face(const Json& object, const std::string& name, const std::string& place) {
  const Json& text = text_part(object);
  const bool nested = &text != &object;
  Json merged = text;
  if (nested) {  // keys that only the outer object has
    for (const char* key : {"quantization_config", "tie_word_embeddings", "torch_dtype", "dtype",
                            "model_type", "architectures", "vocab_size"}) {
      if (object.contains(key) && !merged.contains(key)) merged[key] = object[key];
    }
  }
  HfConfig config(merged, nested ? place + ": text_config" : place);
  const HfFamily& family = family_of(config);
  config.add_defaults(nested ? class_defaults(family) : family.defaults);
  const int64_t hidden = config.positive({"hidden_size", "n_embd"});
  const int64_t heads = config.positive({"num_attention_heads", "n_head"});
  const int64_t layers = layer_count(config);
  std::string own_name = config.text("_name_or_path");
  own_name = own_name.substr(own_name.find_last_of('/') + 1);

  Json model = Json::object();
  model["name"] = own_name.empty() ? name : own_name;
  model["num_hidden_layers"] = layers;
  model["hidden_size"] = hidden;
  model["num_attention_heads"] = heads;
  model["num_key_value_heads"] = key_value_heads(config, family.model_type, heads);
  if (config.find({"head_dim", "attention_head_dim"})) {
    model["head_dim"] = config.positive({"head_dim", "attention_head_dim"});
  }
  model["intermediate_size"] = ffn_width(config, family, hidden);
  model["vocab_size"] = config.positive({"vocab_size", "padded_vocab_size"});
  model["max_position_embeddings"] = config.positive(
      {"model_max_length", "max_position_embeddings", "seq_length", "max_sequence_length", "n_positions"});
  const Json* dtype = config.find({"torch_dtype", "dtype"});
  // Engines cast 32-bit checkpoints to 16 bits (vLLM and SGLang: --dtype auto).
  if (dtype && *dtype != "auto") model["torch_dtype"] = *dtype == "float32" ? Json("float16") : *dtype;
  const bool alibi = config.is_true("alibi");
  const PositionEncoding position = alibi ? PositionEncoding::alibi : family.position_encoding;
  model["ffn"] = kFfnNames[static_cast<std::size_t>(family.ffn)];
  model["position_encoding"] = kPositionNames[static_cast<std::size_t>(position)];
  const QkNorm qk_norm = qk_norm_of(config, family.model_type);
  if (qk_norm != QkNorm::none) model["qk_norm"] = kQkNormNames[static_cast<std::size_t>(qk_norm)];
  if (config.is_true("attn_output_gate") || family.model_type == "afmoe")
    model["attention_output_gate"] = true;
  if (!config.is_true("use_cla")) config.find({"use_cla", "cla_share_factor"});
  const char* tie = config.has("tie_word_embeddings") ? "tie_word_embeddings" : "tie_embedding";
  model["tie_word_embeddings"] = config.has(tie) ? config.is_true(tie) : family.ties_embeddings;
  add_latent_attention(config, model);
  const std::vector<Mixer> mixers = mixers_of(config, family.layers, layers);
  const std::vector<LayerFfn> ffns = ffns_of(config, family.layers, layers);
  add_layer_groups(config, family.layers, mixers, model);
  add_experts(config, family.layers, ffns, model);
  add_quantisation(config, mixers, ffns, model);
  const Json* vision = vision_part(object);
  const double seen = (vision ? vision_parameters_of(*vision, hidden, text_of(object, "model_type")) : 0) +
                      image_expert_parameters(config, ffns);
  if (seen > 0) {
    model["vision_parameters"] = seen;
  } else if (vision || object.contains("img_processor")) {
    const std::string told = place + ": its image encoder is not counted";
    warn(told);
    model["notes"].push_back(told);
  }
  const int64_t drafts =
      config.integer({"num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules"}, 0);
  if (drafts > 0) model["draft_layers"] = drafts;
  model["source"] = "Hugging Face config.json, model_type " + std::string(family.model_type);
  tell_unread(config);
  return model;
}

}  // namespace kvcap
