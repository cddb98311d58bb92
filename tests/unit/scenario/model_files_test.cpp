// What stands beside a config.json, where models are found by their names on Hugging Face, and published
// files against what their cards and indexes say.
#include "scenario/model_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "base/input_error.h"
#include "scenario/load.h"
#include "unit/shared_data.h"

namespace kvcap::model_files_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfig = R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 4,
  "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 100,
  "max_position_embeddings": 4096, "torch_dtype": "bfloat16", "num_nextn_predict_layers": 1})";

class ModelFolder : public testing::Test {
 protected:
  ModelFolder() { fs::create_directories(folder_); }
  ~ModelFolder() override { fs::remove_all(root_); }
  void write(const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  ModelSpec model() {
    testing::internal::CaptureStderr();
    ModelSpec made = load_model(folder_.string());
    told_ = testing::internal::GetCapturedStderr();
    return made;
  }
  fs::path root_ = fs::temp_directory_path() / ("kvcap_models_" + std::to_string(getpid()));
  fs::path folder_ = root_ / "Tiny-1B";
  std::string told_;
};

TEST_F(ModelFolder, IsCalledAsItsFolder) {
  write("config.json", kConfig);
  EXPECT_EQ(model().name, "Tiny-1B");
  EXPECT_EQ(told_, "");
}

TEST_F(ModelFolder, IsQuantisedAsTheFileBesideItsConfigSays) {
  write("config.json", kConfig);
  write("hf_quant_config.json", R"({"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8",
    "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}})");
  const ModelSpec quantised = model();
  EXPECT_EQ(quantised.weight_bytes_per_element, 1);
  EXPECT_EQ(quantised.kv_bytes_per_element, 1);
  EXPECT_EQ(quantised.embedding_bytes_per_element, 2);
  // Without the element around it, as converters write it.
  write("hf_quant_config.json", R"({"quant_algo": "NVFP4"})");
  EXPECT_EQ(model().weight_bytes_per_element, 0.5625);
}

TEST_F(ModelFolder, HasTheBytesThatItsIndexSays) {
  write("config.json", kConfig);
  write("model.safetensors.index.json",
        R"({"metadata": {"total_size": 400000}, "weight_map": {"model.layers.3.mlp.up_proj.weight": "a"}})");
  EXPECT_DOUBLE_EQ(model().weight_bytes(), 4e5);
  EXPECT_EQ(model().draft_layers, 0);  // of the files, whatever the config says
  write("model.safetensors.index.json",
        R"({"metadata": {"total_size": 400000}, "weight_map": {"model.layers.4.mlp.up_proj.weight": "a"}})");
  // A fifth layer is the one for multi-token prediction, which is not loaded.
  EXPECT_EQ(model().draft_layers, 1);
  EXPECT_DOUBLE_EQ(model().weight_bytes(), 4e5 - 2 * model().draft_parameter_count());
}

TEST_F(ModelFolder, HasTheBytesOfItsFilesWhereThereIsNoIndex) {
  write("config.json", kConfig);
  write("model.safetensors", std::string(350'000, 'x'));
  EXPECT_DOUBLE_EQ(model().weight_bytes(), 3.5e5);
  // A part of them is no size.
  write("model.safetensors", std::string(50'000, 'x'));
  const ModelSpec part = model();
  EXPECT_NE(told_.find("the checkpoint files in its folder have 0.0 GB"), std::string::npos) << told_;
  EXPECT_EQ(part.weight_bytes(), 2 * part.parameter_count());
  write("model.safetensors", "version https://git-lfs.github.com/spec/v1");
  EXPECT_EQ(model().weight_bytes(), 2 * model().parameter_count());
}

TEST_F(ModelFolder, DrawsTokensAsItsPublisherProposes) {
  write("config.json", kConfig);
  write("generation_config.json", R"({"temperature": 0.6, "top_k": 20, "top_p": 0.95, "do_sample": true})");
  const std::optional<Sampling> sampling = model().sampling;
  ASSERT_TRUE(sampling);
  EXPECT_EQ(sampling->temperature, 0.6);
  EXPECT_EQ(sampling->top_k, 20);
  EXPECT_EQ(sampling->top_p, 0.95);
}

TEST_F(ModelFolder, KeepsWhatItsFilesHaveBesideTheShapeInAnotherFormat) {
  write("config.json", kConfig);
  write("model.safetensors.index.json", R"({"metadata": {"total_size": 400000}, "weight_map": {}})");
  ModelSpec cast = model();
  const double beside = 4e5 - 2 * cast.parameter_count();
  cast.weight_bytes_per_element = 1;
  cast.embedding_bytes_per_element = 1;
  EXPECT_DOUBLE_EQ(cast.weight_bytes(), cast.parameter_count() + beside);
  write("model.safetensors.index.json", "[1]");
  EXPECT_EQ(model().uncounted_weight_bytes, 0);
  write("generation_config.json", R"({"top_k": -1, "top_p": 0.9})");
  EXPECT_EQ(model().sampling->top_k, 0);
}

TEST_F(ModelFolder, WhoseNameSaysAFormatThatNothingInItSaysIsTold) {
  folder_ = root_ / "Tiny-1B-NVFP4";
  write("config.json", kConfig);
  EXPECT_EQ(model().weight_bytes_per_element, 2);
  EXPECT_NE(told_.find("Tiny-1B-NVFP4 is called nvfp4 but has no quantization_config"), std::string::npos);
}

TEST_F(ModelFolder, OfTheCacheIsFoundByItsNameOnHuggingFace) {
  folder_ = root_ / "hub/models--org--Cached-2B";
  write("snapshots/abc/config.json", kConfig);
  write("snapshots/def/config.json", kConfig);
  write("refs/main", "def\n");
  setenv("HF_HOME", root_.c_str(), 1);
  EXPECT_EQ(cached_config("org/Cached-2B"), folder_ / "snapshots/def/config.json");
  EXPECT_EQ(load_model("org/Cached-2B").name, "Cached-2B");
  EXPECT_FALSE(cached_config("org/Other"));
  unsetenv("HF_HOME");
  setenv("HF_HUB_CACHE", (root_ / "hub").c_str(), 1);
  EXPECT_TRUE(cached_config("org/Cached-2B"));
  unsetenv("HF_HUB_CACHE");
  EXPECT_FALSE(cached_config("org/Cached-2B"));
}

TEST(ModelNames, OfHuggingFaceMeanTheModelsOfTheCatalogue) {
  EXPECT_EQ(known_model("Qwen/Qwen3-32B"), "qwen3-32b");
  EXPECT_EQ(known_model("qwen/qwen3-32b/"), "qwen3-32b");
  EXPECT_EQ(known_model("qwen3-32b"), "qwen3-32b");
  EXPECT_FALSE(known_model("Qwen/Qwen3-33B"));
  EXPECT_FALSE(known_model("Qwen3-32"));
  EXPECT_EQ(load_model("deepseek-ai/DeepSeek-R1").kv_bytes_per_token(), 61.0 * (512 + 64) * 2);
  EXPECT_THROW(load_model("Qwen/Qwen3-33B"), InputError);
}

TEST_F(ModelFolder, MayHoldNumbersAsPythonWritesThem) {
  std::string text = kConfig;
  text.insert(1, R"("time_step_limit": [0.0, Infinity], "rope_scaling": NaN, )");
  write("config.json", text);
  EXPECT_EQ(model().num_hidden_layers, 4);
}

// Of published config.json files: parameters of the card or the index, which may count the layers that draft;
// bytes of KV a token, counted by hand; bytes of the files where they are known.
TEST(PublishedConfigs, ComeWithinAHundredthOfTheirCards) {
  const std::string folder = shared_data("configs");
  if (!fs::is_directory(folder)) GTEST_SKIP() << folder << " is not there";
  std::ifstream table(KVCAP_SOURCE_DIR "/tests/data/published_configs.tsv");
  std::string line;
  std::getline(table, line);
  int right = 0, refused = 0;
  while (std::getline(table, line)) {
    std::istringstream cells(line);
    std::string file, parameters, kv_bytes, files_gb, source;
    for (std::string* cell : {&file, &parameters, &kv_bytes, &files_gb, &source})
      std::getline(cells, *cell, '\t');
    SCOPED_TRACE(file);
    const std::string path = folder + "/" + file;
    if (source.starts_with("refused")) {
      EXPECT_THROW(load_model(path), InputError);
      ++refused;
      continue;
    }
    testing::internal::CaptureStderr();
    const ModelSpec model = load_model(path);
    testing::internal::GetCapturedStderr();
    const double whole = model.parameter_count(), drafts = model.draft_parameter_count();
    const auto off = [](double value, double expected) { return std::abs(value / expected - 1); };
    const double card = 1e9 * std::stod(parameters);
    EXPECT_LT(std::min(off(whole, card), off(whole + drafts, card)), 0.01) << whole << " and " << drafts;
    EXPECT_EQ(model.kv_bytes_per_token(), std::stod(kv_bytes));
    if (!files_gb.empty()) {
      const double bytes = model.weight_bytes(), more = drafts * bytes / whole;
      const double published = 1e9 * std::stod(files_gb);
      EXPECT_LT(std::min(off(bytes, published), off(bytes + more, published)), 0.01) << bytes;
    }
    ++right;
  }
  EXPECT_EQ(right, 58);
  EXPECT_EQ(refused, 3);
}

}  // namespace
}  // namespace kvcap::model_files_test
