// One config.json of each family, with what it must come to. The files hold the shapes that the publishers'
// have; parameters are those of the model cards.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/input_error.h"
#include "scenario/load.h"
#include "scenario/model_reading.h"
#include "spec/model_spec.h"

namespace kvcap::hugging_face_test {
namespace {

namespace fs = std::filesystem;

struct Expected {
  const char* file;
  double billions;  // parameters; 0: not checked
  double kv_bytes_per_token;
  double window_bytes;  // of 100,000 tokens
  double state_bytes;
};

constexpr double kMiB = 1024.0 * 1024.0;
constexpr double kDelta = 1'097'728;  // 32 value and 16 key heads of 128, in 16 bits: 1 MiB + 48 KiB

const Expected kExpected[] = {
    {"llama-2-7b", 6.74, 524'288, 0, 0},
    {"llama-3.1-8b", 8.03, 131'072, 0, 0},
    // 100,000 tokens are 1,696 into their 13th chunk, in 36 layers of 4096 bytes a token.
    {"llama-4-scout", 107.8, 49'152, 36.0 * 4'096 * 1'696, 0},
    {"llama-4-maverick", 400.7, 49'152, 36.0 * 4'096 * 1'696, 0},
    {"mistral-7b-v0.1", 7.24, 0, 32.0 * 4'096 * 4'096, 0},
    {"mixtral-8x7b", 46.7, 131'072, 0, 0},
    {"qwen2.5-7b", 7.61, 57'344, 0, 0},
    {"qwen1.5-moe-a2.7b", 14.3, 196'608, 0, 0},
    {"qwen3-8b", 8.19, 147'456, 0, 0},
    {"qwen3-30b-a3b", 30.5, 98'304, 0, 0},
    {"qwen3-next-80b-a3b", 79.7, 24'576, 0, 36 * kDelta},
    {"qwen3.5-27b", 0, 65'536, 0, 48.0 * (48 * 128 * 128 * 4 + (2 * 16 + 48) * 128 * 3 * 2)},
    {"gemma-2-9b", 9.24, 21.0 * 8'192, 21.0 * 8'192 * 4'096, 0},
    {"gemma-3-27b", 27.0, 81'920, 416 * kMiB, 0},
    // Engines keep keys and values apart, although the 5 full layers compute them alike.
    {"gemma-4-26b-a4b", 25.2, 20'480, 200 * kMiB, 0},
    {"gpt-oss-20b", 20.9, 24'576, 3'145'728, 0},
    {"gpt-oss-120b", 116.8, 36'864, 4'718'592, 0},
    {"deepseek-v2-lite", 15.7, 27.0 * 576 * 2, 0, 0},
    {"deepseek-v3", 671, 70'272, 0, 0},
    {"deepseek-v3.2", 671, 70'272 + 61 * 132, 0, 0},
    {"kimi-k2", 1'026, 70'272, 0, 0},
    {"kimi-linear-48b-a3b", 49.1, 8'064, 0, 20.0 * (32 * 128 * 128 * 4 + 3 * 32 * 128 * 3 * 2)},
    {"glm-4.5", 353, 376'832, 0, 0},
    {"minimax-m2", 228.7, 253'952, 0, 0},
    {"minimax-text-01", 456, 40'960, 0, 70.0 * 64 * 128 * 128 * 2},
    {"nemotron-3-nano-30b-a3b", 31.6, 6'144, 0, 23.0 * (64 * 64 * 128 * 4 + (64 * 64 + 2 * 8 * 128) * 3 * 2)},
    {"jamba-v0.1", 51.6, 16'384, 0, 28.0 * (8'192 * 16 * 2 + 8'192 * 3 * 2)},
    {"granite-4.0-h-small", 32.2, 16'384, 0, 36.0 * (128 * 64 * 128 * 2 + (128 * 64 + 2 * 128) * 3 * 2)},
    {"phi-4", 14.66, 204'800, 0, 0},
    {"opt-30b", 30.0, 1'376'256, 0, 0},
    {"falcon-40b", 41.3, 122'880, 0, 0},
};

std::string path_of(const std::string& name) {
  return (fs::path(KVCAP_SOURCE_DIR) / "tests/data/configs" / (name + ".json")).string();
}

class HuggingFaceConfig : public testing::TestWithParam<Expected> {};

TEST_P(HuggingFaceConfig, HasItsBytesAndParametersAndWarnsOfNothing) {
  const Expected& expected = GetParam();
  testing::internal::CaptureStderr();
  const ModelSpec model = load_model(path_of(expected.file));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(model.kv_bytes_per_token(), expected.kv_bytes_per_token);
  EXPECT_EQ(model.window_bytes(100'000), expected.window_bytes);
  EXPECT_EQ(model.recurrent_state_bytes(), expected.state_bytes);
  if (expected.billions > 0) {
    EXPECT_NEAR(model.parameter_count() / 1e9, expected.billions, 0.015 * expected.billions);
  }
}

std::string name_of(const testing::TestParamInfo<Expected>& info) {
  std::string name = info.param.file;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(Families, HuggingFaceConfig, testing::ValuesIn(kExpected), name_of);

TEST(HuggingFaceConfigs, AreAllExpectedSomewhere) {
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(KVCAP_SOURCE_DIR) / "tests/data/configs")) {
    files += entry.path().extension() == ".json";
  }
  EXPECT_EQ(files, std::size(kExpected));
}

// A config.json of a tiny model with these further keys.
class TinyConfig : public testing::Test {
 protected:
  void TearDown() override { fs::remove(file_); }
  std::string written(const std::string& type, const std::string& keys) {
    std::ofstream(file_) << R"({"model_type": ")" + type + R"(", "hidden_size": 64, "num_hidden_layers": 4,
      "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 100,
      "max_position_embeddings": 4096, "torch_dtype": "bfloat16")" +
                                (keys.empty() ? "" : ", " + keys) + "}";
    return file_;
  }
  ModelSpec model(const std::string& type, const std::string& keys) {
    return load_model(written(type, keys));
  }
  std::string error(const std::string& type, const std::string& keys) {
    try {
      model(type, keys);
    } catch (const InputError& e) {
      return std::string(e.what()).substr(file_.size());
    }
    return "";
  }
  std::string warning(const std::string& type, const std::string& keys) {
    testing::internal::CaptureStderr();
    model(type, keys);
    return testing::internal::GetCapturedStderr();
  }
  std::string file_ =
      (fs::temp_directory_path() / ("kvcap_config_" + std::to_string(getpid()) + ".json")).string();
};

TEST_F(TinyConfig, StopsAtAKeyThatMayChangeSizesUnlessTheUserAssumesThatItDoesNot) {
  const std::string keys = R"("kv_compression": 4, "rope_theta": 1e4, "alien_layers": [1])";
  const std::string told = ": unknown keys that may change sizes or times: ";
  EXPECT_EQ(error("llama", keys),
            told +
                "kv_compression, alien_layers; --assume kv_compression,alien_layers ignores "
                "them");
  // Llama has no sliding window that its readers know of.
  EXPECT_EQ(error("llama", R"("sliding_window": 512)"),
            told + "sliding_window; --assume sliding_window ignores them");
  EXPECT_EQ(error("llama", R"("sliding_window": null, "attention_bias": true, "alien_layers": [])"), "");
  model_reading().assumed_keys = {"alien_layers", "other,kv_compression"};
  EXPECT_EQ(error("llama", keys), "");
  model_reading().assumed_keys.clear();
  // What can hardly matter is told, and read.
  EXPECT_EQ(warning("llama", R"("zebra": 3)"),
            "kvcap: warning: " + file_ +
                ": unknown keys, ignored because their names do not suggest sizes: zebra\n");
}

TEST_F(TinyConfig, OfAnUnknownFamilyIsReadAsTheOneThatTheUserNames) {
  EXPECT_EQ(error("deepseek_v4", "").substr(0, 74),
            ": model_type: found \"deepseek_v4\", which is not simulated: its attention k");
  EXPECT_NE(error("lama", "").find("did you mean \"llama\"?"), std::string::npos);
  model_reading().as_family = "llama";
  EXPECT_EQ(model("nobody_knows", "").kv_bytes_per_token(), 4.0 * 2 * 2 * 16 * 2);
  model_reading().as_family = "";
}

TEST_F(TinyConfig, WithMoreLayersThanAnyModelIsRefusedBeforeAnyLoop) {
  EXPECT_EQ(error("llama", R"("n_layer": 1)"), "");
  std::ofstream(file_) << R"({"model_type": "jamba", "hidden_size": 64, "num_hidden_layers": 10000000000,
    "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 100, "max_position_embeddings": 4096})";
  EXPECT_THROW(load_model(file_), InputError);
}

TEST_F(TinyConfig, InsideAMultimodalOneMayLeaveOutWhatItsClassHas) {
  std::ofstream(file_) << R"({"model_type": "llava", "torch_dtype": "float16",
    "text_config": {"model_type": "llama", "vocab_size": 32064, "max_position_embeddings": 4096}})";
  const ModelSpec text = load_model(file_);
  EXPECT_EQ(text.kv_bytes_per_token(), 32.0 * 2 * 32 * 128 * 2);  // Llama's class: 32 layers, 32 heads of 128
  EXPECT_EQ(text.intermediate_size, 11008);
  EXPECT_EQ(text.max_position_embeddings, 4096);
  std::ofstream(file_) << R"({"model_type": "llama", "vocab_size": 32064})";
  EXPECT_THROW(load_model(file_), InputError);  // a file of its own has to say it
}

TEST_F(TinyConfig, ListsOnlyLayersThatItHas) {
  const std::string experts = R"("num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32, )";
  EXPECT_EQ(error("qwen3_moe", experts + R"("mlp_only_layers": [4])"),
            ": mlp_only_layers: found layer 4, allowed: layers from 0 to 3");
  EXPECT_EQ(error("qwen3_moe", experts + R"("mlp_only_layers": [-1])"),
            ": mlp_only_layers: found layer -1, allowed: layers from 0 to 3");
}

TEST_F(TinyConfig, OfMiMoHasSlidingLayersWithHeadsOfTheirOwn) {
  const ModelSpec mimo = model("mimo_v2_flash", R"("head_dim": 24, "v_head_dim": 16, "sliding_window": 128,
    "swa_num_attention_heads": 4, "swa_num_key_value_heads": 4, "swa_head_dim": 24, "swa_v_head_dim": 16,
    "hybrid_layer_pattern": [0, 1, 1, 1])");
  EXPECT_EQ(mimo.kv_bytes_per_token(), 2.0 * (24 + 16) * 2);           // one full layer of 2 heads
  EXPECT_EQ(mimo.window_bytes(1'000), 3.0 * 128 * 4 * (24 + 16) * 2);  // three of 4 heads
}

TEST_F(TinyConfig, OfNemotronNasHasLayersOfDifferentHeadsAndWidths) {
  std::ofstream(file_) << R"({"model_type": "nemotron-nas", "hidden_size": 512, "num_hidden_layers": 3,
    "num_attention_heads": 8, "num_key_value_heads": null, "intermediate_size": null, "vocab_size": 100,
    "max_position_embeddings": 4096, "torch_dtype": "bfloat16", "block_configs": [
      {"attention": {"n_heads_in_group": 4, "no_op": false}, "ffn": {"ffn_mult": 1.5, "no_op": false}},
      {"attention": {"n_heads_in_group": 2, "no_op": false}, "ffn": {"ffn_mult": 3.0, "no_op": false}},
      {"attention": {"n_heads_in_group": null, "no_op": true}, "ffn": {"ffn_mult": null, "no_op": true}}]})";
  const ModelSpec nas = load_model(file_);
  EXPECT_EQ(nas.kv_bytes_per_token(), 2.0 * (2 + 4) * 64 * 2);
  EXPECT_EQ(nas.layers_with_ffn(), 2);
  EXPECT_EQ(nas.intermediate_size, (512 + 1024) / 2);  // 2/3 of 1.5 and 3 times 512
}

TEST_F(TinyConfig, WithAWindowOfNothingHasNone) {
  EXPECT_TRUE(model("mistral", R"("sliding_window": 0)").is_uniform());
  EXPECT_TRUE(model("mistral", R"("sliding_window": -1)").is_uniform());
}

TEST_F(TinyConfig, KeepsEverythingWhereItsWindowIsLongerThanItsContext) {
  EXPECT_TRUE(model("phi3", R"("sliding_window": 8192)").is_uniform());
  EXPECT_EQ(model("phi3", R"("sliding_window": 2048)").kv_bytes_per_token(), 0);
}

TEST_F(TinyConfig, OfThirtyTwoBitsIsServedInSixteen) {
  const ModelSpec cast = model("llama", R"("dtype": "float32")");
  EXPECT_EQ(cast.weight_bytes_per_element, 2);
  EXPECT_EQ(cast.kv_bytes_per_element, 2);
}

TEST_F(TinyConfig, ProjectsQueriesTwiceWhereTheirOutputHasAGate) {
  const ModelSpec gated = model("llama", R"("attn_output_gate": true)");
  // 4 layers of 4 heads of 16 on a width of 64.
  EXPECT_EQ(gated.parameter_count() - model("llama", "").parameter_count(), 4.0 * 64 * 4 * 16);
}

TEST_F(TinyConfig, HasExpertsThatWorkOnANarrowerWidth) {
  const std::string keys = R"("num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32)";
  const double whole = model("qwen3_moe", keys).parameter_count();
  const double latent = model("qwen3_moe", keys + R"(, "moe_latent_size": 16)").parameter_count();
  // Of each of 4 layers: 8 experts of three matrices of 32 on 64 or 16, and the way down to 16 and back.
  EXPECT_EQ(latent - whole, 4.0 * (8 * 3 * 32 * (16 - 64) + 2 * 64 * 16));
}

TEST_F(TinyConfig, CountsItsVisionTowerAndNotTheLayersThatDraft) {
  std::ofstream(file_) << R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text",
    "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 128,
    "vocab_size": 100, "max_position_embeddings": 4096, "num_nextn_predict_layers": 1},
    "vision_config": {"hidden_size": 32, "num_hidden_layers": 2, "intermediate_size": 48, "patch_size": 2}})";
  const ModelSpec seen = load_model(file_);
  // Two layers of four projections and two matrices, patches of 2 x 2 in three colours, a projector.
  EXPECT_EQ(seen.vision_parameters, 2.0 * (4 * 32 * 32 + 2 * 32 * 48) + 32 * 3 * 2 * 2 + 32 * 32 + 32 * 64);
  EXPECT_EQ(seen.draft_layers, 1);
  EXPECT_GT(seen.draft_parameter_count(), 0);
  ModelSpec without = seen;
  without.vision_parameters = 0;
  EXPECT_EQ(seen.weight_bytes() - without.weight_bytes(), 2 * seen.vision_parameters);
  without.draft_layers = 0;
  EXPECT_EQ(without.parameter_count(), seen.parameter_count() - seen.vision_parameters);
}

TEST_F(TinyConfig, NeedsWhatItsRuleNeeds) {
  EXPECT_EQ(error("gemma4", ""), ": layer_types: missing, required");
  EXPECT_EQ(error("gpt_oss", ""), ": sliding_window: missing, required");
  EXPECT_EQ(error("nemotron_h", ""), ": hybrid_override_pattern: missing, required");
  EXPECT_EQ(
      error("nemotron_h", R"("hybrid_override_pattern": "M*XE")"),
      ": hybrid_override_pattern: found 'X', allowed: M (Mamba-2), * (attention), - (FFN), E (experts)");
  EXPECT_EQ(error("qwen3_next", ""), ": linear_num_value_heads: missing, required");
  EXPECT_EQ(error("qwen3", R"("layer_types": ["full_attention"])"),
            ": layer_types: found 1 entries, allowed: a list of num_hidden_layers = 4 texts");
  EXPECT_EQ(error("mixtral", R"("num_local_experts": 8)"), ": num_experts_per_tok: missing, required");
}

TEST_F(TinyConfig, OfQwenSlidesFromALayerOnWhereItSaysSo) {
  const std::string window = R"("sliding_window": 128, "max_window_layers": 1, "use_sliding_window": )";
  EXPECT_TRUE(model("qwen2", window + "false").is_uniform());
  const ModelSpec slides = model("qwen2", window + "true");
  ASSERT_EQ(slides.layer_groups.size(), 2U);
  EXPECT_EQ(slides.layer_groups[0].layers, 1);
  EXPECT_EQ(slides.layer_groups[1].layers, 3);
  EXPECT_EQ(slides.window_bytes(1'000), 3.0 * 128 * 2 * 2 * 16 * 2);
}

TEST_F(TinyConfig, SaysHowQueriesAndKeysAreNormed) {
  EXPECT_EQ(model("llama", "").qk_norm, QkNorm::none);
  EXPECT_EQ(model("qwen3", "").qk_norm, QkNorm::head);
  EXPECT_EQ(model("glm4", R"("use_qk_norm": true)").qk_norm, QkNorm::head);
  EXPECT_EQ(model("glm4", R"("use_qk_norm": false)").qk_norm, QkNorm::none);
  EXPECT_EQ(model("glm4", R"("use_qk_norm": true, "qk_norm_type": "per_layer")").qk_norm, QkNorm::all_heads);
}

TEST_F(TinyConfig, CountsLayersWithoutExperts) {
  const std::string experts = R"("num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32, )";
  // Layers 1 and 3 have experts, and layer 3 is listed as dense.
  EXPECT_EQ(model("qwen3_moe", experts + R"("decoder_sparse_step": 2)").experts->dense_layers, 2);
  EXPECT_EQ(model("qwen3_moe", experts + R"("decoder_sparse_step": 2, "mlp_only_layers": [3])")
                .experts->dense_layers,
            3);
  EXPECT_FALSE(model("qwen3_moe", experts + R"("decoder_sparse_step": 8)").experts);
}

TEST_F(TinyConfig, HasExpertsAtTheOffsetOfEachPeriod) {
  const auto dense_layers = [&](const std::string& period, const std::string& offset) {
    return model("qwen3_moe", R"("num_experts": 8, "num_experts_per_tok": 2, "expert_layer_period": )" +
                                  period + R"(, "expert_layer_offset": )" + offset)
        .experts->dense_layers;
  };
  EXPECT_EQ(dense_layers("3", "1"), 3);  // layer 1 of four
  EXPECT_EQ(dense_layers("3", "0"), 2);  // layers 0 and 3
  EXPECT_EQ(dense_layers("1", "0"), 0);
}

TEST_F(TinyConfig, MayBeQuantisedInAnyCommonWay) {
  const auto quantised = [&](const std::string& text) {
    return model("llama", R"("quantization_config": )" + text);
  };
  EXPECT_EQ(quantised(R"("fp8")").weight_bytes_per_element, 1);
  EXPECT_EQ(quantised(R"({"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"})")
                .weight_bytes_per_element,
            0.5625);  // 4 bits and an 8-bit scale for 16 elements
  EXPECT_EQ(quantised(R"({"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"})")
                .kv_bytes_per_element,
            1);
  const std::string compressed =
      R"({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": 4,
      "type": "int"}, "input_activations": null}}, "kv_cache_scheme": {"num_bits": 8, "type": "float"}})";
  EXPECT_EQ(quantised(compressed).weight_bytes_per_element, 0.5);
  EXPECT_EQ(quantised(compressed).embedding_bytes_per_element, 2);
  EXPECT_EQ(quantised(compressed).gemm_input_bytes_per_element(), 2);
  EXPECT_EQ(quantised(compressed).kv_bytes_per_element, 1);
  EXPECT_EQ(error("llama", R"("quantization_config": {"quant_method": "modelopt", "quant_algo": "INT3"})"),
            ": quantization_config: quant_algo: found \"INT3\", allowed: FP8, FP8_PB_WO, MXFP8, INT8_SQ, "
            "W8A16, NVFP4, "
            "W4A16_NVFP4, W4A8_NVFP4_FP8, MXFP4, W4A16_AWQ, W4A8_AWQ, MIXED_PRECISION");
  EXPECT_EQ(error("llama", R"("quantization_config": 8)"),
            ": quantization_config: found 8, allowed: an object or a text");
}

TEST_F(TinyConfig, StoresScalesAndZerosBesideItsIntegers) {
  const auto bytes = [&](const std::string& text) {
    return model("llama", R"("quantization_config": )" + text).weight_bytes_per_element;
  };
  // 4 bits; a scale of 16 bits and a zero point of 4 for 128 elements.
  EXPECT_EQ(bytes(R"({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true})"),
            0.5 + (2 + 0.5) / 128);
  EXPECT_EQ(
      bytes(R"({"quant_method": "gptq", "bits": 8, "group_size": 64, "sym": true, "zero_point": false})"),
      1 + 2.0 / 64);
  EXPECT_EQ(bytes(R"({"quant_method": "fp8", "weight_block_size": [128, 128]})"), 1 + 4.0 / (128 * 128));
  EXPECT_EQ(bytes(R"({"quant_method": "compressed-tensors", "config_groups": {"g": {"targets": ["Linear"],
      "weights": {"num_bits": 4, "type": "int", "group_size": 32, "symmetric": true}}}})"),
            0.5 + 2.0 / 32);
  EXPECT_EQ(error("llama", R"("quantization_config": {"quant_method": "exl9"})").substr(0, 54),
            ": quantization_config: quant_method: found \"exl9\", all");
}

TEST_F(TinyConfig, OfGptqStoresSomeModulesInOtherBits) {
  const auto bytes = [&](const std::string& more) {
    return model("llama", R"("quantization_config": {"quant_method": "gptq", "bits": 4, "sym": true,
      "zero_point": false, )" +
                              more + "}");
  };
  EXPECT_EQ(bytes(R"("group_size": -1)").weight_bytes_per_element, 0.5);  // a scale for a whole channel
  const ModelSpec left = bytes(R"("group_size": -1, "dynamic": {"-:.*attn.*": {}})");
  EXPECT_EQ(left.attention_weight_bytes_per_element, 2);
  EXPECT_EQ(left.weight_bytes_per_element, 0.5);
  EXPECT_EQ(bytes(R"("group_size": -1, "dynamic": {"+:.*mlp.*": {"bits": 8}})").weight_bytes_per_element, 1);
  EXPECT_EQ(bytes(R"("group_size": -1, "modules_in_block_to_quantize": [["mlp.up_proj"], ["mlp.down_proj",
    "mlp.gate_proj"]])")
                .attention_weight_bytes_per_element,
            2);
  EXPECT_EQ(bytes(R"("group_size": -1, "lm_head": true)").output_bytes_per_element, 0.5);
}

TEST_F(TinyConfig, NamesItsModulesAsItsFamilyDoes) {
  const auto quantised = [&](const std::string& name) {
    return model("llama", R"("quantization_config": {"quant_method": "fp8", "modules_to_not_convert": [")" +
                              name + "\"]}");
  };
  for (const char* name : {"self_attn", "attention", "attention.wqkv", "re:.*qkv_proj"}) {
    EXPECT_GT(quantised(name).attention_weight_bytes_per_element.value_or(0), 1) << name;
  }
  for (const char* name : {"feed_forward", "feed_forward.w1", "mlp.gate_up_proj"}) {
    EXPECT_GT(quantised(name).weight_bytes_per_element, 1) << name;
  }
}

TEST_F(TinyConfig, WhoseExpressionRepeatsARepetitionIsRefused) {
  const auto said = [&](const std::string& expression) {
    return error("llama", R"("quantization_config": {"quant_method": "fp8", "ignored_layers": ["re:)" +
                              expression + "\"]}");
  };
  EXPECT_NE(said("(.*)*x").find("a regular expression that repeats no repetition"), std::string::npos);
  EXPECT_NE(said("((a|.)*)*x").find("a regular expression that repeats no repetition"), std::string::npos);
  EXPECT_NE(said("(").find("a regular expression"), std::string::npos);
  EXPECT_EQ(said(".*mlp.(gate|up)_proj.*"), "");
}

TEST_F(TinyConfig, OfErnieHasExpertsForImagesThatTextDoesNotPass) {
  const ModelSpec both = model("ernie4_5_moe_vl", R"("moe_num_experts": [8, 4], "moe_k": 2,
    "moe_intermediate_size": [32, 16], "moe_layer_start_index": [1, 1], "moe_layer_end_index": -1)");
  EXPECT_EQ(both.experts->count, 8);
  EXPECT_EQ(both.experts->intermediate_size, 32);
  EXPECT_EQ(both.vision_parameters, 3.0 * 4 * 3 * 64 * 16);  // in 3 layers
}

TEST_F(TinyConfig, KeepsSixteenBitsInWhatItsListsLeaveOut) {
  const auto quantised = [&](const std::string& list) {
    return model("qwen3_moe", R"("num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
      "mlp_only_layers": [0], "quantization_config": {"quant_method": "fp8", "modules_to_not_convert": )" +
                                  list + "}");
  };
  const ModelSpec all = quantised("[]");
  EXPECT_EQ(all.weight_bytes_per_element, 1);
  EXPECT_FALSE(all.attention_weight_bytes_per_element);
  // The router's "gate" is no gate_proj.
  EXPECT_EQ(quantised(R"(["lm_head", "model.layers.1.mlp.gate"])").weight_bytes(), all.weight_bytes());
  const ModelSpec attention = quantised(R"(["model.language_model.layers.*.self_attn*"])");
  EXPECT_EQ(attention.attention_weight_bytes_per_element, 2);
  EXPECT_EQ(attention.attention_activation_bytes_per_element, 2);
  EXPECT_EQ(attention.weight_bytes_per_element, 1);
  // Attention of 4 layers: queries and outputs of 4 heads of 16, keys and values of 2, on 64.
  EXPECT_EQ(attention.weight_bytes() - all.weight_bytes(), 4.0 * 64 * 16 * (4 + 4 + 2 + 2));
  const ModelSpec experts = quantised(R"(["re:.*mlp\\.experts.*"])");
  EXPECT_EQ(experts.experts->weight_bytes_per_element, 2);
  EXPECT_EQ(experts.weight_bytes() - all.weight_bytes(), 3.0 * 8 * 3 * 64 * 32);
  // One of the four layers' queries, a third of its attention.
  EXPECT_NEAR(*quantised(R"(["model.layers.2.self_attn.q_proj"])").attention_weight_bytes_per_element,
              1 + 1.0 / 4 / 3, 1e-9);
}

TEST_F(TinyConfig, StoresEachGroupOfTargetsAsItSays) {
  const ModelSpec mixed = model("llama", R"("quantization_config": {"quant_method": "compressed-tensors",
    "ignore": ["lm_head"], "config_groups": {
      "a": {"targets": ["re:.*mlp.*"], "weights": {"num_bits": 4, "type": "float", "group_size": 16}},
      "b": {"targets": ["re:.*self_attn.*"], "weights": {"num_bits": 8, "type": "float"},
            "input_activations": {"num_bits": 8, "type": "float"}}}})");
  EXPECT_EQ(mixed.weight_bytes_per_element, 0.5625);
  EXPECT_FALSE(mixed.activation_bytes_per_element);
  EXPECT_EQ(mixed.attention_weight_bytes_per_element, 1);
  EXPECT_EQ(mixed.attention_activation_bytes_per_element, 1);
  const ModelSpec named = model("llama", R"("quantization_config": {"quant_method": "modelopt",
    "quant_algo": "MIXED_PRECISION", "quantized_layers": {"lm_head": {"quant_algo": "FP8"},
      "model.layers.0.mlp.up_proj": {"quant_algo": "W4A16_NVFP4"}}})");
  // One of twelve FFN matrices, and the output projection.
  EXPECT_NEAR(named.weight_bytes_per_element, 2 - (2 - 0.5625) / 12, 1e-9);
  EXPECT_EQ(named.output_bytes_per_element, 1);
  EXPECT_EQ(named.embedding_bytes_per_element, 2);
}

TEST_F(TinyConfig, StoresItsKvAsItsAlgorithmSays) {
  const auto kv_bytes = [&](const std::string& algorithm) {
    return model("llama", R"("quantization_config": {"quant_method": "modelopt", "quant_algo": "FP8",
      "kv_cache_quant_algo": ")" +
                              algorithm + R"("})")
        .kv_bytes_per_element;
  };
  EXPECT_EQ(kv_bytes("INT8"), 1);
  EXPECT_EQ(kv_bytes("FP8_E4M3"), 1);
  EXPECT_EQ(kv_bytes("NVFP4"), 0.5625);
  EXPECT_EQ(kv_bytes("FP4"), 0.5625);
  EXPECT_EQ(kv_bytes("None"), 2);  // as torch_dtype
}

TEST(HuggingFaceConfigs, OfGptOssKeepFourBitsInTheirExpertsAlone) {
  const ModelSpec model = load_model(path_of("gpt-oss-20b"));
  EXPECT_EQ(model.weight_bytes_per_element, 2);
  EXPECT_EQ(model.experts->weight_bytes_per_element, 4.25 / 8);  // 4 bits and an 8-bit scale for 32 elements
  // 24 layers of 32 experts of 3 matrices of 2880 x 2880; the rest in 16 bits.
  const double experts = 24.0 * 32 * 3 * 2880 * 2880;
  EXPECT_DOUBLE_EQ(model.weight_bytes(), experts * 4.25 / 8 + (model.parameter_count() - experts) * 2);
}

}  // namespace
}  // namespace kvcap::hugging_face_test
