// Lists the supported families of Hugging Face models, the rejected families with reasons, and the keys of
// config.json files that do not change sizes.
#include <algorithm>
#include <iterator>

#include "base/input_error.h"
#include "base/text/joined.h"
#include "scenario/fields.h"
#include "scenario/hugging_face/hf_config.h"
#include "scenario/model_reading.h"

namespace kvcap {
namespace {

constexpr FfnKind kGated = FfnKind::gated, kPlain = FfnKind::plain;
constexpr PositionEncoding kRope = PositionEncoding::rope, kAlibi = PositionEncoding::alibi,
                           kAbsolute = PositionEncoding::absolute;

constexpr std::string_view kLlamaDefaults = R"({"max_position_embeddings": 2048})";
constexpr std::string_view kFalconDefaults = R"({"max_position_embeddings": 2048})";
constexpr std::string_view kGemma3Defaults =
    R"({"vocab_size": 262208, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
        "sliding_window": 4096, "sliding_window_pattern": 6, "max_position_embeddings": 131072})";
constexpr std::string_view kNextDefaults = R"({"full_attention_interval": 4, "attn_output_gate": true})";
constexpr std::string_view kQwen2Defaults = R"({"max_position_embeddings": 32768})";

using Rule = LayerRule;

constexpr HfFamily kFamilies[] = {
    {"llama", "Llama", kGated, kRope, false, Rule::uniform, kLlamaDefaults},
    {"llama4", "Llama4", kGated, kRope, false, Rule::llama4},
    {"llama4_text", "Llama4", kGated, kRope, false, Rule::llama4, R"({"no_rope_layer_interval": 4})"},
    {"mistral", "Mistral", kGated, kRope, false, Rule::sliding, R"({"max_position_embeddings": 131072})"},
    {"mistral3", "Mistral3", kGated, kRope, false, Rule::sliding},
    {"ministral", "Ministral", kGated, kRope, false, Rule::sliding},
    {"ministral3", "Ministral3", kGated, kRope, false, Rule::sliding},
    {"mixtral", "Mixtral", kGated, kRope, false, Rule::sliding},
    {"qwen", "QWen"},
    {"qwen2", "Qwen2", kGated, kRope, false, Rule::optional_sliding, kQwen2Defaults},
    {"qwen2_moe", "Qwen2Moe", kGated, kRope, false, Rule::optional_sliding},
    {"qwen2_vl", "Qwen2VL", kGated, kRope, false, Rule::optional_sliding, kQwen2Defaults},
    {"qwen2_vl_text", "Qwen2VL", kGated, kRope, false, Rule::optional_sliding, kQwen2Defaults},
    {"qwen2_5_vl", "Qwen2_5_VL", kGated, kRope, false, Rule::optional_sliding, kQwen2Defaults},
    {"qwen2_5_vl_text", "Qwen2_5_VL", kGated, kRope, false, Rule::optional_sliding, kQwen2Defaults},
    {"qwen3", "Qwen3", kGated, kRope, false, Rule::optional_sliding},
    {"qwen3_moe", "Qwen3Moe", kGated, kRope, false, Rule::optional_sliding},
    {"qwen3_vl_text", "Qwen3VL", kGated, kRope, false, Rule::optional_sliding},
    {"qwen3_vl_moe_text", "Qwen3VLMoe", kGated, kRope, false, Rule::optional_sliding},
    {"qwen3_omni_moe_text", "Qwen3OmniMoe", kGated, kRope, false, Rule::optional_sliding},
    {"qwen3_next", "Qwen3Next", kGated, kRope, false, Rule::interval, kNextDefaults},
    {"qwen3_5", "Qwen3_5", kGated, kRope, false, Rule::interval, kNextDefaults},
    {"qwen3_5_text", "Qwen3_5", kGated, kRope, false, Rule::interval, kNextDefaults},
    {"qwen3_5_moe", "Qwen3_5Moe", kGated, kRope, false, Rule::interval, kNextDefaults},
    {"qwen3_5_moe_text", "Qwen3_5Moe", kGated, kRope, false, Rule::interval, kNextDefaults},
    {"gemma", "Gemma", kGated, kRope, true},
    {"gemma2", "Gemma2", kGated, kRope, true, Rule::alternating},
    {"gemma3", "Gemma3", kGated, kRope, true, Rule::pattern, kGemma3Defaults},
    {"gemma3_text", "Gemma3", kGated, kRope, true, Rule::pattern, kGemma3Defaults},
    {"gemma4", "Gemma4", kGated, kRope, true, Rule::gemma4},
    {"gemma4_text", "Gemma4", kGated, kRope, true, Rule::gemma4},
    {"gpt_oss", "GptOss", kGated, kRope, false, Rule::alternating},
    {"deepseek", "Deepseek"},
    {"deepseek_v2", "DeepseekV2"},
    {"deepseek_v3", "DeepseekV3"},
    {"deepseek_v32", "DeepseekV32"},
    {"deepseek_vl_v2", "DeepseekVLV2"},
    {"kimi_k2", "DeepseekV3"},
    {"kimi_k25", "KimiK25"},
    {"kimi_linear", "KimiLinear", kGated, kRope, false, Rule::kimi_linear},
    {"glm", "Glm"},
    {"glm4", "Glm4"},
    {"glm4v_text", "Glm4v"},
    {"glm4_moe", "Glm4Moe"},
    {"glm4v_moe_text", "Glm4vMoe"},
    {"glm4_moe_lite", "Glm4MoeLite"},
    {"glm_moe_dsa", "GlmMoeDsa"},
    {"minimax_m2", "MiniMaxM2", kGated, kRope, false, Rule::minimax},
    {"minimax_m3", "MiniMaxM3", kGated, kRope, false, Rule::minimax},
    {"minimax_m3_vl", "MiniMaxM3VL", kGated, kRope, false, Rule::minimax},
    {"minimax_m1", "MiniMaxM1", kGated, kRope, false, Rule::minimax},
    {"minimax_text_01", "MiniMaxText01", kGated, kRope, false, Rule::minimax},
    {"mimo", "MiMo", kGated, kRope, false, Rule::optional_sliding},
    {"mimo_v2_flash", "MiMoV2Flash", kGated, kRope, false, Rule::mimo},
    {"step3p5", "Step3p5", kGated, kRope, false, Rule::step3p5},
    {"seed_oss", "SeedOss"},
    {"dots1", "Dots1", kGated, kRope, false, Rule::optional_sliding},
    {"hunyuan_v1_dense", "HunYuanDenseV1"},
    {"hunyuan_vl", "HunYuanVL"},
    {"paddleocr_vl", "PaddleOCRVL"},
    {"hunyuan_v1_moe", "HunYuanMoEV1"},
    {"ernie4_5", "Ernie4_5", kGated, kRope, true},
    {"ernie4_5_moe", "Ernie4_5_Moe", kGated, kRope, true},
    {"ernie4_5_moe_vl", "Ernie4_5_VLMoe", kGated, kRope, true},
    {"exaone", "Exaone"},
    {"exaone4", "Exaone4", kGated, kRope, false, Rule::letters},
    {"exaone_moe", "ExaoneMoE", kGated, kRope, false, Rule::letters},
    {"internlm2", "InternLM2"},
    {"internlm3", "InternLM3"},
    {"olmo", "Olmo"},
    {"olmo2", "Olmo2"},
    {"olmo3", "Olmo3", kGated, kRope, false, Rule::sliding},
    {"olmoe", "Olmoe"},
    {"bailing_moe", "BailingMoe"},
    {"bailing_moe_v2", "BailingMoeV2"},
    {"afmoe", "Afmoe", kGated, kRope, false, Rule::sliding},
    {"arcee", "Arcee", kPlain},
    {"lfm2", "Lfm2", kGated, kRope, true, Rule::lfm2},
    {"lfm2_moe", "Lfm2Moe", kGated, kRope, true, Rule::lfm2},
    {"smollm3", "SmolLM3", kGated, kRope, true},
    {"cohere", "Cohere", kGated, kRope, true},
    {"cohere2", "Cohere2", kGated, kRope, true, Rule::pattern},
    {"starcoder2", "Starcoder2", kPlain, kRope, true, Rule::sliding},
    {"stablelm", "StableLm"},
    {"baichuan", "Baichuan"},
    {"minicpm", "MiniCPM"},
    {"minicpm3", "MiniCPM3"},
    {"gpt_neox", "GPTNeoX", kPlain},
    {"nemotron", "Nemotron", kPlain},
    {"nemotron_h", "NemotronH", kPlain, kRope, false, Rule::nemotron_h},
    {"nemotron-nas", "DeciLM", kGated, kRope, false, Rule::nemotron_nas},
    {"jamba", "Jamba", kGated, kAlibi, false, Rule::jamba},
    {"falcon_h1", "FalconH1", kGated, kRope, false, Rule::falcon_h1},
    {"granite", "Granite"},
    {"granitemoe", "GraniteMoe"},
    {"granitemoehybrid", "GraniteMoeHybrid", kGated, kRope, false, Rule::granite},
    {"phi", "Phi", kPlain},
    {"phi3", "Phi3", kGated, kRope, false, Rule::sliding},
    {"phi4mm", "Phi4MM", kGated, kRope, false, Rule::sliding},
    {"phimoe", "PhiMoE", kGated, kRope, false, Rule::sliding},
    {"opt", "OPT", kPlain, kAbsolute, true, Rule::uniform, R"({"max_position_embeddings": 2048})"},
    {"falcon", "Falcon", kPlain, kRope, true, Rule::uniform, kFalconDefaults},
    {"RefinedWeb", "RW", kPlain, kRope, true, Rule::uniform, kFalconDefaults},
    {"RefinedWebModel", "RW", kPlain, kRope, true, Rule::uniform, kFalconDefaults},
};

// Defaults of the classes of text models in transformers. Multimodal files omit keys from their text_config
// that equal these defaults.
struct ClassDefaults {
  std::string_view model_type, defaults;
};
constexpr ClassDefaults kClassDefaults[] = {
    {"llama",
     R"({"hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32,
         "vocab_size": 32000, "max_position_embeddings": 2048})"},
    {"mistral",
     R"({"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
         "num_key_value_heads": 8, "vocab_size": 32000, "max_position_embeddings": 131072})"},
    {"qwen2",
     R"({"hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32, "num_attention_heads": 32,
         "num_key_value_heads": 32, "vocab_size": 151936, "max_position_embeddings": 32768})"},
    {"gemma",
     R"({"hidden_size": 3072, "intermediate_size": 24576, "num_hidden_layers": 28, "num_attention_heads": 16,
         "num_key_value_heads": 16, "head_dim": 256, "vocab_size": 256000, "max_position_embeddings": 8192})"},
    {"gemma2",
     R"({"hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26, "num_attention_heads": 8,
         "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 256000, "sliding_window": 4096,
         "max_position_embeddings": 8192})"},
    {"phi3",
     R"({"hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 32, "num_attention_heads": 32,
         "vocab_size": 32064, "max_position_embeddings": 4096})"},
};

// Families that are known but not simulated.
struct Refused {
  std::string_view model_type;
  std::string_view reason;
};
constexpr Refused kRefused[] = {
    {"deepseek_v4", "its attention keeps compressed blocks of tokens (compress_ratios)"},
    {"mamba", "none of its layers keeps keys and values"},
    {"mamba2", "none of its layers keeps keys and values"},
    {"rwkv", "none of its layers keeps keys and values"},
    {"mllama_text_model", "some of its layers attend to an image and not to the text"},
    {"mllama", "some of its layers attend to an image and not to the text"},
    {"t5", "it has an encoder"},
    {"whisper", "it has an encoder"},
    {"bert", "it generates no tokens"},
    {"gemma3n", "its layers share keys and values with others"},
};

// Keys without influence on sizes: for initialisation, training, generation and names; for parameters of
// positions and norms; and keys that repeat other keys.
constexpr std::string_view kHarmless =
    " architectures auto_map model_type torch_dtype dtype _name_or_path transformers_version use_cache"
    " bos_token_id eos_token_id pad_token_id sep_token_id decoder_start_token_id image_token_id "
    "video_token_id"
    " audio_token_id image_token_index video_token_index vision_start_token_id vision_end_token_id"
    " boi_token_index eoi_token_index boi_token_id eoi_token_id boa_token_id eoa_token_id eoa_token_index"
    " media_placeholder_token_id bad_words_ids begin_suppress_tokens suppress_tokens forced_bos_token_id"
    " forced_eos_token_id ignore_index do_sample temperature top_k top_p typical_p num_beams num_beam_groups"
    " num_return_sequences length_penalty repetition_penalty diversity_penalty no_repeat_ngram_size"
    " encoder_no_repeat_ngram_size early_stopping max_length min_length exponential_decay_length_penalty"
    " remove_invalid_values output_scores output_attentions output_hidden_states return_dict"
    " return_dict_in_generate problem_type tokenizer_class task_specific_params finetuning_task id2label"
    " label2id is_decoder is_encoder_decoder tie_encoder_decoder add_cross_attention prefix pruned_heads"
    " torchscript tf_legacy_loss use_bfloat16 chunk_size_feed_forward cross_attention_hidden_size"
    " initializer_range initializer_factor init_method embd_pdrop resid_pdrop attention_dropout "
    "hidden_dropout"
    " attn_pdrop embedding_dropout attention_probs_dropout_prob hidden_dropout_prob expert_dropout "
    "moe_dropout"
    " residual_dropout ffn_dropout emb_dropout_prob attn_dropout_prob hidden_act hidden_activation activation"
    " activation_function mlp_hidden_act mamba_hidden_act rms_norm_eps layer_norm_eps layer_norm_epsilon"
    " layernorm_epsilon norm_eps norm_epsilon norm_type normalization_function use_rmsnorm rmsnorm"
    " layernorm_compute_dtype use_gemma_norm use_layernorm use_norm norm_after"
    " rope_theta rope_scaling rope_parameters rope_local_base_freq rope_interleave rope_type rope_ratio"
    " rotary_pct rotary_emb_base rotary_emb_fraction rotary_emb_scale_base partial_rotary_factor rotary_dim"
    " rotary_percent swa_rope_theta use_mrope mrope_section use_rope rope_3d freq_allocation "
    "rope_theta_global"
    " indexer_rope_interleave original_max_position_embeddings initial_context_length full_attention_rope"
    " position_embedding_type use_alibi model_max_length max_sequence_length max_seq_len seq_len"
    " pretraining_tp query_pre_attn_scalar attn_logit_softcapping attn_logit_softcap final_logit_softcapping"
    " output_router_logits router_aux_loss_coef router_z_loss_coef router_jitter_noise router_logits_scaling"
    " router_bias router_dtype moe_router_dtype norm_topk_prob scoring_func score_func score_function"
    " moe_router_topk_scaling_factor topk_method topk_group n_group num_expert_group use_grouped_topk"
    " moe_router_enable_expert_bias moe_router_use_sigmoid moe_router_activation_func "
    "moe_router_scaling_factor"
    " routed_scaling_factor route_scale route_norm load_balance_coeff seq_aux aux_loss_alpha ep_size"
    " use_routing_bias use_expert_bias moe_use_aux_free moe_norm_min moe_gate moe_gate_act moe_group_experts"
    " moe_renormalize moe_router_score_function moe_multimodal_paired_experts use_moe_router_bias "
    "moe_seperate"
    " moe_layer_feed_fp32 use_aux_free moe_drop_tokens moe_random_routing_dropped_token capacity_factor"
    " need_fp32_gate moe_router_norm_expert_weights moe_router_use_group norm_expert_weight use_moe"
    " num_nextn_predict_layers num_mtp_modules mtp_num_hidden_layers mtp_use_dedicated_embeddings use_mtp"
    " mtp_transformer_layers mtp_hybrid_override_pattern mtp_layers_block_type mtp_loss_scaling_factor"
    " index_share_for_mtp_iteration chunk_size mamba_chunk_size mamba_ssm_dtype mamba_ssm_cache_dtype"
    " use_mamba_kernels embedding_multiplier attention_multiplier logits_scaling residual_multiplier"
    " attention_in_multiplier attention_out_multiplier key_multiplier lm_head_multiplier mlp_multipliers"
    " ssm_in_multiplier ssm_out_multiplier ssm_multipliers mlp_multiplier swiglu_limit swiglu_alpha"
    " swiglu_limits swiglu_limits_shared attention_sink add_swa_attention_sink_bias"
    " add_full_attention_sink_bias attention_value_scale attn_temperature_tuning floor_scale attn_scale"
    " attn_alpha use_qk_norm qk_norm_type qk_layernorm use_k_norm qk_norm"
    " rescale_every time_step_limit time_step_min time_step_max time_step_floor time_step_rank"
    " rescale_prenorm_residual residual_in_fp32 num_logits_to_keep expand mamba_expand mamba_rms_norm"
    " mamba_norm_before_gate mamba_use_mlp do_layer_norm_before word_embed_proj_dim num_ln_in_parallel_attn"
    " parallel_attn use_parallel_residual new_decoder_architecture mla_use_nope qk_head_dim index_topk_freq"
    " index_skip_topk_offset index_topk_pattern cache_implementation for_llm_compressor postnorm use_mla"
    " attention_bias mlp_bias use_bias use_qkv_bias qkv_bias attention_out_bias add_qkv_bias bias"
    " mamba_proj_bias mamba_conv_bias use_conv_bias conv_bias add_bias_linear no_bias use_bias_in_mlp "
    "lm_head_bias"
    " vision_token_id partial_rotary_factors add_faster_video attn_implementation _attn_implementation "
    "_attn_implementation_autoset"
    " _flash_attn_2_enabled use_flash_attn use_flash_attention use_dynamic_ntk use_logn_attn no_rope_layer"
    " fp16 bf16 fp32 onnx_safe kv_channels softmax_in_fp32 scale_attn_weights attention_softmax_in_fp32"
    " attention_type use_bidirectional_attention output_gate_type moe_shared_expert_overlap moe_impl"
    " vision_config audio_config audio_processor speech_config vision_feature_layer "
    "vision_feature_select_strategy"
    " vision_soft_tokens_per_image mm_tokens_per_image multimodal_projector_bias projector_hidden_act"
    " spatial_merge_size select_layer template downsample_ratio dynamic_image_size force_image_size"
    " min_dynamic_patch max_dynamic_patch ps_version use_thumbnail use_llm_lora use_backbone_lora embd_layer"
    " img_processor projector_type tile_tag global_view_pos candidate_resolutions im_end_id im_start_id"
    " im_patch_id im_newline_id image_newline_id eod_token_id sep_id pad_id text_start_id text_end_id "
    "org_vocab_size"
    " mask_init_id dtype_plan moe_topk_scaling vocab_size_per_layer_input tokenizer_name unk_token_id"
    " resampler_kv_dim scale_depth scale_emb dim_model_base mup_enabled mup_width_multiplier dim_model"
    " bias_dropout_fusion hidden_size_per_head block_auto_adjust_ff_dim mlp_type rope_percentage "
    "no_rope_layer_list"
    " weight_tying use_cache_quantization summary_activation summary_first_dropout summary_proj_to_labels"
    " summary_type summary_use_proj block_multiple_of block_norm_eps block_use_swiglu block_use_xavier_init"
    " layernorm_full_attention_alpha layernorm_full_attention_beta layernorm_linear_attention_alpha"
    " layernorm_linear_attention_beta layernorm_mlp_alpha layernorm_mlp_beta shared_moe_mode full_attn_mod"
    " vision_lora speech_lora use_mixed_mlp_moe use_head_wise_attn_gate num_expert_groups num_limited_groups "
    "lm_head"
    " conv_use_xavier_init block_mlp_init_scale block_out_init_scale conv_dim_out conv_dim ";

constexpr std::string_view kSizeWords[] = {
    "expert",   "moe",    "head",  "rank", "window",   "gate",      "latent",  "dim",
    "size",     "layer",  "kv",    "attn", "share",    "attention", "conv",    "state",
    "compress", "sparse", "mamba", "ssm",  "interval", "freq",      "pattern", "lora",
    "mlp",      "ffn",    "index", "hash", "group",    "block",     "width",   "num_"};

[[noreturn]] void refuse(const HfConfig& config, const std::string& type, const std::string& why) {
  throw InputError(
      config.place() + ": model_type: found \"" + type + "\", " + why +
      "; describe its shape in a model file (models/format.md), or read it as another family with"
      " --as llama");
}

}  // namespace

const HfFamily& family_of(const HfConfig& config) {
  const std::string type = config.text("model_type");
  std::string architecture;
  const Json* listed = config.find({"architectures"});
  if (listed && listed->is_array() && !listed->empty() && (*listed)[0].is_string()) {
    architecture = (*listed)[0].get<std::string>();
  }
  const std::string& asked = model_reading().as_family;
  const std::string_view wanted = asked.empty() ? std::string_view(type) : std::string_view(asked);
  std::vector<std::string_view> types;
  for (const HfFamily& family : kFamilies) {
    types.push_back(family.model_type);
    if (wanted == family.model_type) return family;
    const bool same = architecture.starts_with(std::string(family.architecture) + "For") ||
                      architecture.starts_with(std::string(family.architecture) + "LMHead");
    if (wanted.empty() && same) return family;
  }
  if (!asked.empty()) {
    throw InputError("--as: found \"" + asked + "\", allowed: " + joined(types) + suggestion(asked, types));
  }
  for (const Refused& refused : kRefused) {
    if (type == refused.model_type)
      refuse(config, type, "which is not simulated: " + std::string(refused.reason));
  }
  refuse(config, type.empty() ? architecture : type,
         "allowed: one of the " + std::to_string(types.size()) + " that models/format.md lists" +
             suggestion(type, types));
}

std::string_view class_defaults(const HfFamily& family) {
  for (const ClassDefaults& one : kClassDefaults) {
    if (one.model_type == family.model_type) return one.defaults;
  }
  return family.defaults;
}

bool is_harmless_key(std::string_view key) {
  return kHarmless.find(" " + std::string(key) + " ") != std::string_view::npos;
}

bool may_change_sizes(std::string_view key) {
  return std::any_of(std::begin(kSizeWords), std::end(kSizeWords),
                     [key](std::string_view word) { return key.find(word) != std::string_view::npos; });
}

}  // namespace kvcap
