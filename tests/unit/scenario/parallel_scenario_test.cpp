// Sizes of decode context and pipeline parallelism that engines refuse or kvcap does not simulate.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/input_error.h"
#include "run/engine_memory.h"
#include "scenario/load.h"
#include "unit/scenario_samples.h"

namespace kvcap::parallel_scenario_test {
namespace {

// Qwen3-235B-A22B: 64 query heads and 4 KV heads.
std::string error_of(std::vector<std::string> overrides) {
  const std::vector<std::string> first = {"model=qwen3-235b-a22b", "hardware=h200-sxm-8x"};
  overrides.insert(overrides.begin(), first.begin(), first.end());
  try {
    parse_scenario(sample_scenario(), "chat.json", overrides);
    return "accepted";
  } catch (const InputError& error) {
    const std::string text = error.what();
    const std::size_t allowed = text.find("allowed: ");
    return text.substr(allowed == std::string::npos ? 0 : allowed + 9);
  }
}

std::string context_error(const std::string& parts, std::vector<std::string> more) {
  more.push_back("serving.decode_context_parallel_size=" + parts);
  return error_of(std::move(more));
}

// Phi-4 has 40 query heads and 10 KV heads: four GPUs divide only the first, and 20 GPUs keep two copies.
TEST(TensorParallelSize, DividesTheKvHeadsOrCopiesThemEvenly) {
  const auto error = [](const std::string& size) {
    return error_of({"model=phi-4", "hardware.gpu.count=20", "serving.tensor_parallel_size=" + size});
  };
  for (const char* size : {"1", "2", "5", "10", "20"}) EXPECT_EQ(error(size), "accepted") << size;
  EXPECT_EQ(error("4"), "a divisor or a multiple of the 10 KV heads (model.num_key_value_heads)");
  EXPECT_EQ(error("8"), "a divisor or a multiple of the 10 KV heads (model.num_key_value_heads)");
  EXPECT_EQ(error("3"), "a divisor of model.num_attention_heads = 40");
  EXPECT_EQ(error_of({"model=phi-4", "serving.tensor_parallel_size=4", "serving.engine=trtllm"}), "accepted")
      << "it rounds the heads of a GPU up";
}

// Experts of 768 columns have six blocks of 128: two GPUs get three each. From 0.29 on, vLLM makes blocks
// of 32.
TEST(TensorParallelSize, CutsNoBlockOfFp8WeightsOfAnExpert) {
  const auto error = [](const std::string& size, const std::vector<std::string>& more) {
    std::vector<std::string> all = {"model=qwen3-30b-a3b-fp8", "serving.tensor_parallel_size=" + size};
    all.insert(all.end(), more.begin(), more.end());
    return error_of(all);
  };
  const std::string allowed =
      "a size that divides the 768 columns of an expert into whole blocks of 128 (model.weight_block_size), "
      "or "
      "serving.expert_parallel";
  const std::string old = "serving.engine_version=\"0.28\"", next = "serving.engine_version=\"0.29\"";
  EXPECT_EQ(error("2", {old}), "accepted");
  EXPECT_EQ(error("4", {old}), allowed);
  EXPECT_EQ(error("4", {next}), "accepted");
  EXPECT_EQ(error("8", {next}), "accepted");
  EXPECT_EQ(error("2", {old, "serving.data_parallel_size=2"}), allowed) << "ranks share the experts";
  EXPECT_EQ(error("4", {old, "serving.expert_parallel=true"}), "accepted");
  EXPECT_EQ(error("4", {"serving.engine=sglang"}), allowed);
  EXPECT_EQ(error("4", {"serving.engine=trtllm"}), "accepted");
  EXPECT_EQ(error("4", {old, "model=qwen3-30b-a3b"}), "accepted");
  EXPECT_EQ(error("8", {old, "model=glm-4.5-fp8"}), "accepted") << "a scale per column";
}

// 512 columns: eight GPUs divide them even if routed experts are whole, unless ranks exchange tokens.
TEST(TensorParallelSize, CutsNoBlockOfFp8WeightsOfSharedExperts) {
  const std::string allowed =
      "a size that divides the 512 columns of the shared experts into whole blocks of 128 "
      "(model.weight_block_size)";
  const auto error = [](const std::string& size, const std::string& ranks) {
    return error_of({"model=qwen3-next-80b-a3b-fp8", "serving.tensor_parallel_size=" + size,
                     "serving.data_parallel_size=" + ranks, "serving.expert_parallel=true",
                     "hardware.gpu.count=16"});
  };
  EXPECT_EQ(error("4", "1"), "accepted");
  EXPECT_EQ(error("8", "1"), allowed);
  EXPECT_EQ(error("8", "2"), "accepted");
}

TEST(TensorParallelSize, CutsNoBlockOfFp8WeightsOfAnFfn) {
  EXPECT_EQ(error_of({"model=qwen3-4b-fp8", "serving.tensor_parallel_size=4"}), "accepted");
  EXPECT_EQ(
      error_of({"model=qwen3-4b-fp8", "serving.tensor_parallel_size=8"}),
      "a size that divides the 9728 columns of an FFN into whole blocks of 128 (model.weight_block_size)");
}

TEST(DecodeContextParallelSize, IsAtMostTheCopiesOfTheKvHeads) {
  const std::string eight = "serving.tensor_parallel_size=8";
  EXPECT_EQ(context_error("2", {eight}), "accepted");
  EXPECT_EQ(context_error("4", {eight}),
            "at most 2, the copies of 4 KV heads with serving.tensor_parallel_size = 8");
  EXPECT_EQ(context_error("2", {"serving.tensor_parallel_size=4"}),
            "at most 1, the copies of 4 KV heads with serving.tensor_parallel_size = 4");
  EXPECT_EQ(context_error("3", {eight}), "a divisor of serving.tensor_parallel_size = 8");
}

TEST(DecodeContextParallelSize, MayHaveTheWholeGroupShareALatent) {
  EXPECT_EQ(context_error("8", {"model=deepseek-v3", "serving.tensor_parallel_size=8"}), "accepted");
}

TEST(DecodeContextParallelSize, GivesEachGpuTheSameQueries) {
  const std::vector<std::string> three = {"serving.tensor_parallel_size=6", "model.num_attention_heads=12",
                                          "model.num_key_value_heads=3"};
  EXPECT_EQ(context_error("2", three), "accepted");
  EXPECT_EQ(context_error("2", {"serving.tensor_parallel_size=2", "model.num_attention_heads=6",
                                "model.num_key_value_heads=1", "model.head_dim=128"}),
            "accepted");
  EXPECT_EQ(context_error("2", {"serving.tensor_parallel_size=6", "model.num_attention_heads=6",
                                "model.num_key_value_heads=2"}),
            "a divisor of the 3 query heads of a KV head");
}

TEST(DecodeContextParallelSize, IsRefusedWhereNoEngineDividesTheContext) {
  const std::string eight = "serving.tensor_parallel_size=8";
  EXPECT_EQ(context_error("2", {eight, "serving.engine=sglang"}), "1 with an engine other than vllm");
  EXPECT_EQ(context_error("8", {eight, "model=gpt-oss-120b"}),
            "1 for a model whose layers keep different parts of their context (vLLM divides none of them)");
  EXPECT_EQ(context_error("2", {eight, R"(serving.speculative={"draft_tokens":2,"acceptance_rate":0.5})"}),
            "1 with serving.speculative (a drafter's KV is not divided here)");
  EXPECT_EQ(context_error("2", {eight, R"(policy={"name":"hcache"})"}),
            R"(1 with policy.restore "project" (only none, recompute and load are simulated with a divided )"
            "context)");
  EXPECT_EQ(context_error("2", {eight, R"(policy={"name":"vllm_offload"})"}), "accepted");
}

std::string stages_error(const std::string& stages, std::vector<std::string> more) {
  more.push_back("serving.pipeline_parallel_size=" + stages);
  return error_of(std::move(more));
}

TEST(PipelineParallelSize, HasItsGpusOnOneNode) {
  EXPECT_EQ(stages_error("4", {"serving.tensor_parallel_size=2"}), "accepted");
  EXPECT_EQ(
      stages_error("4", {"serving.tensor_parallel_size=4"}),
      "at most 2: its product with serving.tensor_parallel_size = 4 must not exceed hardware.gpu.count = 8 "
      "(stages on several nodes are not simulated)");
  EXPECT_EQ(
      stages_error("4",
                   {"model=llama-3.1-8b", "serving.tensor_parallel_size=1", "serving.data_parallel_size=4"}),
      "at most 2: its product with serving.tensor_parallel_size = 1 and serving.pipeline_parallel_size = 4 "
      "must not exceed hardware.gpu.count = 8");
  EXPECT_EQ(stages_error("2", {"model=llama-3.1-8b", "model.num_hidden_layers=1"}),
            "at most model.num_hidden_layers = 1");
}

TEST(PipelineParallelSize, IsRefusedWhereItIsNotSimulated) {
  EXPECT_EQ(stages_error("2", {"serving.engine=sglang"}),
            "1 with an engine other than vllm (others divide the requests among the stages' batches)");
  EXPECT_EQ(stages_error("2", {"model=gpt-oss-120b"}),
            "1 for a model with model.layer_groups (their order is not known)");
  EXPECT_EQ(stages_error("2", {"serving.data_parallel_size=2"}),
            "1 for a model with experts with serving.data_parallel_size of 2 or more (its ranks step "
            "together)");
  EXPECT_EQ(stages_error("2", {R"(policy={"name":"hcache"})"}),
            R"(1 with policy.restore "project" (only none, recompute and load are simulated in stages))");
  EXPECT_EQ(stages_error("2", {R"(policy={"name":"kv_offload","preload":"layerwise"})"}),
            R"(1 with policy.preload "layerwise" (layers that are computed while others are loaded are not )"
            "simulated in stages)");
  EXPECT_EQ(stages_error("2", {R"(policy={"name":"vllm_offload"})"}), "accepted");
}

}  // namespace
}  // namespace kvcap::parallel_scenario_test
