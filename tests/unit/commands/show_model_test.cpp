// kvcap show models: what a model keeps, in words and in JSON.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "unit/cli.h"

namespace kvcap::show_model_test {
namespace {

std::string config(const std::string& name) {
  return KVCAP_SOURCE_DIR "/tests/data/configs/" + name + ".json";
}

class ShowModel : public Cli {};

TEST_F(ShowModel, SaysWhatEachKindOfLayersKeeps) {
  EXPECT_NE(kvcap({"show", "models", "llama-3.1-8b"}).out.find("  32 full layers: 128 KiB for every token\n"),
            std::string::npos);
  const std::string gpt_oss = kvcap({"show", "models", config("gpt-oss-20b")}).out;
  EXPECT_NE(gpt_oss.find("  12 full layers: 24 KiB for every token\n"
                         "  12 sliding layers: 24 KiB for each of the newest 128 tokens, at most 3.0 MiB\n"),
            std::string::npos)
      << gpt_oss;
  // 36 (1 MiB + 48 KiB) are 37.7 MiB.
  EXPECT_NE(kvcap({"show", "models", config("qwen3-next-80b-a3b")})
                .out.find("  36 recurrent layers: 37.7 MiB for a sequence, and for each checkpoint of it\n"),
            std::string::npos);
  // (656 + 132) bytes would be its packed form: here 61 (576 * 2 + 132) bytes.
  EXPECT_NE(kvcap({"show", "models", config("deepseek-v3.2")})
                .out.find("  61 latent layers: 76.49 KiB for every token, the indexer's keys included\n"),
            std::string::npos);
  EXPECT_NE(
      kvcap({"show", "models", config("llama-4-scout")})
          .out.find("  36 chunked layers: 144 KiB for each token of a chunk of 8192, at most 1152.0 MiB\n"),
      std::string::npos);
}

TEST_F(ShowModel, HasTheSizesInJson) {
  const auto shown =
      nlohmann::json::parse(kvcap({"show", "models", config("gemma-3-27b"), "--json"}).out)["sizes"];
  EXPECT_EQ(shown["kv_bytes_per_token"], 81'920);
  EXPECT_EQ(shown["window_bytes"], 52 * 1'024 * 8'192);
  EXPECT_EQ(shown["recurrent_state_bytes"], 0);
  EXPECT_NEAR(shown["parameters"].get<double>(), 27.0e9, 0.3e9);
}

}  // namespace
}  // namespace kvcap::show_model_test
