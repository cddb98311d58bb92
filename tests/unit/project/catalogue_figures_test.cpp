// The figures of models/ and hwprofiles/ that decide results, written down once more: a slip in a file is a
// result that changes without a reason. Each has a source of its own beside the file's.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "scenario/load.h"
#include "scenario/model_files.h"

namespace kvcap::catalogue_figures_test {
namespace {

// Parameters as the model cards on Hugging Face count them (safetensors), which is the whole shape in one
// number; KiB of 16-bit keys and values a token, 2 layers x KV heads x head size x 2 bytes (DeepSeek: latent
// and rotary key, 61 x 576 x 2 bytes, of V3.2 with 132 bytes of its indexer), of layers that keep every
// token; layers. Of the files themselves: longest sequence, bytes of a weight in the layers, experts of a
// token.
struct ModelFigures {
  const char* name;
  double parameters = 0;
  double kv_kib_per_token = 0;
  int64_t layers = 0;
  int64_t window = 0;
  double weight_bytes = 0;
  int64_t active_experts = 0;
};
constexpr ModelFigures kModels[] = {
    {"codellama-34b", 33.744e9, 192, 48, 16384, 2, 0},
    {"deepseek-v3", 671.03e9, 68.625, 61, 163840, 1, 8},
    {"falcon-40b", 41.3e9, 120, 60, 2048, 2, 0},
    {"glm-4.5", 352.8e9, 368, 92, 131072, 2, 8},
    {"kimi-k2", 1026.4e9, 68.625, 61, 131072, 1, 8},
    {"llama-13b", 13.016e9, 800, 40, 2048, 2, 0},
    {"llama-2-13b", 13.016e9, 800, 40, 4096, 2, 0},
    {"llama-2-70b", 68.977e9, 320, 80, 4096, 2, 0},
    {"llama-2-7b", 6.738e9, 512, 32, 4096, 2, 0},
    {"llama-3-70b", 70.554e9, 320, 80, 8192, 2, 0},
    {"llama-3-8b", 8.03e9, 128, 32, 8192, 2, 0},
    {"llama-3.1-70b", 70.554e9, 320, 80, 131072, 2, 0},
    {"llama-3.1-70b-fp8", 70.554e9, 320, 80, 131072, 1, 0},
    {"llama-3.1-8b", 8.03e9, 128, 32, 131072, 2, 0},
    {"llama-3.1-8b-fp8", 8.03e9, 128, 32, 131072, 1, 0},
    {"llama-3.1-405b", 405.85e9, 504, 126, 131072, 2, 0},
    {"llama-65b", 65.286e9, 2560, 80, 2048, 2, 0},
    {"llama-7b", 6.738e9, 512, 32, 2048, 2, 0},
    {"minimax-m2", 228.7e9, 248, 62, 196608, 1, 8},
    {"mistral-7b", 7.242e9, 128, 32, 32768, 2, 0},
    {"mixtral-8x7b", 46.703e9, 128, 32, 32768, 2, 2},
    {"opt-13b", 12.853e9, 800, 40, 2048, 2, 0},
    {"opt-30b", 29.975e9, 1344, 48, 2048, 2, 0},
    {"opt-6.7b", 6.658e9, 512, 32, 2048, 2, 0},
    {"phi-4", 14.66e9, 200, 40, 16384, 2, 0},
    {"qwen2.5-7b", 7.616e9, 56, 28, 32768, 2, 0},
    {"qwen3-235b-a22b", 235.09e9, 188, 94, 40960, 2, 8},
    {"qwen3-30b-a3b", 30.532e9, 96, 48, 40960, 2, 8},
    {"qwen3-8b", 8.19e9, 144, 36, 40960, 2, 0},
    {"qwen3-coder-480b-a35b", 480.15e9, 248, 62, 262144, 2, 8},
    {"qwen3-coder-30b-a3b", 30.532e9, 96, 48, 262144, 2, 8},
    {"qwen3-32b", 32.762e9, 256, 64, 40960, 2, 0},
    {"qwen3-32b-fp8", 32.762e9, 256, 64, 40960, 1, 0},
    {"gpt-oss-20b", 20.91e9, 24, 24, 131072, 2, 4},
    {"gpt-oss-120b", 116.83e9, 36, 36, 131072, 2, 4},
    {"gemma-2-9b", 9.242e9, 168, 42, 8192, 2, 0},
    {"gemma-3-27b", 27.43e9, 80, 62, 131072, 2, 0},
    {"gemma-4-26b-a4b", 25.2e9, 20, 30, 262144, 2, 8},
    {"llama-4-scout", 108.64e9, 48, 48, 10485760, 2, 1},
    {"llama-4-maverick", 401.58e9, 48, 48, 1048576, 2, 1},
    {"mistral-7b-v0.1", 7.242e9, 0, 32, 32768, 2, 0},
    {"deepseek-v3.2", 671.03e9, 76.48828125, 61, 163840, 1, 8},
    {"kimi-linear-48b-a3b", 49.1e9, 7.875, 27, 1048576, 2, 8},
    {"qwen3-next-80b-a3b", 79.7e9, 24, 48, 262144, 2, 10},
    {"qwen3.5-27b", 27.36e9, 64, 64, 262144, 2, 0},
    {"qwen3.5-4b", 4.206e9, 32, 32, 262144, 2, 0},
    {"nemotron-3-nano-30b-a3b", 31.6e9, 6, 52, 262144, 2, 6},
    {"jamba-v0.1", 51.6e9, 16, 32, 262144, 2, 2},
    {"yi-34b", 34.389e9, 240, 60, 4096, 2, 0},
};

TEST(CatalogueFigures, OfModelsAreThoseOfTheirCards) {
  for (const ModelFigures& figures : kModels) {
    const ModelSpec model = load_model(figures.name);
    // Norms and biases are left out, 0.3 % of the smallest.
    EXPECT_NEAR(model.parameter_count() / figures.parameters, 1, 0.005) << figures.name;
    EXPECT_DOUBLE_EQ(model.kv_bytes_per_token() / 1024, figures.kv_kib_per_token) << figures.name;
    EXPECT_EQ(model.num_hidden_layers, figures.layers) << figures.name;
    EXPECT_EQ(model.max_position_embeddings, figures.window) << figures.name;
    EXPECT_EQ(model.weight_bytes_per_element, figures.weight_bytes) << figures.name;
    EXPECT_EQ(model.experts.value_or(Experts{}).active, figures.active_experts) << figures.name;
  }
}

// The rows of models/published.jsonl have their shapes from configs that are counted elsewhere: what they are
// called and that they can be read is held here.
TEST(CatalogueFigures, OfEveryOtherModelAreReadAndNamedOnce) {
  std::set<std::string> names;
  for (const CatalogueEntry& entry : catalogue(Catalogue::models)) {
    const ModelSpec model = load_model(std::string(entry.name));
    EXPECT_EQ(model.name, entry.name);
    EXPECT_GT(model.parameter_count(), 1e8) << entry.name;
    EXPECT_GT(model.kv_bytes_per_token() + model.window_bytes(1), 0) << entry.name;
    EXPECT_FALSE(model.source.empty()) << entry.name;
    std::istringstream ids(model.hugging_face);
    for (std::string id; ids >> id;) {
      EXPECT_TRUE(names.insert(id).second) << id << " of " << entry.name << " stands twice";
      EXPECT_EQ(known_model(id), entry.name);
    }
  }
  EXPECT_GT(catalogue(Catalogue::models).size(), 290U);
  const auto is_file = [](const CatalogueEntry& entry) {
    return entry.text.find('\n') < entry.text.size() - 1;
  };
  const auto& all = catalogue(Catalogue::models);
  EXPECT_EQ(std::size(kModels), std::count_if(all.begin(), all.end(), is_file))
      << "a file without figures here";
}

// max_position_embeddings of a base model and of the model that was tuned from it, where their config.json
// files differ.
TEST(CatalogueFigures, OfBaseModelsHaveTheirOwnPositions) {
  struct Pair {
    const char *base, *tuned;
    int64_t base_positions, tuned_positions;
  };
  for (const Pair& pair : {Pair{"Qwen/Qwen2.5-7B", "Qwen/Qwen2.5-7B-Instruct", 131072, 32768},
                           Pair{"Qwen/Qwen2-7B", "Qwen/Qwen2-7B-Instruct", 131072, 32768},
                           Pair{"Qwen/Qwen2.5-1.5B", "Qwen/Qwen2.5-1.5B-Instruct", 131072, 32768},
                           Pair{"Qwen/Qwen2.5-14B", "Qwen/Qwen2.5-14B-Instruct", 131072, 32768},
                           Pair{"Qwen/Qwen2.5-32B", "Qwen/Qwen2.5-32B-Instruct", 131072, 32768},
                           Pair{"Qwen/Qwen2.5-72B", "Qwen/Qwen2.5-72B-Instruct", 131072, 32768},
                           Pair{"Qwen/Qwen3-0.6B-Base", "Qwen/Qwen3-0.6B", 32768, 40960},
                           Pair{"Qwen/Qwen3-1.7B-Base", "Qwen/Qwen3-1.7B", 32768, 40960},
                           Pair{"Qwen/Qwen3-4B-Base", "Qwen/Qwen3-4B", 32768, 40960},
                           Pair{"Qwen/Qwen3-8B-Base", "Qwen/Qwen3-8B", 32768, 40960},
                           Pair{"Qwen/Qwen3-14B-Base", "Qwen/Qwen3-14B", 32768, 40960},
                           Pair{"Qwen/Qwen3-30B-A3B-Base", "Qwen/Qwen3-30B-A3B", 32768, 40960},
                           Pair{"meta-llama/Llama-4-Scout-17B-16E",
                                "meta-llama/Llama-4-Scout-17B-16E-Instruct", 262144, 10485760},
                           Pair{"meta-llama/Llama-4-Maverick-17B-128E",
                                "meta-llama/Llama-4-Maverick-17B-128E-Instruct", 262144, 1048576}}) {
    const ModelSpec base = load_model(pair.base), tuned = load_model(pair.tuned);
    EXPECT_EQ(base.max_position_embeddings, pair.base_positions) << pair.base;
    EXPECT_EQ(tuned.max_position_embeddings, pair.tuned_positions) << pair.tuned;
    EXPECT_EQ(base.parameter_count(), tuned.parameter_count()) << pair.base;
    EXPECT_FALSE(base.sampling.has_value()) << pair.base;
  }
}

// The maker of a checkpoint decides its formats: NVIDIA's ModelOpt stores scales for an FP8 KV cache
// (kv_cache_quant_algo), llm-compressor quantises linear layers only, and Meta's fbgemm_fp8 leaves attention
// and two layers' FFNs in 16 bits.
TEST(CatalogueFigures, OfQuantisedCheckpointsAreThoseOfTheirMaker) {
  struct Checkpoint {
    const char* name;
    double kv_bytes, weight_bytes, attention_bytes;
  };
  std::vector<Checkpoint> checkpoints = {{"meta-llama/Llama-3.1-405B-Instruct-FP8", 2, 1, 2},
                                         {"meta-llama/Meta-Llama-3.1-405B-Instruct-FP8", 2, 1, 2},
                                         {"nvidia/Llama-3.1-405B-Instruct-FP8", 1, 1, 1},
                                         {"RedHatAI/Meta-Llama-3.1-405B-Instruct-FP8-dynamic", 2, 1, 1},
                                         {"neuralmagic/Meta-Llama-3.1-405B-Instruct-FP8-dynamic", 2, 1, 1},
                                         {"neuralmagic/Meta-Llama-3.1-405B-Instruct-FP8", 2, 1, 1},
                                         {"neuralmagic/Meta-Llama-3.1-8B-Instruct-FP8-dynamic", 2, 1, 1},
                                         {"neuralmagic/Llama-3.3-70B-Instruct-FP8-dynamic", 2, 1, 1}};
  // Two of 126 FFNs have a second byte per weight.
  EXPECT_EQ(load_model(checkpoints[0].name).uncounted_weight_bytes, 2 * 3 * 16384.0 * 53248);
  std::vector<std::string> names;
  for (const char* size : {"8B", "14B", "30B-A3B", "32B", "235B-A22B"}) {
    for (const char* maker : {"nvidia/", "RedHatAI/", "neuralmagic/"}) {
      names.push_back(std::string(maker) + "Qwen3-" + size + "-NVFP4");
    }
  }
  for (const std::string& name : names) {
    checkpoints.push_back({name.c_str(), name.starts_with("nvidia/") ? 1.0 : 2.0, 0.5625, 0.5625});
  }
  for (const Checkpoint& one : checkpoints) {
    const ModelSpec model = load_model(one.name);
    EXPECT_EQ(model.kv_bytes_per_element, one.kv_bytes) << one.name;
    EXPECT_NEAR(model.weight_bytes_per_element, one.weight_bytes, 1e-6) << one.name;
    EXPECT_EQ(model.attention_weight_bytes_per_element.value_or(model.weight_bytes_per_element),
              one.attention_bytes)
        << one.name;
    EXPECT_EQ(model.embedding_weight_bytes_per_element(), 2) << one.name;
  }
}

// DeepSeek-V3 and Kimi-K2 are published in FP8 with dynamic activation scales, as DeepSeek-V3.2 is.
TEST(CatalogueFigures, OfModelsWithWeightsOf8BitsHaveInputsOf8Bits) {
  int found = 0;
  for (const CatalogueEntry& entry : catalogue(Catalogue::models)) {
    const bool is_file = entry.text.find('\n') < entry.text.size() - 1;
    const ModelSpec model = load_model(std::string(entry.name));
    if (!is_file || model.weight_bytes_per_element != 1) continue;
    EXPECT_EQ(model.gemm_input_bytes_per_element(), 1) << entry.name;
    ++found;
  }
  EXPECT_GE(found, 3);
}

// Their publishers ship no generation_config.json, or one without temperature, top_k and top_p.
constexpr const char* kWithoutSampling[] = {"codellama-34b",
                                            "deepseek-v3",
                                            "falcon-40b",
                                            "gemma-2-9b",
                                            "glm-4.5",
                                            "gpt-oss-120b",
                                            "gpt-oss-20b",
                                            "jamba-v0.1",
                                            "kimi-k2",
                                            "kimi-linear-48b-a3b",
                                            "llama-13b",
                                            "llama-65b",
                                            "llama-7b",
                                            "mistral-7b",
                                            "mistral-7b-v0.1",
                                            "mixtral-8x7b",
                                            "nemotron-3-nano-30b-a3b",
                                            "opt-13b",
                                            "opt-30b",
                                            "opt-6.7b",
                                            "phi-4",
                                            "qwen3.5-4b",
                                            "yi-34b"};

TEST(CatalogueFigures, SayHowTheirPublisherDrawsTokensOrThatItSaysNothing) {
  const auto begin = std::begin(kWithoutSampling), end = std::end(kWithoutSampling);
  for (const ModelFigures& figures : kModels) {
    const ModelSpec model = load_model(figures.name);
    const bool is_without = std::find(begin, end, std::string(figures.name)) != end;
    EXPECT_EQ(model.sampling.has_value(), !is_without) << figures.name;
    if (model.sampling) {
      EXPECT_TRUE(model.sampling->filters()) << figures.name;
    }
  }
  for (const CatalogueEntry& entry : catalogue(Catalogue::models)) {
    const auto says = [&](std::string_view text) { return entry.text.find(text) != std::string_view::npos; };
    EXPECT_EQ(says("; sampling: ") || says("; sampling from memory"), says("\"sampling\": ")) << entry.name;
  }
  EXPECT_EQ(load_model("qwen3.5-27b").sampling->top_k, 20);
  EXPECT_EQ(load_model("deepseek-v3.2").sampling->top_p, 0.95);
}

// Datasheets: dense TFLOP/s in 16 bits with accumulation in 32 (RTX 4090: 165.2, not 330), GiB of memory as
// sold (H200 141, B200 180, B300 what drivers report of 288 GB, L40S and RTX PRO 6000 less what ECC takes),
// its GB/s, multiprocessors.
struct GpuFigures {
  const char* name;
  double tera_flops = 0, memory_gib = 0, gb_per_s = 0;
  int64_t sm_count = 0;
};
constexpr GpuFigures kGpus[] = {
    {"A100-40G SXM4", 312, 40, 1555, 108},
    {"A100-80G SXM4", 312, 80, 2039, 108},
    {"A100-80G", 312, 80, 2039, 108},
    {"A100-80G PCIe", 312, 80, 1935, 108},
    {"A30", 165, 24, 933, 56},
    {"A40", 149.7, 48, 696, 84},
    {"B200 SXM", 2250, 180, 7700, 148},
    {"B300 SXM", 2250, 268.59375, 7750, 148},
    {"AMD EPYC", 0.06475, 11.7703, 48.34, 1},
    {"GB200", 2500, 185.03, 8000, 148},
    {"H100 80GB SXM5", 989, 80, 3350, 132},
    {"H200 SXM", 989, 141, 4800, 132},
    {"NVIDIA H100 80GB HBM3", 989, 79.1788, 3352, 132},
    {"NVIDIA H200", 989, 139.801, 4814, 132},
    {"H800 SXM", 989, 80, 3350, 132},
    {"L20", 119.5, 48, 864, 92},
    {"L40S", 362.05, 44.9883, 864, 142},
    {"phone NPU (Hexagon class)", 12, 8, 76.8, 1},
    {"RTX 4090", 165.2, 24, 1008, 128},
    {"RTX PRO 6000 Blackwell Server Edition", 467.8, 95.5928, 1792, 188},
};

// GPUs; $ an hour of one; GB/s over PCIe to it; GB of DRAM and $ a GB and hour; SSDs, TB of each, GB/s to
// read one, $ a GB and hour. Prices and their dates are in the notes of each file.
struct ServerFigures {
  const char* name;
  const char* gpu;
  int64_t gpus = 0;
  double usd_per_hour = 0, pcie_gb_per_s = 0, dram_gb = 0, dram_usd = 0;
  int64_t ssds = 0;
  double ssd_tb = 0, ssd_gb_per_s = 0, ssd_usd = 0;
};
constexpr ServerFigures kServers[] = {
    {"a100-40g-4gpu-4x-pm9a3", "A100-40G SXM4", 4, 5, 26, 256, 0.0088, 4, 4, 6.9, 8.2e-05},
    {"a100-40g-4x-pm9a3", "A100-40G SXM4", 1, 5, 26, 256, 0.0088, 4, 4, 6.9, 8.2e-05},
    {"a100-80g-2gpu-10tb", "A100-80G SXM4", 2, 5, 26, 128, 0.0088, 1, 10.24, 5, 8.2e-05},
    {"a100-80g-2tb-flexgen", "A100-80G", 1, 0, 0.7, 128, 0, 1, 2, 0.7, 0},
    {"a100-80g-2tb", "A100-80G", 1, 0, 25, 128, 0, 1, 2, 5, 0},
    {"a100-80g-4gpu-10tb", "A100-80G SXM4", 4, 5, 26, 128, 0.0088, 1, 10.24, 5, 8.2e-05},
    {"a100-80g-pcie-8x", "A100-80G PCIe", 8, 1.5, 24.8, 2000, 0.0044, 8, 3.84, 6.2, 0.00011},
    {"a100-80g-pcie", "A100-80G PCIe", 1, 1.5, 24.8, 250, 0.0044, 1, 3.84, 6.2, 0.00011},
    {"a100-80g-sxm-8x", "A100-80G SXM4", 8, 1.5, 24.8, 2000, 0.0044, 8, 3.84, 6.2, 0.00011},
    {"a100-80g-sxm", "A100-80G SXM4", 1, 1.5, 24.8, 250, 0.0044, 1, 3.84, 6.2, 0.00011},
    {"a30-dram", "A30", 1, 0, 26, 256, 0, 0, 0, 0, 0},
    {"a40-1tb", "A40", 1, 0, 25, 128, 0, 1, 1, 4.2, 0},
    {"a40-2gpu-1tb", "A40", 2, 0, 25, 128, 0, 1, 1, 4.2, 0},
    {"b200-sxm-8x", "B200 SXM", 8, 6.03, 51.8, 2000, 0.0044, 8, 7.68, 14.2, 0.00011},
    {"b200-sxm", "B200 SXM", 1, 6.03, 51.8, 250, 0.0044, 1, 7.68, 14.2, 0.00011},
    {"b300-sxm-8x", "B300 SXM", 8, 7.25, 51.8, 2000, 0.0044, 8, 7.68, 14.2, 0.00011},
    {"b300-sxm", "B300 SXM", 1, 7.25, 51.8, 250, 0.0044, 1, 7.68, 14.2, 0.00011},
    {"epyc-2-cores", "AMD EPYC", 1, 0.0, 9.891, 12.6383, 0, 1, 0.270553, 0.8343, 0},
    {"h100-vm", "NVIDIA H100 80GB HBM3", 1, 0, 53.98, 135.149, 0, 1, 0.270553174016, 1.939, 0},
    {"h200-vm", "NVIDIA H200", 1, 0, 53.51, 135.149, 0, 1, 0.270553174016, 2.301, 0},
    {"gb200-4x", "GB200", 4, 0, 225, 960, 0.0044, 4, 7.68, 14.2, 0.00011},
    {"h100-sxm-8x-s3", "H100 80GB SXM5", 8, 3.9, 51.8, 2000, 0.0044, 8, 7.68, 14.2, 0.00011},
    {"h100-sxm-8x-cxl", "H100 80GB SXM5", 8, 3.9, 51.8, 2000, 0.0044, 8, 7.68, 14.2, 0.00011},
    {"h100-sxm-8x", "H100 80GB SXM5", 8, 3.9, 51.8, 2000, 0.0044, 8, 7.68, 14.2, 0.00011},
    {"h100-sxm", "H100 80GB SXM5", 1, 3.9, 51.8, 250, 0.0044, 1, 7.68, 14.2, 0.00011},
    {"h200-sxm-8x", "H200 SXM", 8, 4.5, 51.8, 2000, 0.0044, 8, 7.68, 14.2, 0.00011},
    {"h200-sxm", "H200 SXM", 1, 4.5, 51.8, 250, 0.0044, 1, 7.68, 14.2, 0.00011},
    {"h800-dram", "H800 SXM", 1, 0, 51.8, 256, 0, 0, 0, 0, 0},
    {"l20-dram", "L20", 1, 0, 26, 256, 0, 0, 0, 0, 0},
    {"l40s-8x", "L40S", 8, 1.4, 26.1, 1500, 0.0044, 8, 3.84, 6.2, 0.00011},
    {"l40s", "L40S", 1, 1.4, 26.1, 187.5, 0.0044, 1, 3.84, 6.2, 0.00011},
    {"phone-npu", "phone NPU (Hexagon class)", 1, 0, 25, 4, 0, 1, 0.128, 4.2, 0},
    {"rtx-4090-dram", "RTX 4090", 1, 0, 26, 256, 0, 0, 0, 0, 0},
    {"rtx-4090", "RTX 4090", 1, 0.6, 26.1, 128, 0.0044, 1, 1, 6.2, 0.00011},
    {"rtx-pro-6000-8x", "RTX PRO 6000 Blackwell Server Edition", 8, 1.57, 51.8, 1500, 0.0044, 8, 7.68, 14.2,
     0.00011},
    {"rtx-pro-6000", "RTX PRO 6000 Blackwell Server Edition", 1, 1.57, 51.8, 187.5, 0.0044, 1, 7.68, 14.2,
     0.00011},
};

void expect_close(double found, double pinned, const std::string& what) {
  EXPECT_NEAR(found, pinned, 1e-5 * std::abs(pinned)) << what;
}

TEST(CatalogueFigures, OfServersAreThoseThatWereWrittenDown) {
  for (const ServerFigures& figures : kServers) {
    const std::string name = figures.name;
    const HardwareProfile server = load_hardware(name);
    const auto gpu = std::find_if(std::begin(kGpus), std::end(kGpus),
                                  [&](const GpuFigures& one) { return server.gpu.name == one.name; });
    ASSERT_NE(gpu, std::end(kGpus)) << name;
    EXPECT_EQ(server.gpu.name, figures.gpu) << name;
    expect_close(server.gpu.peak_flops / 1e12, gpu->tera_flops, name + ": peak_flops");
    expect_close(server.gpu.memory_bytes / (1024.0 * 1024 * 1024), gpu->memory_gib, name + ": memory_bytes");
    expect_close(server.gpu.memory_bandwidth_bytes_per_s / 1e9, gpu->gb_per_s, name + ": memory bandwidth");
    EXPECT_EQ(server.gpu.sm_count, gpu->sm_count) << name;
    EXPECT_EQ(server.gpu.count, figures.gpus) << name;
    expect_close(server.gpu.price_usd_per_hour, figures.usd_per_hour, name + ": price of a GPU");
    expect_close(server.pcie.h2d_bandwidth_bytes_per_s / 1e9, figures.pcie_gb_per_s, name + ": PCIe");
    const Dram dram = server.dram.value_or(Dram{});
    expect_close(dram.capacity_bytes / 1e9, figures.dram_gb, name + ": DRAM");
    expect_close(dram.price_usd_per_gb_hour, figures.dram_usd, name + ": price of DRAM");
    if (!server.ssd) {
      EXPECT_EQ(figures.ssds, 0) << name;
      continue;
    }
    EXPECT_EQ(server.ssd->count, figures.ssds) << name;
    expect_close(server.ssd->capacity_bytes / 1e12, figures.ssd_tb, name + ": capacity of an SSD");
    expect_close(server.ssd->read_bandwidth_bytes_per_s / 1e9, figures.ssd_gb_per_s, name + ": SSD");
    expect_close(server.ssd->price_usd_per_gb_hour, figures.ssd_usd, name + ": price of an SSD");
  }
  EXPECT_EQ(std::size(kServers), catalogue(Catalogue::hardware).size()) << "a server without figures here";
}

// As the notes on price_usd_per_hour say. CachedAttention counts storage on top of a rent of 5 $; the other
// rents are those of clouds, whose instances include it.
TEST(CatalogueFigures, OfRentsHaveTheirDateAndSayWhetherTheyIncludeStorage) {
  const std::map<std::string, std::string> dates = {{"A100-80G SXM4", "2026-05"},
                                                    {"A100-80G PCIe", "2026-05"},
                                                    {"H100 80GB SXM5", "2026-03"},
                                                    {"H200 SXM", "2026-05"},
                                                    {"B200 SXM", "2026-03"},
                                                    {"B300 SXM", "2026"},
                                                    {"L40S", "2026-03"},
                                                    {"RTX 4090", "2026-03"},
                                                    {"RTX PRO 6000 Blackwell Server Edition", "2026-03"}};
  for (const ServerFigures& figures : kServers) {
    const HardwareProfile server = load_hardware(figures.name);
    const bool is_paper = figures.usd_per_hour == 5, is_rented = figures.usd_per_hour > 0;
    EXPECT_EQ(server.gpu.price_includes_storage, is_rented && !is_paper) << figures.name;
    EXPECT_EQ(server.gpu.price_date, is_paper    ? "2024-07"
                                     : is_rented ? dates.at(figures.gpu)
                                                 : "")
        << figures.name;
    if (figures.dram_usd > 0) {
      EXPECT_EQ(server.dram->price_date, is_paper ? "2024-07" : "2026-11") << figures.name;
    }
    if (figures.ssd_usd > 0) {
      EXPECT_EQ(server.ssd->price_date, is_paper ? "2024-07" : "2024") << figures.name;
    }
  }
}

// GB/s: over PCIe from a GPU, of NVLink, of DRAM, to write one SSD. The notes of
// each file have their sources.
struct LinkFigures {
  const char* name;
  double pcie_out = 0, nvlink = 0, dram = 0, ssd_write = 0;
};
constexpr LinkFigures kLinks[] = {
    {"a100-40g-4gpu-4x-pm9a3", 26, 217, 200, 4.1},
    {"a100-40g-4x-pm9a3", 26, 217, 200, 4.1},
    {"a100-80g-2gpu-10tb", 26, 193, 200, 3.5},
    {"a100-80g-2tb-flexgen", 25, 0, 200, 3.5},
    {"a100-80g-2tb", 25, 0, 200, 3.5},
    {"a100-80g-4gpu-10tb", 26, 217, 200, 3.5},
    {"a100-80g-pcie-8x", 25, 0, 188, 3.7},
    {"a100-80g-pcie", 25, 0, 188, 3.7},
    {"a100-80g-sxm-8x", 25, 228, 188, 3.7},
    {"a100-80g-sxm", 25, 228, 188, 3.7},
    {"a30-dram", 26, 0, 200, 0},
    {"a40-1tb", 25, 0, 200, 2},
    {"a40-2gpu-1tb", 25, 0, 200, 2},
    {"b200-sxm-8x", 50.5, 713, 282, 10.6},
    {"b200-sxm", 50.5, 713, 282, 10.6},
    {"b300-sxm-8x", 50.5, 713, 282, 10.6},
    {"b300-sxm", 50.5, 713, 282, 10.6},
    {"epyc-2-cores", 9.959, 0, 25.59, 2.423},
    {"h100-vm", 54.25, 0, 86.57, 2.897},
    {"h200-vm", 54.22, 0, 65.72, 3.505},
    {"gb200-4x", 225, 713, 1024, 10.6},
    {"h100-sxm-8x-s3", 50.5, 469, 282, 10.6},
    {"h100-sxm-8x-cxl", 50.5, 469, 282, 10.6},
    {"h100-sxm-8x", 50.5, 469, 282, 10.6},
    {"h100-sxm", 50.5, 469, 282, 10.6},
    {"h200-sxm-8x", 50.5, 470, 210, 10.6},
    {"h200-sxm", 50.5, 470, 210, 10.6},
    {"h800-dram", 51.8, 0, 200, 0},
    {"l20-dram", 26, 0, 200, 0},
    {"l40s-8x", 26.1, 0, 282, 3.7},
    {"l40s", 26.1, 0, 282, 3.7},
    {"phone-npu", 25, 0, 50, 2.8},
    {"rtx-4090-dram", 26, 0, 200, 0},
    {"rtx-4090", 26.8, 0, 70, 5},
    {"rtx-pro-6000-8x", 50.5, 0, 282, 10.6},
    {"rtx-pro-6000", 50.5, 0, 282, 10.6},
};

TEST(CatalogueFigures, OfLinksAreThoseThatWereWrittenDown) {
  for (const LinkFigures& figures : kLinks) {
    const std::string name = figures.name;
    const HardwareProfile server = load_hardware(name);
    expect_close(server.pcie.d2h_bandwidth_bytes_per_s / 1e9, figures.pcie_out, name + ": PCIe from the GPU");
    const double nvlink = server.nvlink ? server.nvlink->bandwidth_bytes_per_s : 0;
    expect_close(nvlink / 1e9, figures.nvlink, name + ": NVLink");
    expect_close(server.dram.value_or(Dram{}).bandwidth_bytes_per_s / 1e9, figures.dram, name + ": DRAM");
    expect_close(server.ssd.value_or(Ssd{}).write_bandwidth_bytes_per_s / 1e9, figures.ssd_write,
                 name + ": writing an SSD");
  }
  EXPECT_EQ(std::size(kLinks), std::size(kServers)) << "a server without figures here";
}

}  // namespace
}  // namespace kvcap::catalogue_figures_test
