// Attention kernels against sums done by hand: prompts of a step in one call, decode with constants of its
// own, decoding rows in the prompts' kernel; and what holds for all of them.
#include "cost/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

#include "cost/cost_model.h"
#include "engine/step_time.h"
#include "unit/cost_examples.h"

namespace kvcap::attention_test {
namespace {

// 100 SMs, so that one block does 300e12 x 0.5 / 100 = 1.5e12 flops/s, and a key of 64 rows and 128
// dimensions, 4 * 64 * 128 flops, takes 21.845 ns.
constexpr double kKey_s = 4 * 64 * 128 / (kPeakFlops * 0.5 / 100);

Efficiency blocks(double wave_tail = 1, bool packed_heads = false) {
  return {.model = EfficiencyModel::blocks,
          .efficiency = 0.5,
          .bandwidth_efficiency = 1,
          .constant_s = 5e-6,
          .block_m = 64,
          .block_s = 2e-6,
          .wave_tail = wave_tail,
          .packed_heads = packed_heads};
}

// 32 query heads of 128.
ModelSpec with_kv_heads(int64_t kv_heads) {
  ModelSpec model = llama_2_7b();
  model.num_key_value_heads = kv_heads;
  return model;
}

CostModel cost_of(const Efficiency& attention, int64_t kv_heads = 8, double bandwidth = 1e30) {
  HardwareProfile hardware = machine(bandwidth);
  hardware.gpu.attention = attention;
  return CostModel(with_kv_heads(kv_heads), hardware, 1);
}

// 65 rows of a sequence that verifies drafts are two blocks of 64, each over the whole context: 50 sequences
// with two as 100 sequences with one.
TEST(Verification, InThePromptsKernelTakesAsManyBlocksAsItsRowsNeed) {
  const std::vector<PrefillChunk> prompt = {{64, 0}};
  const CostModel cost = cost_of(blocks());
  EXPECT_DOUBLE_EQ(cost.mixed_attention_layer_s(prompt, 50, 25000, 65),
                   cost.mixed_attention_layer_s(prompt, 100, 50000));
  EXPECT_DOUBLE_EQ(cost.mixed_attention_layer_s(prompt, 50, 25000, 64),
                   cost.mixed_attention_layer_s(prompt, 50, 25000));
}

TEST(AttentionCall, OfSixteenShortPromptsCostsAboutAsMuchAsOfOne) {
  // One prompt of 64 tokens: 32 blocks, one wave. Sixteen: 512 blocks, six waves of 64 + 32 keys (wave: the
  // mean of a chunk is 64/2 + 64/2 keys), and the constant of 10 us once, not sixteen times.
  const std::vector<PrefillChunk> prompts(16, {64, 0});
  const CostModel cost = cost_of(wave());
  const double key_s = 4 * 64 * 128 / (kPeakFlops * 0.8 / 100);
  EXPECT_NEAR(cost.attention_layer_s(PrefillChunk{64, 0}), 64 * key_s + 10e-6, 1e-15);
  EXPECT_NEAR(cost.attention_layer_s(prompts), 6 * 64 * key_s + 10e-6, 1e-15);
  EXPECT_LT(cost.attention_layer_s(prompts), 1.5 * cost.attention_layer_s(prompts[0]));
}

TEST(AttentionCall, AddsFlopsAndBytesOfAllPromptsWithARoofline) {
  // 100 over 0 and 50 over 200: 100^2/2 + 50 * 200 + 50^2/2 pairs.
  const std::vector<PrefillChunk> prompts = {{100, 0}, {50, 200}};
  const double pairs = 5000 + 10000 + 1250;
  EXPECT_NEAR(cost_of(smooth_max(0.5, 1, 4e-6)).attention_layer_s(prompts),
              4 * 32 * 128 * pairs / (kPeakFlops * 0.5) + 4e-6, 1e-15);
}

TEST(AttentionCall, StartsTheLongestBlocksOfAllPromptsFirst) {
  // wave, chunks of 128 over 872 and over 0: 64 blocks of 872 + 64 + 32 keys and 64 of 64 + 32. The second
  // wave begins with the 101st block, a short one.
  const double key_s = 4 * 64 * 128 / (kPeakFlops * 0.8 / 100);
  const std::vector<PrefillChunk> prompts = {{128, 0}, {128, 872}};
  EXPECT_NEAR(cost_of(wave()).attention_layer_s(prompts), (968 + 96) * key_s + 10e-6, 1e-15);
}

TEST(AttentionBlocks, GiveEveryRowBlockTheKeysThatItSees) {
  // 200 rows over 1000 keys: row blocks of 1200, 1192, 1128 and 1064 keys, 32 of each on 100 SMs. The second
  // wave begins with the 101st block, which has 1064 keys; every block takes 2 us beside its keys.
  const double waves_s = (1200 + 1064) * kKey_s + 2 * 2e-6;
  EXPECT_NEAR(cost_of(blocks()).attention_layer_s(PrefillChunk{200, 1000}), waves_s + 5e-6, 1e-14);
}

TEST(AttentionBlocks, OfAPersistentKernelWaitForNoWave) {
  // As above, with no idle time at the ends of waves: (1200 + 1192 + 1128 + 1064) * 32 / 100 keys, which is
  // more than the longest block.
  const double work_s = (1200 + 1192 + 1128 + 1064) * 0.32 * kKey_s + 1.28 * 2e-6;
  EXPECT_NEAR(cost_of(blocks(0)).attention_layer_s(PrefillChunk{200, 1000}), work_s + 5e-6, 1e-14);
  // 16 rows: 32 blocks on 100 SMs last as long as one of them.
  EXPECT_NEAR(cost_of(blocks(0)).attention_layer_s(PrefillChunk{16, 1000}), 1016 * kKey_s + 2e-6 + 5e-6,
              1e-14);
}

TEST(AttentionBlocks, OfPaddedRowsReadTheWholePrefixOfShorterPrompts) {
  // 128 and 1 rows over 1000 keys: row blocks of 1128, 1064 and 1001 keys, and one of 1000 keys that has no
  // query, 32 of each on 100 SMs.
  Efficiency padded = blocks(0);
  padded.padded_rows = true;
  const std::vector<PrefillChunk> prompts = {{128, 1000}, {1, 1000}};
  const double work_s = (1128 + 1064 + 1001 + 1000) * 0.32 * kKey_s + 1.28 * 2e-6;
  EXPECT_NEAR(cost_of(padded).attention_layer_s(prompts), work_s + 5e-6, 1e-14);
  // Without a prefix there is nothing to read, and a prompt alone has no others' rows.
  EXPECT_EQ(cost_of(padded).attention_layer_s(std::vector<PrefillChunk>{{128, 0}, {1, 0}}),
            cost_of(blocks(0)).attention_layer_s(std::vector<PrefillChunk>{{128, 0}, {1, 0}}));
  EXPECT_EQ(cost_of(padded).attention_layer_s(PrefillChunk{200, 1000}),
            cost_of(blocks(0)).attention_layer_s(PrefillChunk{200, 1000}));
}

TEST(AttentionBlocks, PackTheQueryHeadsOfAKvHead) {
  // Four query heads share a KV head: 16 tokens are 64 rows, one block for each of the eight KV heads. Of 30
  // tokens, 120 rows, the first block ends with token 16.
  const CostModel cost = cost_of(blocks(1, true));
  EXPECT_NEAR(cost.attention_layer_s(PrefillChunk{16, 1000}), 1016 * kKey_s + 2e-6 + 5e-6, 1e-14);
  const std::vector<PrefillChunk> prompts(10, {30, 1000});  // 80 blocks of 1030 keys and 80 of 1016
  EXPECT_NEAR(cost.attention_layer_s(prompts), (1030 + 1016) * kKey_s + 2 * 2e-6 + 5e-6, 1e-14);
}

// An empty prompt adds no block, but both together are summed up block by block, not in closed form.
TEST(AttentionBlocks, OfAPromptAloneTakeAsLongAsBesideAnEmptyOne) {
  std::mt19937_64 dice(1);
  const auto draw = [&](int64_t from, int64_t to) {
    return std::uniform_int_distribution<int64_t>(from, to)(dice);
  };
  for (int i = 0; i < 3000; ++i) {
    Gpu gpu = machine(1e30).gpu;
    gpu.sm_count = draw(1, 150);
    Efficiency kernel =
        i % 10 == 0 ? wave() : blocks(0.1 * static_cast<double>(draw(0, 10)), draw(0, 1) == 1);
    kernel.block_m = int64_t{1} << draw(4, 8);
    AttentionShape shape{
        .key_dim = 128, .value_dim = 128, .kv_elements_per_token = 2048, .kv_heads = draw(1, 8)};
    shape.query_heads = shape.kv_heads * draw(1, 12);
    shape.window = draw(0, 1) * draw(1, 3000);
    const PrefillChunk prompt{draw(1, 20000), draw(0, 1) * draw(1, 4000)};
    const std::vector<PrefillChunk> both = {prompt, {0, 0}};
    const double literal_s = prefill_attention_s(kernel, gpu, both, shape);
    EXPECT_NEAR(prefill_attention_s(kernel, gpu, {&prompt, 1}, shape), literal_s, 1e-12 * literal_s)
        << i << ": " << prompt.new_tokens << " tokens over " << prompt.cached_tokens;
  }
}

TEST(AttentionBlocks, TakeAsLongAsTheMemoryDoes) {
  // Q and O: 2 * 64 * 32 * 128, K and V: 2 * 10064 * 8 * 128 elements of 2 bytes at 1 GB/s.
  const double bytes = 2 * (2.0 * 64 * 32 * 128 + 2.0 * 10064 * 8 * 128);
  EXPECT_NEAR(cost_of(blocks(), 8, 1e9).attention_layer_s(PrefillChunk{64, 10000}), bytes / 1e9 + 5e-6, 1e-9);
}

DecodeEfficiency decode_kernel() {
  return {.constant_s = 10e-6,
          .block_s = 20e-9,
          .least_tokens = 64,
          .bandwidth_efficiency = 0.8,
          .ramp_bytes = 100e6,
          .ramp_efficiency = 0.5};
}

CostModel decoding(const DecodeEfficiency& decode, int64_t kv_heads = 8) {
  HardwareProfile hardware = machine();
  hardware.gpu.attention = blocks();
  hardware.gpu.decode_attention = decode;
  return CostModel(with_kv_heads(kv_heads), hardware, 1);
}

TEST(DecodeKernel, ReadsTheFirstBytesMoreSlowly) {
  // 16 sequences of 8 KV heads, 4096 bytes a token. 160e3 tokens are 655.36 MB: 10 us + 128 * 20 ns, 100 MB
  // at half and 555.36 MB at 0.8 of 2 TB/s.
  const DecodeAttention time = decoding(decode_kernel()).decode_attention_layer_s(16);
  EXPECT_NEAR(time.at_s(160e3), 12.56e-6 + 100e6 / 1e12 + 555.36e6 / 1.6e12, 1e-12);
  EXPECT_NEAR(time.at_s(10e3), 12.56e-6 + 40.96e6 / 1e12, 1e-12);
  // Contexts of three tokens take as long as of 64: 16 * 64 * 4096 bytes.
  EXPECT_NEAR(time.at_s(48), 12.56e-6 + 4.194304e6 / 1e12, 1e-12);
}

TEST(DecodeKernel, WalksContextsWithoutSplittingThemWhereItDoesNot) {
  // MHA: 4 sequences of 32 heads are 128 blocks, two waves, each of the mean context of 2000 keys; reading
  // 8000 * 16384 bytes at 0.8 of 2 TB/s would take 82 us.
  DecodeEfficiency decode = decode_kernel();
  decode.split_from_group = 2;
  decode.ramp_bytes = 0;
  const DecodeAttention time = decoding(decode, 32).decode_attention_layer_s(4);
  EXPECT_NEAR(time.at_s(8000), 10e-6 + 128 * 20e-9 + 2 * 2000 * kKey_s, 1e-12);
  decode.split_from_group = 1;
  EXPECT_NEAR(decoding(decode, 32).decode_attention_layer_s(4).at_s(8000),
              10e-6 + 128 * 20e-9 + 8000 * 16384 / 1.6e12, 1e-12);
}

TEST(DecodeKernel, IsStraightInTheContextBetweenItsKnees) {
  const DecodeAttention time = decoding(decode_kernel()).decode_attention_layer_s(16);
  for (const double from : {100.0, 1024.0, 5000.0, 24414.0, 24415.0, 1e6}) {
    const double end = std::min(time.piece_end(from), from + 1000);
    const double middle = (from + end) / 2;
    EXPECT_NEAR(time.at_s(middle), time.at_s(from) + time.slope_s(from) * (middle - from), 1e-15);
    EXPECT_NEAR(time.at_s(end), time.at_s(from) + time.slope_s(from) * (end - from), 1e-15);
  }
}

TEST(DecodeKernel, SumsARunOfStepsAcrossItsKnees) {
  // Five sequences of 40 tokens grow past 64 tokens each (step 24), and past 100 MB (24,414 tokens).
  const CostModel cost = decoding(decode_kernel());
  const StepTime times(cost, {{.layers = 16, .write_s_per_sequence = 40e-6}});
  const DecodeRun run = times.decode(5, 200);
  EXPECT_GE(run.ramps().size(), 3U);
  double sum_s = 0;
  for (int64_t step = 0; step < 6000; ++step) {
    ASSERT_NEAR(run.sum_s(step), sum_s, 1e-9 * (1 + sum_s)) << "step " << step;
    sum_s += times.mixed_s({}, 5, 200 + 5 * step, 5);
  }
}

TEST(MixedAttention, PutsDecodingRowsIntoThePromptsGridInOneCall) {
  // A prompt of 64 tokens: 32 blocks of 64 keys. Two sequences of 3000 tokens in the mean, a block a query
  // head: 64 blocks of 3000 keys. One wave.
  const CostModel cost = cost_of(blocks());
  const std::vector<PrefillChunk> prompt = {{64, 0}};
  EXPECT_NEAR(cost.mixed_attention_layer_s(prompt, 2, 6000), 3000 * kKey_s + 2e-6 + 5e-6, 1e-14);
  // 100 sequences of 500 tokens: 3200 blocks of 500 keys and 32 of 64, 33 waves, the last one of short ones.
  EXPECT_NEAR(cost.mixed_attention_layer_s(prompt, 100, 50000), (32 * 500 + 64) * kKey_s + 33 * 2e-6 + 5e-6,
              1e-13);
}

TEST(MixedAttention, ReadsTheQueriesAndTheContextsOfDecodingRows) {
  // Q and O of 64 + 100 rows of 32 x 128, K and V of 10064 + 50000 tokens of 8 x 128 elements, of 2 bytes at
  // 1 GB/s.
  const double bytes = 2 * (2.0 * 164 * 32 * 128 + 2.0 * 60064 * 8 * 128);
  const std::vector<PrefillChunk> prompt = {{64, 10000}};
  EXPECT_NEAR(cost_of(blocks(), 8, 1e9).mixed_attention_layer_s(prompt, 100, 50000), bytes / 1e9 + 5e-6,
              1e-9);
}

TEST(MixedAttention, IsOneCallOnlyWhereTheEngineMakesOneAndPromptsAreThere) {
  const CostModel cost = decoding(decode_kernel());
  const StepTime two(cost, {});
  const ServingOptions one_call{.mixed_attention = MixedAttention::one_call};
  const StepTime one(cost, {}, one_call);
  const std::vector<PrefillChunk> prompt = {{64, 0}};
  const double both_s = cost.attention_layer_s(prompt) + cost.decode_attention_layer_s(2).at_s(20000);
  const double grid_s = cost.mixed_attention_layer_s(prompt, 2, 20000);
  EXPECT_NEAR(one.mixed_s(prompt, 2, 20000, 3) - two.mixed_s(prompt, 2, 20000, 3), 32 * (grid_s - both_s),
              1e-12);
  EXPECT_GT(grid_s, both_s);  // 64 blocks on 100 SMs walk 10,000 keys each
  EXPECT_DOUBLE_EQ(one.mixed_s({}, 2, 20000, 2), two.mixed_s({}, 2, 20000, 2));
  EXPECT_DOUBLE_EQ(one.mixed_s(prompt, 0, 0, 1), two.mixed_s(prompt, 0, 0, 1));
}

TEST(MixedAttention, OfLatentsIsTwoCalls) {
  const CostModel cost(deepseek_v2(), machine(), 1);
  const std::vector<PrefillChunk> prompt = {{64, 100}};
  EXPECT_DOUBLE_EQ(cost.mixed_attention_layer_s(prompt, 2, 20000),
                   cost.attention_layer_s(prompt) + cost.decode_attention_layer_s(2).at_s(20000));
}

class Rng {
 public:
  explicit Rng(uint64_t seed) : engine_(seed) {}
  uint64_t below(uint64_t limit) { return engine_() % limit; }

 private:
  std::mt19937_64 engine_;
};

std::vector<PrefillChunk> random_prompts(Rng& random) {
  std::vector<PrefillChunk> prompts(1 + random.below(12));
  for (PrefillChunk& prompt : prompts) {
    prompt = {static_cast<int64_t>(1 + random.below(random.below(2) ? 2000 : 100)),
              static_cast<int64_t>(random.below(3) ? random.below(20000) : 0)};
  }
  return prompts;
}

std::deque<CostModel> all_kinds() {
  std::deque<CostModel> kinds;
  for (const double bandwidth : {kBandwidth, 1e30}) {
    for (const Efficiency& efficiency : {constant(0.5), smooth_max(0.5, 0.7, 4e-6), wave(), blocks(0),
                                         blocks(0.5), blocks(1), blocks(0.05, true), blocks(1, true)}) {
      HardwareProfile hardware = machine(bandwidth);
      hardware.gpu.attention = efficiency;
      kinds.emplace_back(with_kv_heads(8), hardware, 1);
    }
  }
  return kinds;
}

TEST(AttentionLaws, OneCallNeverTakesLongerThanItsPromptsApart) {
  Rng random(1);
  const std::deque<CostModel> kinds = all_kinds();
  for (int i = 0; i < 300; ++i) {
    const std::vector<PrefillChunk> prompts = random_prompts(random);
    for (const CostModel& cost : kinds) {
      double apart_s = 0;
      for (const PrefillChunk& prompt : prompts) apart_s += cost.attention_layer_s(prompt);
      ASSERT_LE(cost.attention_layer_s(prompts), apart_s * (1 + 1e-12));
    }
  }
}

TEST(AttentionLaws, MoreContextNeverTakesLessTime) {
  Rng random(2);
  const std::deque<CostModel> kinds = all_kinds();
  for (int i = 0; i < 300; ++i) {
    std::vector<PrefillChunk> prompts = random_prompts(random);
    std::vector<PrefillChunk> longer = prompts;
    PrefillChunk& one = longer[random.below(longer.size())];
    one.cached_tokens += static_cast<int64_t>(random.below(5000));
    const auto sequences = static_cast<int64_t>(1 + random.below(200));
    const int64_t context = sequences * static_cast<int64_t>(1 + random.below(5000));
    for (const CostModel& cost : kinds) {
      ASSERT_LE(cost.attention_layer_s(prompts), cost.attention_layer_s(longer) * (1 + 1e-12));
      ASSERT_LE(cost.mixed_attention_layer_s(prompts, sequences, context),
                cost.mixed_attention_layer_s(longer, sequences, context + 1000) * (1 + 1e-12));
    }
  }
  const DecodeAttention decode = decoding(decode_kernel()).decode_attention_layer_s(16);
  for (double context = 0; context < 1e5; context += 77) {
    ASSERT_LE(decode.at_s(context), decode.at_s(context + 77));
  }
}

// A key of the latent is multiplied for all 128 heads: 2 x 128 x (576 + 512) flops beside 2 x 576 bytes.
TEST(DecodeAttention, OfLatentsLastsAsLongAsItsFlopsWhereTheyTakeLongerThanItsBytes) {
  Gpu gpu{.peak_flops = 1000e12, .memory_bandwidth_bytes_per_s = 3000e9, .sm_count = 132};
  Efficiency prefill{.model = EfficiencyModel::blocks, .efficiency = 0.5, .bandwidth_efficiency = 0.9};
  prefill.block_m = 128;
  AttentionShape latents{.query_heads = 128,
                         .key_dim = 576,
                         .value_dim = 512,
                         .kv_elements_per_token = 576,
                         .kv_bytes_per_element = 2,
                         .kv_heads = 1};
  const double flops_s = 2.0 * 128 * (576 + 512) / 500e12;
  EXPECT_DOUBLE_EQ(decode_attention(prefill, gpu, latents).per_context_token_s, flops_s);
  const DecodeEfficiency split{.bandwidth_efficiency = 0.9, .ramp_efficiency = 0.9};
  EXPECT_DOUBLE_EQ(decode_attention(split, prefill, gpu, latents, 16).per_context_token_s, flops_s);
  latents.query_heads = 16;  // on one of eight GPUs
  EXPECT_DOUBLE_EQ(decode_attention(split, prefill, gpu, latents, 16).per_context_token_s,
                   576 * 2 / (3000e9 * 0.9));
}

}  // namespace
}  // namespace kvcap::attention_test
