// The layers of pipeline stages and the memory of the fullest one.
#include "cost/pipeline_stages.h"

#include <gtest/gtest.h>

#include <vector>

#include "cost/gpu_memory.h"
#include "unit/cost_examples.h"

namespace kvcap::pipeline_stages_test {
namespace {

std::vector<int64_t> layers_of(int64_t layers, int64_t stages) {
  std::vector<int64_t> counts;
  int64_t first = 0;
  for (const PipelineStage& stage : pipeline_stages(layers, stages)) {
    EXPECT_EQ(stage.first_layer, first);
    first += stage.layers;
    counts.push_back(stage.layers);
  }
  EXPECT_EQ(first, layers);
  return counts;
}

TEST(PipelineStages, GiveTheRestToTheStagesBeforeTheLast) {
  EXPECT_EQ(layers_of(32, 1), (std::vector<int64_t>{32}));
  EXPECT_EQ(layers_of(32, 4), (std::vector<int64_t>{8, 8, 8, 8}));
  EXPECT_EQ(layers_of(61, 2), (std::vector<int64_t>{31, 30}));
  EXPECT_EQ(layers_of(61, 4), (std::vector<int64_t>{15, 15, 16, 15}));
  EXPECT_EQ(layers_of(62, 4), (std::vector<int64_t>{15, 16, 16, 15}));
}

TEST(PipelineStages, EmbedFirstAndSampleLast) {
  const std::vector<PipelineStage> stages = pipeline_stages(6, 3);
  EXPECT_TRUE(stages[0].embeds && !stages[1].embeds && !stages[2].embeds);
  EXPECT_TRUE(!stages[0].samples && !stages[1].samples && stages[2].samples);
}

TEST(PipelineStages, KeepTheDenseLayersOfAModelWithExpertsInFront) {
  const ModelSpec model = deepseek_v2();  // one dense layer of 60
  const std::vector<PipelineStage> stages = pipeline_stages(60, 2);
  EXPECT_EQ(model_of_stage(model, stages[0]).experts->dense_layers, 1);
  EXPECT_EQ(model_of_stage(model, stages[1]).experts->dense_layers, 0);
  EXPECT_EQ(model_of_stage(model, stages[1]).num_hidden_layers, 30);
}

// The stages' weights are those of the model, once the norm before the output and the table of rotary
// positions that each has are counted once.
TEST(PipelineStages, HaveAllWeightsTogether) {
  const ModelSpec model = llama_2_7b();
  double sum = 0;
  for (const PipelineStage& stage : pipeline_stages(32, 4)) {
    sum += loaded_weight_bytes(model_of_stage(model, stage), 1, {}, stage);
  }
  const double of_each = 2.0 * (4096 + static_cast<double>(model.max_position_embeddings) * 128);
  EXPECT_DOUBLE_EQ(sum, loaded_weight_bytes(model, 1) + 3 * of_each);
  // Tied embeddings are on the first and on the last stage.
  ModelSpec tied = model;
  tied.tie_word_embeddings = true;
  const std::vector<PipelineStage> stages = pipeline_stages(32, 2);
  EXPECT_DOUBLE_EQ(loaded_weight_bytes(model_of_stage(tied, stages[0]), 1, {}, stages[0]),
                   loaded_weight_bytes(model_of_stage(tied, stages[1]), 1, {}, stages[1]));
}

TEST(PipelineStages, HaveTheBlocksOfTheFullestOne) {
  HardwareProfile hardware = machine();
  hardware.gpu.reported_memory_bytes = 40 * kGiB;
  const ModelSpec model = llama_2_7b();
  const GpuMemory halves = gpu_memory(model, hardware, {.pipeline_parallel_size = 2});
  // The last one: 16 layers and the output projection; the sampler's rows exceed those of the first.
  const PipelineStage last = pipeline_stages(32, 2)[1];
  EXPECT_DOUBLE_EQ(halves.weight_bytes, loaded_weight_bytes(model_of_stage(model, last), 1, {}, last));
  EXPECT_DOUBLE_EQ(halves.block_bytes, 16.0 * 16 * 2 * 4096 * 2);
  EXPECT_EQ(halves.tokens, 16 * halves.blocks);
  // By shapes: half of the layers and one of two equal vocabulary projections.
  const GpuMemory simple =
      gpu_memory(model, hardware, {.pipeline_parallel_size = 2, .capacity_model = KvCapacityModel::simple});
  const double vocabulary = 32000.0 * 4096;
  EXPECT_NEAR(simple.weight_bytes, model.weight_bytes() / 2, 2 * (4096 + vocabulary) * 1e-3);
}

}  // namespace
}  // namespace kvcap::pipeline_stages_test
