// Acceptance, the drafter's time and memory, against sums done by hand.
#include "engine/speculation/speculation.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "cost/gpu_memory.h"
#include "cost/kv_layers.h"
#include "engine/step_time.h"
#include "laws/machines.h"
#include "run/engine_memory.h"

namespace kvcap::speculation_test {
namespace {

using laws::a100;
using laws::llama_2_7b;
using laws::llama_3_8b;

Speculation with_chance(int64_t drafts, double chance, uint64_t seed = 1) {
  return Speculation({.draft_tokens = drafts, .acceptance_length = acceptance_length_of(drafts, chance)},
                     llama_2_7b(), a100(), 1, seed);
}

// 1 + 1/2 + 1/4 + 1/8
TEST(Speculation, SolvesTheChanceThatALengthStandsFor) {
  EXPECT_DOUBLE_EQ(acceptance_length_of(3, 0.5), 1.875);
  EXPECT_NEAR(solve_chance(3, 1.875), 0.5, 1e-15);
  EXPECT_EQ(solve_chance(3, 1), 0);
  EXPECT_EQ(solve_chance(3, 4), 1);
  for (const double length : {1.001, 1.7, 3.2, 7.999}) {
    EXPECT_NEAR(acceptance_length_of(7, solve_chance(7, length)), length, 1e-12);
  }
  const Speculation given({.draft_tokens = 3, .acceptance_length = 1.875}, llama_2_7b(), a100(), 1, 1);
  EXPECT_NEAR(given.chances()[0], 0.5, 1e-15);
  EXPECT_NEAR(given.chances()[2], 0.125, 1e-15);
  // 0.875 of three drafts
  const Speculation rate({.draft_tokens = 3, .acceptance_rate = 0.875 / 3}, llama_2_7b(), a100(), 1, 1);
  EXPECT_NEAR(rate.chances()[0], 0.5, 1e-14);
  EXPECT_NEAR(rate.acceptance_length(3), 1.875, 1e-14);
  EXPECT_NEAR(rate.acceptance_length(2), 1.75, 1e-14);
}

// As vLLM counts them: of 100 drafts the first token was accepted 80 times, the second 40 times. A third one
// would be accepted as often as the second after the first: 0.4 x 0.5; a fourth 0.1.
TEST(Speculation, GoesOnWithTheLastRatioBehindThePositionsThatAreGiven) {
  SpeculativeOptions options{.draft_tokens = 4, .acceptance_by_position = {{0.8, 0.4}}};
  EXPECT_EQ(chances_of(options, llama_2_7b()), (std::vector<double>{0.8, 0.4, 0.2, 0.1}));
  EXPECT_DOUBLE_EQ(mean_tokens_of_step(options, llama_2_7b()), 2.5);
  options.acceptance_by_position = {{0.5}};
  EXPECT_EQ(chances_of(options, llama_2_7b()), (std::vector<double>{0.5, 0.25, 0.125, 0.0625}));
  options.acceptance_by_position = {{0.5, 0, 0}};
  EXPECT_EQ(chances_of(options, llama_2_7b()), (std::vector<double>{0.5, 0, 0, 0}));
  // A shorter draft is worth what its positions are.
  options = {.draft_tokens = 1, .acceptance_by_position = {{0.8, 0.4}}};
  EXPECT_DOUBLE_EQ(mean_tokens_of_step(options, llama_2_7b()), 1.8);
}

// Both yield 2.2 tokens with two drafts; with four drafts 0.8 + 0.4 + 0.2 + 0.1 are 2.5, and 0.6 + 0.6 + 0.6
// + 0.6 are 3.4.
TEST(Speculation, KnowsWhatALongerDraftIsWorthFromThePositions) {
  const auto length = [](int64_t drafts, const std::vector<double>& chances) {
    return mean_tokens_of_step({.draft_tokens = drafts, .acceptance_by_position = chances}, llama_2_7b());
  };
  EXPECT_NEAR(length(2, {0.8, 0.4}), length(2, {0.6, 0.6}), 1e-12);
  EXPECT_NEAR(length(4, {0.8, 0.4}), 2.5, 1e-12);
  EXPECT_NEAR(length(4, {0.6, 0.6}), 3.4, 1e-12);
}

TEST(Speculation, DraftsByTheLastRowThatTheBatchReaches) {
  const SpeculativeOptions options{.draft_tokens = 3, .drafts_by_batch = {{1, 5}, {65, 1}, {129, 0}}};
  for (const auto& [sequences, drafts] : {std::pair{1, 3}, {64, 3}, {65, 1}, {128, 1}, {129, 0}, {5000, 0}}) {
    EXPECT_EQ(drafts_of_batch(options, sequences), drafts) << sequences;
  }
  EXPECT_EQ(drafts_of_batch({.draft_tokens = 3}, 1000), 3);
}

// MTP layers of the checkpoint: 1 + 0.76, and 1 + 0.76 + 0.76 x 0.65 = 2.254. Heads of others: 1 + 0.6 + 0.6
// x 0.46 = 1.876. n-grams: 1 + 0.27 + 0.27^2. A draft model: 1 + 0.53 + 0.53^2.
TEST(Speculation, AssumesTheLowEndOfWhatIsPublishedWhereNoAcceptanceIsGiven) {
  ModelSpec own = llama_2_7b();
  own.draft_layers = 1;
  const SpeculativeOptions one{.method = DraftMethod::layers, .draft_tokens = 1};
  const SpeculativeOptions two{.method = DraftMethod::layers, .draft_tokens = 2};
  EXPECT_NEAR(mean_tokens_of_step(one, own), 1.76, 1e-12);
  EXPECT_NEAR(mean_tokens_of_step(two, own), 2.254, 1e-12);
  EXPECT_NEAR(mean_tokens_of_step(two, llama_2_7b()), 1.876, 1e-12);
  EXPECT_NEAR(mean_tokens_of_step({.draft_tokens = 2}, own), 1.3429, 1e-12);
  EXPECT_NEAR(mean_tokens_of_step({.method = DraftMethod::draft_model, .draft_tokens = 2}, own), 1.8109,
              1e-12);
  EXPECT_NEAR(Speculation(two, own, a100(), 1, 1).acceptance_length(2), 2.254, 1e-12);
  EXPECT_NEAR(Speculation(two, own, a100(), 1, 1).acceptance_length(1), 1.76, 1e-12);
  // None is above what its sources print.
  const auto of = [&](DraftMethod method, int64_t drafts, const ModelSpec& model) {
    return mean_tokens_of_step({.method = method, .draft_tokens = drafts}, model);
  };
  EXPECT_LE(of(DraftMethod::layers, 7, own), 3.09);
  EXPECT_LE(of(DraftMethod::layers, 2, llama_2_7b()), 1.89);
  EXPECT_LE(of(DraftMethod::layers, 4, llama_2_7b()), 2.08);
  EXPECT_LE(of(DraftMethod::layers, 7, llama_2_7b()), 2.46);
  EXPECT_LE(of(DraftMethod::ngram, 1024, own), 1.37);
}

// With r = 1/2 a second token comes with the chance 1/2, a third with 1/4, a fourth with 1/8.
TEST(Speculation, AcceptsDraftsFromTheFrontUntilOneIsNot) {
  const std::vector<double> half = {0.5, 0.25, 0.125};
  EXPECT_EQ(tokens_of_step(0.51, 3, half), 1);
  EXPECT_EQ(tokens_of_step(0.49, 3, half), 2);
  EXPECT_EQ(tokens_of_step(0.24, 3, half), 3);
  EXPECT_EQ(tokens_of_step(0.12, 3, half), 4);
  EXPECT_EQ(tokens_of_step(0.12, 2, half), 3);  // of two drafts
  EXPECT_EQ(tokens_of_step(0.12, 0, half), 1);
  EXPECT_EQ(tokens_of_step(1e-9, 3, std::vector<double>{0, 0, 0}), 1);
  EXPECT_EQ(tokens_of_step(1 - 1e-9, 3, std::vector<double>{1, 1, 1}), 4);
}

TEST(Speculation, YieldsTheLengthInTheMeanAndEachNumberOfTokensWithItsChance) {
  const double chance = 0.7;
  const Speculation speculation = with_chance(3, chance);
  constexpr int64_t kSteps = 40'000;
  std::array<double, 5> times{};
  double sum = 0;
  for (int64_t i = 0; i < kSteps; ++i) {
    const int64_t tokens =
        speculation.tokens(static_cast<uint32_t>(i / 200), static_cast<uint32_t>(i % 3), i % 200, 3);
    ASSERT_TRUE(tokens >= 1 && tokens <= 4);
    ++times[static_cast<std::size_t>(tokens)];
    sum += static_cast<double>(tokens);
  }
  // 1 + 0.7 + 0.49 + 0.343; one standard deviation of a step is about 1.2
  EXPECT_NEAR(sum / kSteps, 2.533, 4 * 1.2 / std::sqrt(kSteps));
  const std::array<double, 5> chances = {0, 0.3, 0.7 * 0.3, 0.49 * 0.3, 0.343};
  for (std::size_t tokens = 1; tokens <= 4; ++tokens) {
    const double expected = kSteps * chances[tokens];
    EXPECT_NEAR(times[tokens], expected, 4 * std::sqrt(expected)) << tokens;
  }
}

TEST(Speculation, DrawsFromTheSeedTheTurnAndThePlaceAlone) {
  const Speculation one = with_chance(7, 0.8), other = with_chance(7, 0.8, 2);
  std::array<int64_t, 4> differ{};
  for (int64_t at = 0; at < 100; ++at) {
    const int64_t tokens = one.tokens(5, 1, at, 7);
    EXPECT_EQ(one.tokens(5, 1, at, 7), tokens);
    EXPECT_LE(one.tokens(5, 1, at, 3), std::min<int64_t>(tokens, 4));
    differ[0] += other.tokens(5, 1, at, 7) != tokens;
    differ[1] += one.tokens(6, 1, at, 7) != tokens;
    differ[2] += one.tokens(5, 2, at, 7) != tokens;
    differ[3] += one.tokens(5, 1, at + 1, 7) != tokens;
  }
  for (const int64_t places : differ) EXPECT_GT(places, 30);
}

// ---- time ----

TEST(Speculation, OfNgramsTakesNoTimeOfTheGpu) {
  EXPECT_EQ(with_chance(3, 0.5).drafter_s({}, {.sequences = 8, .context_tokens = 9000, .drafts = 24}), 0);
  EXPECT_EQ(with_chance(3, 0.5).lookahead_tokens(), 0);
  EXPECT_FALSE(with_chance(3, 0.5).drops_last_block());
}

// 4 sequences of 500 tokens and 3 drafts each, beside a prompt of 100 tokens. The first pass computes all 116
// rows, two more one row of each of five sequences, over contexts that grow by a token each.
TEST(Speculation, OfADraftModelTakesAPassOverTheStepAndOneForEachFurtherDraft) {
  ModelSpec small = llama_2_7b();
  small.num_hidden_layers = 4;
  const Speculation speculation(
      {.method = DraftMethod::draft_model, .draft_tokens = 3, .acceptance_rate = 0.5, .draft_model = small},
      llama_2_7b(), a100(), 1, 1);
  const std::vector<PrefillChunk> prompt = {{100, 0}};
  const Decodes decodes{.sequences = 4, .context_tokens = 4 * 504, .drafts = 12};
  const CostModel cost(small, a100(), 1);
  const double first_s = 4 * (cost.linear_layer_s(116) + cost.attention_layer_s(prompt) +
                              cost.decode_attentions_layer_s(4, 4).at_s(4 * 504)) +
                         cost.head_s(5);
  const double further_s =
      cost.decode_step_s(5, 4 * 504 + 100 + 5) + cost.decode_step_s(5, 4 * 504 + 100 + 10);
  EXPECT_NEAR(speculation.drafter_s(prompt, decodes), first_s + further_s, 1e-12);
  EXPECT_EQ(speculation.lookahead_tokens(), 3);
  EXPECT_FALSE(speculation.drops_last_block());
}

// 0 drafts: the pass over the step's rows remains. 2 sequences and a prompt are a batch of 3.
TEST(Speculation, PassesAsOftenAsTheBatchHasDrafts) {
  SpeculativeOptions options{.method = DraftMethod::layers, .draft_tokens = 2, .acceptance_rate = 0.5};
  const auto drafter_s = [&options] {
    const std::vector<PrefillChunk> prompt = {{100, 0}};
    const Decodes decodes{.sequences = 2, .context_tokens = 999, .drafts = 2};
    return Speculation(options, llama_2_7b(), a100(), 1, 1).drafter_s(prompt, decodes);
  };
  const double two_s = drafter_s();
  options.drafts_by_batch = {{1, 2}, {3, 1}};
  const double one_s = drafter_s();
  options.drafts_by_batch = {{1, 2}, {3, 0}};
  EXPECT_EQ(drafter_s(), one_s);
  options.drafts_by_batch = {{1, 2}, {4, 1}};
  EXPECT_EQ(drafter_s(), two_s);
  EXPECT_LT(one_s, two_s);
  EXPECT_GT(one_s, 0);
}

TEST(Speculation, OfLayersTakesAsLongAsAModelOfThoseLayers) {
  ModelSpec one = llama_2_7b();
  one.num_hidden_layers = 1;
  SpeculativeOptions layers{.method = DraftMethod::layers, .draft_tokens = 2, .acceptance_rate = 0.5};
  SpeculativeOptions model = layers;
  model.method = DraftMethod::draft_model;
  model.draft_model = one;
  const Decodes decodes{.sequences = 3, .context_tokens = 999, .drafts = 6};
  const Speculation of_layers(layers, llama_2_7b(), a100(), 1, 1),
      of_model(model, llama_2_7b(), a100(), 1, 1);
  EXPECT_GT(of_layers.drafter_s({}, decodes), 0);
  EXPECT_EQ(of_layers.drafter_s({}, decodes), of_model.drafter_s({}, decodes));
  EXPECT_TRUE(of_layers.drops_last_block());
  layers.draft_layers = 2;
  EXPECT_GT(Speculation(layers, llama_2_7b(), a100(), 1, 1).drafter_s({}, decodes),
            of_layers.drafter_s({}, decodes));
}

// Bytes: K and V of a token, 2 x 4096 x 2, at 1555 GB/s, 10.5 ns; flops: 4 x 4096 a query, at 0.5 x 312
// Tflops. So 100 queries of a sequence take as long as one, and 1,000 take 1000 x 16384 / 156e12 = 105 ns a
// token.
TEST(Verification, ReadsAContextOnceAndMultipliesItOnceForEachRow) {
  const CostModel cost(llama_2_7b(), a100(), 1);
  const auto token_s = [&](int64_t queries) {
    return cost.decode_attention_layer_s(8, queries).per_context_token_s;
  };
  EXPECT_DOUBLE_EQ(token_s(1), 16384 / 1555e9);
  EXPECT_DOUBLE_EQ(token_s(100), token_s(1));
  EXPECT_NEAR(token_s(1000), 1000 * 16384.0 / 156e12, 1e-15);
}

TEST(Verification, OfNoDraftsIsADecodeStep) {
  const CostModel cost(llama_2_7b(), a100(), 1);
  const StepTime times(cost, {});
  EXPECT_EQ(times.mixed_s({}, {.sequences = 8, .context_tokens = 4000}, 8), cost.decode_step_s(8, 4000));
  EXPECT_EQ((Decodes{.sequences = 4, .context_tokens = 0, .drafts = 0}.queries()), 1);
  EXPECT_EQ((Decodes{.sequences = 4, .context_tokens = 0, .drafts = 11}.queries()), 4);
  EXPECT_EQ((Decodes{.sequences = 4, .context_tokens = 0, .drafts = 12}.queries()), 4);
  EXPECT_EQ((Decodes{.sequences = 4, .context_tokens = 0, .drafts = 12}.rows()), 16);
}

// ---- memory ----

// A layer of Llama 3 8B: queries and output 2 x 4096^2, keys and values 2 x 4096 x 1024, three matrices of
// 4096 x 14336, two norms of 4096; two bytes each. Its KV: 2 x 8 x 128 x 2 bytes.
TEST(DraftMemory, OfLayersIsThatOfTheLayersAlone) {
  const SpeculativeOptions options{.method = DraftMethod::layers, .draft_tokens = 3, .draft_layers = 2};
  const DraftMemory memory = draft_memory(options, llama_3_8b(), 1);
  const double elements = 2 * 4096.0 * 4096 + 2 * 4096.0 * 1024 + 3 * 4096.0 * 14336 + 2 * 4096;
  EXPECT_DOUBLE_EQ(memory.weight_bytes, 2 * elements * 2);
  EXPECT_EQ(memory.kv_bytes_per_token, 2 * 4096);
}

// Eight experts of three matrices of 4096 x 14336: two ranks have four each.
TEST(DraftMemory, OfLayersHasTheExpertsOfItsRank) {
  ModelSpec sparse = llama_3_8b();
  sparse.experts = Experts{.count = 8, .active = 2, .intermediate_size = 14336};
  const SpeculativeOptions options{.method = DraftMethod::layers, .draft_tokens = 3};
  const double all = draft_memory(options, sparse, 1).weight_bytes;
  const ExpertPlacement two{.ranks = 2, .expert_parallel = true};
  EXPECT_NEAR(all - draft_memory(options, sparse, 1, two).weight_bytes, 4 * 3 * 4096.0 * 14336 * 2, 1);
}

TEST(DraftMemory, OfADraftModelIsAllOfIt) {
  const SpeculativeOptions options{
      .method = DraftMethod::draft_model, .draft_tokens = 3, .draft_model = llama_3_8b()};
  const DraftMemory memory = draft_memory(options, llama_2_7b(), 2);
  EXPECT_EQ(memory.weight_bytes, loaded_weight_bytes(llama_3_8b(), 2));
  EXPECT_EQ(memory.kv_bytes_per_token, 32 * 4096 / 2);
  EXPECT_EQ(draft_memory({.draft_tokens = 3}, llama_2_7b(), 1).weight_bytes, 0);
  SpeculativeOptions off = options;
  off.draft_tokens = 0;
  EXPECT_EQ(draft_memory(off, llama_2_7b(), 1).weight_bytes, 0);
}

// A block of 16 tokens: 16 x 131,072 bytes of the model, 16 x 4,096 of the drafter.
TEST(DraftMemory, TakesItsShareOfWhatIsLeftForKv) {
  EngineSettings settings;
  const HardwareProfile hardware = a100();
  const GpuMemory plain = gpu_memory(llama_3_8b(), hardware, settings);
  settings.draft = draft_memory({.method = DraftMethod::layers, .draft_tokens = 1}, llama_3_8b(), 1);
  const GpuMemory drafting = gpu_memory(llama_3_8b(), hardware, settings);
  EXPECT_EQ(drafting.block_bytes, 16 * (131072 + 4096));
  EXPECT_DOUBLE_EQ(plain.kv_bytes - drafting.kv_bytes, settings.draft.weight_bytes);
  EXPECT_EQ(drafting.blocks, static_cast<int64_t>(std::floor(drafting.kv_bytes / drafting.block_bytes)));
  settings.capacity_model = KvCapacityModel::simple;
  const GpuMemory simple = gpu_memory(llama_3_8b(), hardware, settings);
  const double free_bytes = 0.9 * hardware.gpu.memory_bytes - simple.bytes(true);
  EXPECT_EQ(simple.tokens, static_cast<int64_t>(std::floor(free_bytes / drafting.block_bytes)) * 16);
  ASSERT_EQ(simple.terms.size(), 3U);
  EXPECT_DOUBLE_EQ(simple.terms[0].bytes + simple.terms[1].bytes,
                   llama_3_8b().weight_bytes() + settings.draft.weight_bytes);
}

// Two groups share the blocks: for two blocks of the pool the drafter keeps one block's tokens.
TEST(DraftMemory, BesideGroupsOfLayersCountsTheTokensOfTheCapacity) {
  const KvLayers full{.layers = 4, .bytes_per_token = 256};
  const KvLayers sliding{.rule = KvRule::window, .layers = 4, .tokens = 24, .bytes_per_token = 256};
  const std::vector<KvLayers> kinds = {full, sliding};
  const KvLayout layout = kv_layout(kinds, 16);
  ASSERT_EQ(layout.groups.size(), 2U);
  const DraftMemory memory{.kv_bytes_per_token = 100};
  EXPECT_EQ(memory.block_bytes(layout), 4 * 16 * 256 + 100 * 16 / 2);
}

}  // namespace
}  // namespace kvcap::speculation_test
