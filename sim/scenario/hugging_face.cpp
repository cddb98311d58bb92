// A Hugging Face config.json as our model file. The families agree on the shapes and differ in the names.
#include <algorithm>

#include "base/input_error.h"
#include "base/warning.h"
#include "scenario/fields.h"
#include "scenario/hf_config.h"

namespace kvcap {
namespace {

struct Family {
  std::string_view model_type;
  std::string_view architecture;  // first part of the entry in "architectures"
  FfnKind ffn = FfnKind::gated;
  PositionEncoding position_encoding = PositionEncoding::rope;
  bool ties_embeddings = false;  // where the config does not say
  LayerRule layers = LayerRule::uniform;
  // What the family's configuration class in transformers has where the file is silent.
  std::string_view defaults = "{}";
};

constexpr FfnKind kGated = FfnKind::gated, kPlain = FfnKind::plain;
constexpr PositionEncoding kRope = PositionEncoding::rope;

constexpr std::string_view kFalconDefaults = R"({"max_position_embeddings": 2048})";
constexpr std::string_view kGemma3Defaults =
    R"({"vocab_size": 262208, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
        "sliding_window": 4096, "sliding_window_pattern": 6, "max_position_embeddings": 131072})";
constexpr std::string_view kNextDefaults = R"({"full_attention_interval": 4})";

constexpr Family kFamilies[] = {
    {"llama", "Llama", kGated, kRope, false, LayerRule::uniform, R"({"max_position_embeddings": 2048})"},
    {"llama4", "Llama4", kGated, kRope, false, LayerRule::llama4},
    {"llama4_text", "Llama4", kGated, kRope, false, LayerRule::llama4, R"({"no_rope_layer_interval": 4})"},
    {"mistral", "Mistral", kGated, kRope, false, LayerRule::sliding},
    {"mistral3", "Mistral3", kGated, kRope, false, LayerRule::sliding},
    {"mixtral", "Mixtral", kGated, kRope, false, LayerRule::sliding},
    {"qwen", "QWen"},
    {"qwen2", "Qwen2", kGated, kRope, false, LayerRule::optional_sliding,
     R"({"max_position_embeddings": 32768})"},
    {"qwen2_moe", "Qwen2Moe", kGated, kRope, false, LayerRule::optional_sliding},
    {"qwen3", "Qwen3", kGated, kRope, false, LayerRule::optional_sliding},
    {"qwen3_moe", "Qwen3Moe", kGated, kRope, false, LayerRule::optional_sliding},
    {"qwen3_next", "Qwen3Next", kGated, kRope, false, LayerRule::interval, kNextDefaults},
    {"qwen3_5", "Qwen3_5", kGated, kRope, false, LayerRule::interval, kNextDefaults},
    {"qwen3_5_text", "Qwen3_5", kGated, kRope, false, LayerRule::interval, kNextDefaults},
    {"qwen3_5_moe", "Qwen3_5Moe", kGated, kRope, false, LayerRule::interval, kNextDefaults},
    {"qwen3_5_moe_text", "Qwen3_5Moe", kGated, kRope, false, LayerRule::interval, kNextDefaults},
    {"gemma2", "Gemma2", kGated, kRope, true, LayerRule::alternating},
    {"gemma3", "Gemma3", kGated, kRope, true, LayerRule::pattern, kGemma3Defaults},
    {"gemma3_text", "Gemma3", kGated, kRope, true, LayerRule::pattern, kGemma3Defaults},
    {"gemma4", "Gemma4", kGated, kRope, true, LayerRule::gemma4},
    {"gemma4_text", "Gemma4", kGated, kRope, true, LayerRule::gemma4},
    {"gpt_oss", "GptOss", kGated, kRope, false, LayerRule::alternating},
    {"deepseek", "Deepseek"},
    {"deepseek_v2", "DeepseekV2"},
    {"deepseek_v3", "DeepseekV3"},
    {"deepseek_v32", "DeepseekV32"},
    {"kimi_k2", "DeepseekV3"},
    {"kimi_k25", "KimiK25"},
    {"kimi_linear", "KimiLinear", kGated, kRope, false, LayerRule::kimi_linear},
    {"glm4", "Glm4"},
    {"glm4_moe", "Glm4Moe"},
    {"glm_moe_dsa", "GlmMoeDsa"},
    {"minimax_m2", "MiniMaxM2", kGated, kRope, false, LayerRule::minimax},
    {"minimax_m1", "MiniMaxM1", kGated, kRope, false, LayerRule::minimax},
    {"minimax_text_01", "MiniMaxText01", kGated, kRope, false, LayerRule::minimax},
    {"nemotron_h", "NemotronH", kPlain, kRope, false, LayerRule::nemotron_h},
    {"jamba", "Jamba", kGated, PositionEncoding::alibi, false, LayerRule::jamba},
    {"granitemoehybrid", "GraniteMoeHybrid", kGated, kRope, false, LayerRule::granite},
    {"phi", "Phi", kPlain},
    {"phi3", "Phi3", kGated, kRope, false, LayerRule::sliding},
    {"opt", "OPT", kPlain, PositionEncoding::absolute, true, LayerRule::uniform,
     R"({"max_position_embeddings": 2048})"},
    {"falcon", "Falcon", kPlain, kRope, true, LayerRule::uniform, kFalconDefaults},
    {"RefinedWeb", "RW", kPlain, kRope, true, LayerRule::uniform, kFalconDefaults},
    {"RefinedWebModel", "RW", kPlain, kRope, true, LayerRule::uniform, kFalconDefaults},
};

// Keys that change neither what a context takes nor how long a step lasts.
bool is_harmless(std::string_view key) {
  constexpr std::string_view kKeys[] = {"architectures",
                                        "auto_map",
                                        "bos_token_id",
                                        "eos_token_id",
                                        "pad_token_id",
                                        "transformers_version",
                                        "use_cache",
                                        "model_type",
                                        "torch_dtype",
                                        "dtype",
                                        "_name_or_path",
                                        "initializer_range",
                                        "hidden_act",
                                        "hidden_activation",
                                        "activation_function",
                                        "mlp_hidden_act",
                                        "mamba_hidden_act",
                                        "rms_norm_eps",
                                        "layer_norm_eps",
                                        "layer_norm_epsilon",
                                        "norm_eps",
                                        "norm_epsilon",
                                        "rope_theta",
                                        "rope_scaling",
                                        "rope_parameters",
                                        "rope_local_base_freq",
                                        "rope_interleave",
                                        "rope_type",
                                        "partial_rotary_factor",
                                        "rotary_dim",
                                        "original_max_position_embeddings",
                                        "pretraining_tp",
                                        "query_pre_attn_scalar",
                                        "attn_logit_softcapping",
                                        "final_logit_softcapping",
                                        "output_router_logits",
                                        "router_aux_loss_coef",
                                        "router_jitter_noise",
                                        "router_logits_scaling",
                                        "norm_topk_prob",
                                        "scoring_func",
                                        "topk_method",
                                        "topk_group",
                                        "n_group",
                                        "num_expert_group",
                                        "use_grouped_topk",
                                        "routed_scaling_factor",
                                        "seq_aux",
                                        "aux_loss_alpha",
                                        "ep_size",
                                        "num_nextn_predict_layers",
                                        "num_mtp_modules",
                                        "mtp_num_hidden_layers",
                                        "chunk_size",
                                        "mamba_chunk_size",
                                        "embedding_multiplier",
                                        "attention_multiplier",
                                        "logits_scaling",
                                        "residual_multiplier",
                                        "swiglu_limit",
                                        "attention_sink",
                                        "attention_output_gate",
                                        "attn_output_gate",
                                        "return_dict",
                                        "id2label",
                                        "label2id",
                                        "is_decoder",
                                        "is_encoder_decoder",
                                        "task_specific_params",
                                        "vision_config",
                                        "audio_config",
                                        "image_token_id",
                                        "image_token_index",
                                        "video_token_id",
                                        "vision_start_token_id",
                                        "vision_end_token_id",
                                        "boi_token_index",
                                        "eoi_token_index",
                                        "mm_tokens_per_image",
                                        "attn_temperature_tuning",
                                        "floor_scale",
                                        "attn_scale",
                                        "use_qk_norm",
                                        "qk_norm_type",
                                        "qk_layernorm",
                                        "rescale_every",
                                        "time_step_limit",
                                        "time_step_min",
                                        "time_step_max",
                                        "time_step_floor",
                                        "rescale_prenorm_residual",
                                        "residual_in_fp32",
                                        "resid_pdrop",
                                        "embd_pdrop",
                                        "num_logits_to_keep",
                                        "prefix",
                                        "torchscript",
                                        "position_embedding_type",
                                        "normalization_function",
                                        "init_method",
                                        "expand",
                                        "mamba_expand",
                                        "hidden_dropout",
                                        "do_layer_norm_before",
                                        "word_embed_proj_dim",
                                        "num_ln_in_parallel_attn",
                                        "parallel_attn",
                                        "moe_renormalize",
                                        "moe_router_activation_func",
                                        "mla_use_nope",
                                        "index_topk_freq",
                                        "initial_context_length",
                                        "cache_implementation",
                                        "for_llm_compressor",
                                        "postnorm"};
  if (std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys)) return true;
  for (std::string_view part : {"dropout", "bias", "_token_id", "norm_after", "layernorm_", "_coef"}) {
    if (key.find(part) != std::string_view::npos) return true;
  }
  return key.starts_with("use_") && key != "use_sliding_window";
}

const Family& family_of(const HfConfig& config) {
  const std::string type = config.text("model_type");
  std::string architecture;
  const Json* listed = config.find({"architectures"});
  if (listed && listed->is_array() && !listed->empty() && (*listed)[0].is_string()) {
    architecture = (*listed)[0].get<std::string>();
  }
  std::vector<std::string_view> types;
  for (const Family& family : kFamilies) {
    types.push_back(family.model_type);
    if (type == family.model_type) return family;
    const bool same = architecture.starts_with(std::string(family.architecture) + "For") ||
                      architecture.starts_with(std::string(family.architecture) + "LMHead");
    if (type.empty() && same) return family;
  }
  throw InputError(config.place() + ": model_type: found \"" + (type.empty() ? architecture : type) +
                   "\", allowed: " + joined(types) + suggestion(type, types));
}

int64_t key_value_heads(const HfConfig& config, std::string_view type, int64_t heads) {
  const bool falcon = type == "falcon" || type.starts_with("RefinedWeb");
  const int64_t listed = config.integer({"num_key_value_heads", "num_kv_heads", "n_head_kv"}, heads);
  const bool has_one_head = config.is_true("multi_query");
  if (falcon && !config.is_true("new_decoder_architecture")) {
    // Falcon-7B shares one head and lists none; Falcon-40B lists n_head_kv in its older form.
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

// Falcon's and OPT's older configs leave the FFN's width out: it is four times the hidden size.
int64_t ffn_width(const HfConfig& config, const Family& family, int64_t hidden) {
  const auto keys = {std::string_view("intermediate_size"), std::string_view("ffn_dim"),
                     std::string_view("ffn_hidden_size")};
  const bool falcon = family.model_type == "falcon" || family.model_type.starts_with("RefinedWeb");
  if (falcon) return config.integer(keys, 4 * hidden);
  if (family.layers == LayerRule::nemotron_h && !config.find(keys)) {
    return config.positive({"moe_intermediate_size"});
  }
  const int64_t width = config.positive(keys);
  return family.model_type == "qwen" ? width / 2 : width;  // Qwen 1 states gate and up together
}

// Where the text model of a multimodal one stands, or the object itself.
const Json& text_part(const Json& object) {
  for (const char* key : {"text_config", "llm_config", "language_config"}) {
    const auto found = object.find(key);
    if (found != object.end() && found->is_object()) return *found;
  }
  return object;
}

void warn_of_unread(const HfConfig& config) {
  std::string keys;
  for (const std::string& key : config.unread()) {
    const Json& value = config.json()[key];
    const bool is_off = (value.is_boolean() && !value.get<bool>()) || value == 0;
    if (!is_off && !is_harmless(key)) keys += (keys.empty() ? "" : ", ") + key;
  }
  if (!keys.empty()) {
    warn(config.place() + ": keys that are not understood and may change sizes or times: " + keys);
  }
}

}  // namespace

bool is_hugging_face(const Json& object) {
  return object.is_object() && (object.contains("model_type") || object.contains("architectures"));
}

static QkNorm qk_norm_of(const HfConfig& config, std::string_view model_type) {
  for (std::string_view family : {"qwen3", "gemma3", "gemma4"}) {
    if (model_type.starts_with(family)) return QkNorm::head;
  }
  if (!config.is_true("use_qk_norm")) return QkNorm::none;
  return config.text("qk_norm_type") == "per_layer" ? QkNorm::all_heads : QkNorm::head;
}

Json model_of_hugging_face(const Json& object, const std::string& name, const std::string& place) {
  const Json& text = text_part(object);
  const bool nested = &text != &object;
  Json merged = text;
  if (nested) {  // what only the outer object says
    for (const char* key : {"quantization_config", "tie_word_embeddings", "torch_dtype", "dtype",
                            "model_type", "architectures", "vocab_size"}) {
      if (object.contains(key) && !merged.contains(key)) merged[key] = object[key];
    }
  }
  HfConfig config(merged, nested ? place + ": text_config" : place);
  const Family& family = family_of(config);
  config.add_defaults(family.defaults);
  const int64_t hidden = config.positive({"hidden_size", "n_embd"});
  const int64_t heads = config.positive({"num_attention_heads", "n_head"});
  std::string own_name = config.text("_name_or_path");
  own_name = own_name.substr(own_name.find_last_of('/') + 1);

  Json model = Json::object();
  model["name"] = own_name.empty() ? name : own_name;
  model["num_hidden_layers"] = config.positive({"num_hidden_layers", "n_layer"});
  model["hidden_size"] = hidden;
  model["num_attention_heads"] = heads;
  model["num_key_value_heads"] = key_value_heads(config, family.model_type, heads);
  if (config.find({"head_dim", "attention_head_dim"})) {
    model["head_dim"] = config.positive({"head_dim", "attention_head_dim"});
  }
  model["intermediate_size"] = ffn_width(config, family, hidden);
  model["vocab_size"] = config.positive({"vocab_size"});
  model["max_position_embeddings"] = config.positive({"max_position_embeddings", "seq_length"});
  const Json* dtype = config.find({"torch_dtype", "dtype"});
  if (dtype) model["torch_dtype"] = *dtype;
  const bool alibi = config.is_true("alibi");
  const PositionEncoding position = alibi ? PositionEncoding::alibi : family.position_encoding;
  model["ffn"] = kFfnNames[static_cast<std::size_t>(family.ffn)];
  model["position_encoding"] = kPositionNames[static_cast<std::size_t>(position)];
  const QkNorm qk_norm = qk_norm_of(config, family.model_type);
  if (qk_norm != QkNorm::none) model["qk_norm"] = kQkNormNames[static_cast<std::size_t>(qk_norm)];
  const bool said = config.has("tie_word_embeddings");
  model["tie_word_embeddings"] = said ? config.is_true("tie_word_embeddings") : family.ties_embeddings;
  add_latent_attention(config, model);
  add_layer_groups(config, family.layers, model);
  add_experts(config, family.layers, model);
  add_quantisation(config, model);
  model["source"] = "Hugging Face config.json, model_type " + std::string(family.model_type);
  warn_of_unread(config);
  return model;
}

}  // namespace kvcap
