// Times of models whose layers keep different state, as sums over their groups.
#include <gtest/gtest.h>

#include "unit/cost_examples.h"

namespace kvcap::layer_groups_cost_test {
namespace {

// 24 layers of 32 heads of 128, in groups.
ModelSpec in_groups(std::vector<LayerGroup> groups) {
  ModelSpec model = llama_2_7b();
  model.num_hidden_layers = 0;
  for (const LayerGroup& group : groups) model.num_hidden_layers += group.layers;
  model.layer_groups = std::move(groups);
  return model;
}

LayerGroup full(int64_t layers) { return {.layers = layers}; }
LayerGroup sliding(int64_t layers, int64_t window) {
  return {.layers = layers, .attention = AttentionKind::sliding, .window_tokens = window};
}
LayerGroup chunked(int64_t layers, int64_t size) {
  return {.layers = layers, .attention = AttentionKind::chunked, .window_tokens = size};
}

double pairs_s(double pairs) { return 4.0 * 32 * 128 * pairs / kPeakFlops; }
double decode_s(double context) { return 2.0 * 32 * 128 * 2 * context / kBandwidth; }

TEST(LayerGroups, OfOneFullGroupTakeAsLongAsTheModelWithoutGroups) {
  ModelSpec model = llama_2_7b();
  const CostModel plain(model, machine(), 1);
  model.layer_groups = {full(12), full(20)};
  const CostModel grouped(model, machine(), 1);
  EXPECT_NEAR(grouped.prefill_s({700, 300}), plain.prefill_s({700, 300}), 1e-12);
  EXPECT_NEAR(grouped.decode_step_s(7, 9'000), plain.decode_step_s(7, 9'000), 1e-12);
  EXPECT_NEAR(grouped.prefill_layer_flops({700, 300}), plain.prefill_layer_flops({700, 300}), 1);
}

TEST(LayerGroups, SlideOverTheirWindowAlone) {
  const CostModel cost(in_groups({full(6), sliding(18, 128)}), compute_bound_machine(), 1);
  // 1,000 queries behind 50 cached tokens: the first 78 see 50 + i, the others 128; full layers see all.
  const double in_window = 78.0 * 50 + 78.0 * 78 / 2 + 922.0 * 128;
  const double all = 1'000.0 * 50 + 1'000.0 * 1'000 / 2;
  EXPECT_NEAR(cost.attention_layer_s({1'000, 50}), (6 * pairs_s(all) + 18 * pairs_s(in_window)) / 24, 1e-12);
}

TEST(LayerGroups, SeeTheirOwnChunkAlone) {
  const CostModel cost(in_groups({full(6), chunked(18, 1'000)}), compute_bound_machine(), 1);
  // 1,500 queries behind 700 tokens: 300 to the end of the first chunk, a whole one, and 200 of the third.
  const double in_chunks = 300.0 * 700 + 300.0 * 300 / 2 + 1'000.0 * 1'000 / 2 + 200.0 * 200 / 2;
  const double all = 1'500.0 * 700 + 1'500.0 * 1'500 / 2;
  EXPECT_NEAR(cost.attention_layer_s({1'500, 700}), (6 * pairs_s(all) + 18 * pairs_s(in_chunks)) / 24, 1e-12);
}

TEST(LayerGroups, DecodeOverNoMoreThanTheirWindow) {
  const CostModel cost(in_groups({full(6), sliding(18, 128)}), memory_bound_machine(), 1);
  const DecodeAttentions attention = cost.decode_attentions_layer_s(4);
  EXPECT_NEAR(attention.at_s(400), decode_s(400), 1e-15);  // 100 tokens each
  EXPECT_NEAR(attention.at_s(4'000), (6 * decode_s(4'000) + 18 * decode_s(4 * 128)) / 24, 1e-15);
  // Beyond 4 * 128 tokens only the full layers grow.
  EXPECT_EQ(attention.piece_end(400), 512);
  EXPECT_NEAR(attention.slope_s(400), decode_s(1), 1e-18);
  EXPECT_NEAR(attention.slope_s(600), 6 * decode_s(1) / 24, 1e-18);
}

TEST(LayerGroups, DecodeOverHalfAChunkOfALongContext) {
  const CostModel cost(in_groups({full(6), chunked(18, 1'000)}), memory_bound_machine(), 1);
  const DecodeAttentions attention = cost.decode_attentions_layer_s(2);
  EXPECT_NEAR(attention.at_s(1'900), decode_s(1'900), 1e-15);
  EXPECT_NEAR(attention.at_s(9'000), (6 * decode_s(9'000) + 18 * decode_s(2 * 500)) / 24, 1e-15);
}

TEST(LayerGroups, ScanTheirStateOnceForEachSequenceAndStep) {
  const RecurrentState state = {.heads = 32, .head_dim = 128, .state_size = 128, .groups = 16};
  const LayerGroup recurrent = {.layers = 18, .attention = AttentionKind::recurrent, .recurrent = state};
  const CostModel cost(in_groups({full(6), recurrent}), memory_bound_machine(), 1);
  // The state is read and written; beside it the rows' inputs and outputs: three times 8,192 channels, twice
  // 4,096, of 2 bytes.
  const double rows = 5 * (3 * 8'192 + 2 * 4'096) * 2.0;
  const double scan_s = (5 * 2 * 2'146'304.0 + rows) / kBandwidth;
  const DecodeAttentions attention = cost.decode_attentions_layer_s(5);
  EXPECT_NEAR(attention.at_s(10'000), (6 * decode_s(10'000) + 18 * scan_s) / 24, 1e-15);
  EXPECT_NEAR(attention.slope_s(10'000), 6 * decode_s(1) / 24, 1e-18);
  // A prompt's scan takes the same state, however long the context before it is.
  const CostModel fast(in_groups({recurrent}), compute_bound_machine(), 1);
  EXPECT_EQ(fast.attention_layer_s({1'000, 0}), fast.attention_layer_s({1'000, 50'000}));
  // In chunks of 128: 2 * 128 (32 heads * 128 + 4,096), and 4 * 4,096 * 128 for the state.
  EXPECT_NEAR(fast.attention_layer_s({1'000, 0}), 1'000 * (256 * 8'192.0 + 4 * 4'096 * 128.0) / kPeakFlops,
              1e-12);
}

TEST(LayerGroups, ChooseKeysWithAnIndexerThatSeesThemAll) {
  ModelSpec model = deepseek_v2();
  const CostModel dense(model, memory_bound_machine(), 1);
  model.layer_groups = {{.layers = 60, .attention = AttentionKind::latent, .indexer = Indexer{}}};
  const CostModel sparse(model, memory_bound_machine(), 1);
  // One sequence of 10,000 tokens: 2,048 latents of 576 elements and all keys of 132 bytes.
  EXPECT_NEAR(sparse.decode_attentions_layer_s(1).at_s(10'000),
              (2'048 * 576 * 2 + 10'000 * 132.0) / kBandwidth, 1e-15);
  EXPECT_NEAR(dense.decode_attentions_layer_s(1).at_s(10'000), 10'000 * 576 * 2 / kBandwidth, 1e-15);
}

TEST(LayerGroups, MayBeFfnsAloneOrMixersAlone) {
  // As in Nemotron-H: 4 mixers and 4 FFNs are 8 layers. 2 heads of 128 of 8; reads of weights count.
  ModelSpec model = in_groups({full(4)});
  model.num_hidden_layers = 8;
  model.ffn_layers = 4;
  const CostModel mixed(model, machine(), 2);
  ModelSpec whole = llama_2_7b();
  whole.num_hidden_layers = 4;
  const CostModel plain(whole, machine(), 2);
  EXPECT_NEAR(8 * mixed.linear_layer_s(64), 4 * plain.linear_layer_s(64), 1e-12);
  EXPECT_NEAR(8 * mixed.attention_layer_s({64, 100}), 4 * plain.attention_layer_s({64, 100}), 1e-12);
  EXPECT_DOUBLE_EQ(model.parameter_count() - whole.parameter_count(), 8 * 4096.0);  // norms
}

TEST(Experts, MayHaveNarrowerWeightsThanTheRestOfTheirLayers) {
  ModelSpec model = llama_2_7b();
  model.experts = Experts{.count = 8, .active = 2, .intermediate_size = 4'096};
  const CostModel wide(model, memory_bound_machine(), 1);
  model.experts->weight_bytes_per_element = 0.5;
  const CostModel narrow(model, memory_bound_machine(), 1);
  // One row reaches 2 experts of 3 matrices of 4096 x 4096, which take 1.5 bytes less an element.
  EXPECT_NEAR(wide.linear_layer_s(1) - narrow.linear_layer_s(1), 2 * 3 * 4096.0 * 4096 * 1.5 / kBandwidth,
              1e-9);
}

}  // namespace
}  // namespace kvcap::layer_groups_cost_test
