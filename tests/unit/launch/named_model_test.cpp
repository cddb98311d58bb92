// Models by the names of launch lines: what a suffix leaves as it is and what it changes.
#include "launch/named_model.h"

#include <gtest/gtest.h>

#include <string>

#include "base/input_error.h"
#include "scenario/load.h"

namespace kvcap::named_model_test {
namespace {

TEST(LaunchModels, KeepTheirShapesUnderSuffixesForTrainingAndPackaging) {
  for (const char* suffix : {"-instruct", "-2507", "-chat", "-hf", "-it", "-base", "-v0.1", "-v0.2", "-v0.3",
                             "-thinking", "-0528", "-thinking-2507", "-Instruct-2507/"}) {
    const NamedModel found = named_model("someone/exaone-3.5-7.8b" + std::string(suffix));
    EXPECT_EQ(found.name, "exaone-3.5-7.8b") << suffix;
    EXPECT_FALSE(found.is_8bit) << suffix;
    EXPECT_EQ(found.positions, std::string(suffix).find("2507") == std::string::npos ? 0 : 262144) << suffix;
    EXPECT_EQ(found.note, "someone/exaone-3.5-7.8b" + std::string(suffix) +
                              " is not in the catalogue: exaone-3.5-7.8b is used, the same name without "
                              "suffixes for training and packaging");
  }
}

TEST(LaunchModels, HaveWeightsOf8BitsWhereTheirNameSaysSo) {
  for (const char* suffix : {"-fp8", "-FP8-dynamic", "-instruct-fp8"}) {
    const NamedModel found = named_model("someone/exaone-3.5-7.8b" + std::string(suffix));
    EXPECT_EQ(found.name, "exaone-3.5-7.8b") << suffix;
    EXPECT_TRUE(found.is_8bit) << suffix;
    EXPECT_TRUE(found.note.ends_with(", with 8-bit weights")) << suffix;
  }
  // The catalogue has these weights themselves.
  EXPECT_EQ(named_model("someone/glm-4.6-instruct-fp8").name, "glm-4.6-fp8");
  EXPECT_FALSE(named_model("someone/glm-4.6-instruct-fp8").is_8bit);
  EXPECT_EQ(named_model("someone/glm-4.6-bf16").name, "glm-4.6");
  EXPECT_THROW(named_model("someone/gpt-oss-20b-bf16"), InputError) << "the catalogue's has 4-bit experts";
}

// The catalogue's checkpoint has the FP8 KV cache of NVIDIA's ModelOpt.
TEST(LaunchModels, OfAnotherMakerHaveAKvCacheOf16Bits) {
  for (const char* name : {"someone/Qwen3-32B-NVFP4", "someone/Llama-3.1-405B-Instruct-FP8",
                           "someone/Llama-3.1-8B-Instruct-FP8-dynamic"}) {
    const NamedModel found = named_model(name);
    EXPECT_TRUE(found.has_wide_kv) << name;
    const std::string maker = load_model(found.name).hugging_face;
    EXPECT_TRUE(maker.starts_with("nvidia/")) << name;
    EXPECT_NE(
        found.note.find(", with the weight formats of " + maker.substr(0, maker.find(' ')) +
                        "; the KV cache has 16 bits, because only that checkpoint is known to quantise it"),
        std::string::npos)
        << found.note;
  }
  // What the catalogue names is as it says.
  EXPECT_FALSE(named_model("nvidia/Qwen3-32B-NVFP4").has_wide_kv);
  EXPECT_EQ(named_model("nvidia/Qwen3-32B-NVFP4").note, "");
  EXPECT_FALSE(named_model("RedHatAI/Qwen3-32B-NVFP4").has_wide_kv);
  EXPECT_EQ(named_model("RedHatAI/Qwen3-32B-NVFP4").name, "qwen3-32b-redhat-nvfp4");
  EXPECT_EQ(named_model("meta-llama/Llama-3.1-405B-Instruct-FP8").name, "llama-3.1-405b-fbgemm-fp8");
  // Weights of another maker are assumed to have the same formats, and the note says so.
  const NamedModel glm = named_model("someone/glm-4.6-instruct-fp8");
  EXPECT_FALSE(glm.has_wide_kv);
  EXPECT_NE(glm.note.find(", with the weight formats of zai-org/GLM-4.6-FP8"), std::string::npos) << glm.note;
}

}  // namespace
}  // namespace kvcap::named_model_test
