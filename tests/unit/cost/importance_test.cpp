// The importance model against HyperInfer's figures, and its statistics against the model itself.
#include "cost/importance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace kvcap::importance_test {
namespace {

constexpr int64_t kChunk = 64;

// Radix nodes: lognormal with mean 370 tokens and cv 0.5, at least 16; the last is cut.
std::vector<int64_t> radix_nodes(int64_t tokens, uint64_t seed) {
  const RandomStream stream(seed, "nodes");
  const double variance = std::log1p(0.25);
  std::vector<int64_t> nodes;
  for (uint64_t i = 0; tokens > 0; ++i) {
    const double drawn = 370 * std::exp(std::sqrt(variance) * stream.normal(i) - variance / 2);
    nodes.push_back(std::min(tokens, std::max<int64_t>(16, std::llround(drawn))));
    tokens -= nodes.back();
  }
  return nodes;
}

// Means over layers and queries.
struct Figures {
  double jaccard = 0, fallback_share = 0, static_recall = 0, adjacent_recall = 0;
  double chunks = 0, touched = 0, touched_reordered = 0;
  double important_share = 0, important_share_reordered = 0;  // of the touched chunks' 64 places

  double reordering_gain() const { return touched / touched_reordered; }
};

double recall(const std::vector<uint8_t>& guess, const std::vector<uint8_t>& truth) {
  double both = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) both += guess[i] & truth[i];
  return both / std::accumulate(truth.begin(), truth.end(), 0.0);
}

struct Touched {
  double chunks = 0, touched = 0, important = 0;
};

// Chunks of consecutive tokens of each node, once its tokens are in the given order.
Touched touched_chunks(const std::vector<uint8_t>& important, const std::vector<std::size_t>& order,
                       const std::vector<int64_t>& nodes) {
  Touched found;
  int64_t first = 0;
  for (int64_t node : nodes) {
    for (int64_t i = first; i < first + node; i += kChunk) {
      double inside = 0;
      for (int64_t j = i; j < std::min(i + kChunk, first + node); ++j) inside += important[order[j]];
      found.chunks += 1;
      found.touched += inside > 0;
      found.important += inside;
    }
    first += node;
  }
  return found;
}

std::map<double, Figures> measure(int64_t layers, int64_t tokens, const std::vector<double>& retentions,
                                  uint64_t seed) {
  constexpr int64_t kQueries = 2;
  const ImportanceModel model;
  const std::vector<int64_t> nodes = radix_nodes(tokens, seed);
  std::vector<std::size_t> in_text(tokens);
  std::iota(in_text.begin(), in_text.end(), 0);
  ImportanceDraws draws(model, {kRememberedQueries + kQueries, 3, tokens}, seed);
  std::map<double, Figures> figures;
  std::map<std::pair<double, int64_t>, std::vector<uint8_t>> layer_before;
  const auto every = static_cast<double>(layers * kQueries);
  for (int64_t layer = 0; layer < layers; ++layer) {
    draws.next_layer();
    const double r = model.common_share(layer, layers);
    const std::vector<double> mean = draws.mean_importance(kRememberedQueries, r);
    std::vector<std::size_t> reordered = in_text;
    auto begin = reordered.begin();
    for (int64_t node : nodes) {
      std::sort(begin, begin + node, [&](std::size_t a, std::size_t b) { return mean[a] > mean[b]; });
      begin += node;
    }
    for (double retention : retentions) {
      const int64_t important = important_tokens(retention, tokens);
      const std::vector<uint8_t> known_before = largest(mean, important);
      Figures& sum = figures[retention];
      for (int64_t q = 0; q < kQueries; ++q) {
        const ImportantSet set = identify(draws.importance(kRememberedQueries + q, r), 3, important);
        EXPECT_EQ(std::accumulate(set.chosen.begin(), set.chosen.end(), int64_t{0}), important);
        const bool falls_back = set.jaccard < similarity_threshold({.retention = retention});
        sum.jaccard += set.jaccard / every;
        sum.fallback_share += falls_back / every;
        sum.static_recall += recall(known_before, set.chosen) / every;
        const Touched plain = touched_chunks(set.chosen, in_text, nodes);
        const Touched packed = touched_chunks(set.chosen, reordered, nodes);
        sum.chunks += plain.chunks;
        sum.touched += falls_back ? plain.chunks : plain.touched;
        sum.touched_reordered += falls_back ? packed.chunks : packed.touched;
        sum.important_share += plain.important / plain.touched / kChunk / every;
        sum.important_share_reordered += packed.important / packed.touched / kChunk / every;
        std::vector<uint8_t>& before = layer_before[{retention, q}];
        if (!before.empty()) {
          sum.adjacent_recall += recall(before, set.chosen) / (every - kQueries);
        }
        before = set.chosen;
      }
    }
  }
  return figures;
}

// What RestoreStatistics says of the same prefix.
Figures predict(int64_t layers, int64_t tokens, double retention, int64_t chunk_tokens = kChunk) {
  const RestoreStatistics statistics({}, {.retention = retention}, layers, 1);
  Figures found;
  found.jaccard = statistics.mean_jaccard();
  found.fallback_share = statistics.mean_fallback_layers(tokens) / static_cast<double>(layers);
  found.adjacent_recall = statistics.adjacent_recall();
  double important = 0;
  for (int64_t node : radix_nodes(tokens, 1)) {
    const std::vector<ChunkUse> plain = statistics.chunks(node, chunk_tokens, false);
    const std::vector<ChunkUse> packed = statistics.chunks(node, chunk_tokens, true);
    EXPECT_EQ(plain.size(), packed.size());
    for (std::size_t i = 0; i < plain.size(); ++i) {
      found.chunks += 1;
      found.touched += plain[i].touched;
      found.touched_reordered += packed[i].touched;
      important += plain[i].important_tokens;
    }
  }
  found.important_share = important / found.touched / static_cast<double>(chunk_tokens);
  found.important_share_reordered = important / found.touched_reordered / static_cast<double>(chunk_tokens);
  for (double* touched : {&found.touched, &found.touched_reordered}) {
    *touched += found.fallback_share * (found.chunks - *touched);
  }
  return found;
}

TEST(Importance, OfOpt30bIsAsPrintedAndItsStatisticsFollow) {
  const std::map<double, Figures> figures = measure(48, 4000, {0.1, 0.25, 0.4, 0.5}, 1);
  const Figures &p10 = figures.at(0.1), &p25 = figures.at(0.25), &p40 = figures.at(0.4),
                &p50 = figures.at(0.5);
  // HyperInfer, Fig. 8: mean index over all layers of OPT-30B.
  EXPECT_NEAR(p40.jaccard, 0.68, 0.01);
  EXPECT_NEAR(p10.jaccard, 0.48, 0.01);
  // IV-B: less than 20 % of the layers fall back.
  for (const auto& [retention, one] : figures) {
    EXPECT_GT(one.fallback_share, 0) << retention;
    EXPECT_LT(one.fallback_share, 0.2) << retention;
    EXPECT_NEAR(one.fallback_share, 0.035, 0.02) << retention;
  }
  // Fig. 5a: 46 % of a loaded chunk is important where half of the tokens are.
  EXPECT_NEAR(p50.important_share, 0.46, 0.01);
  // Fig. 4: what was important to earlier queries finds more than 80 %.
  EXPECT_GT(p25.static_recall, 0.80);
  EXPECT_LT(p25.static_recall, 0.83);
  // Fig. 21: 1.2 times fewer chunks with reordering, at 25 % and (COPA) 50 %.
  EXPECT_NEAR((p25.reordering_gain() + p50.reordering_gain()) / 2, 1.2, 0.03);
  // Not printed: Fig. 12 has no numbers in the text.
  EXPECT_NEAR(p25.adjacent_recall, 0.77, 0.01);
  EXPECT_NEAR(p50.adjacent_recall, 0.85, 0.01);

  for (const auto& [retention, full] : figures) {
    const Figures found = predict(48, 4000, retention);
    EXPECT_NEAR(found.jaccard / full.jaccard, 1, 0.02) << retention;
    EXPECT_NEAR(found.fallback_share, full.fallback_share, 0.015) << retention;
    EXPECT_NEAR(found.adjacent_recall / full.adjacent_recall, 1, 0.02) << retention;
    EXPECT_NEAR(found.reordering_gain() / full.reordering_gain(), 1, 0.03) << retention;
    EXPECT_NEAR(found.important_share / full.important_share, 1, 0.01) << retention;
    EXPECT_NEAR(found.important_share_reordered / full.important_share_reordered, 1, 0.03) << retention;
  }
}

TEST(RestoreStatistics, GainLessByReorderingTheLargerTheChunk) {
  // What the whole model gives for 16 layers and 5,200 tokens at 25 %, mean of three seeds.
  for (const auto& [chunk_tokens, gain] : {std::pair{16, 1.669}, {32, 1.447}, {128, 1.214}}) {
    EXPECT_NEAR(predict(16, 5200, 0.25, chunk_tokens).reordering_gain(), gain, 0.06) << chunk_tokens;
  }
}

TEST(RestoreStatistics, LayOutTheImportantTokensOfANode) {
  const RestoreStatistics statistics({}, {}, 32, 1);
  // 370 tokens: five whole chunks and one of 50.
  for (bool reordered : {false, true}) {
    const std::vector<ChunkUse> chunks = statistics.chunks(370, kChunk, reordered);
    ASSERT_EQ(chunks.size(), 6u);
    double important = 0;
    int64_t tokens = 0;
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      tokens += chunks[i].tokens;
      important += chunks[i].important_tokens;
      EXPECT_GE(chunks[i].important_tokens, chunks[i].touched);  // a touched chunk has one at least
      EXPECT_LE(chunks[i].important_tokens, static_cast<double>(chunks[i].tokens) * chunks[i].touched);
      if (!reordered || i == 0) continue;
      EXPECT_LT(chunks[i].important_tokens, chunks[i - 1].important_tokens);
      EXPECT_LT(chunks[i].touched, chunks[i - 1].touched);
    }
    EXPECT_EQ(tokens, 370);
    EXPECT_NEAR(important, 0.25 * 370, 1e-9);  // packing moves them and loses none
  }
  EXPECT_DOUBLE_EQ(statistics.chunks(10, kChunk, false)[0].touched, 1 - std::pow(0.75, 10));
}

TEST(RestoreStatistics, DrawFallbackLayersAroundTheirMean) {
  const RestoreStatistics statistics({}, {.retention = 0.5}, 48, 3);
  double sum = 0;
  for (uint64_t query = 0; query < 4000; ++query)
    sum += static_cast<double>(statistics.fallback_layers(500, query));
  // A layer's variance is below 1/4 and at most a few layers are in doubt.
  EXPECT_NEAR(sum / 4000, statistics.mean_fallback_layers(500), 5 * std::sqrt(1.0 / 4000));
  EXPECT_EQ(statistics.fallback_layers(500, 7),
            RestoreStatistics({}, {.retention = 0.5}, 48, 3).fallback_layers(500, 7));
  EXPECT_NE(statistics.mean_jaccard(), RestoreStatistics({}, {.retention = 0.5}, 48, 4).mean_jaccard());
}

TEST(RestoreStatistics, HoldAtTheEndsOfTheirOptions) {
  // The higher the threshold the more layers fall back (Fig. 11): all of them at 1, none at 0.
  const RestoreStatistics strict({}, {.alpha = 0}, 32, 1), lax({}, {.alpha = 50}, 32, 1);
  EXPECT_DOUBLE_EQ(strict.mean_fallback_layers(5000), 32);
  EXPECT_EQ(strict.chunks(64, kChunk, true)[0].touched, 1);
  EXPECT_NEAR(lax.mean_fallback_layers(5000), 0, 1e-9);
  // Everything is important: one set for all heads, every chunk full.
  const RestoreStatistics all({}, {.retention = 1}, 32, 1);
  EXPECT_DOUBLE_EQ(all.mean_jaccard(), 1);
  EXPECT_EQ(all.mean_fallback_layers(5000), 0);
  EXPECT_NEAR(all.chunks(100, kChunk, true)[1].important_tokens, 36, 1e-9);
  EXPECT_NEAR(all.chunks(100, kChunk, true)[1].touched, 1, 1e-9);
  // One probe head has nobody to disagree with.
  EXPECT_EQ(RestoreStatistics({}, {.probe_heads = 1}, 32, 1).mean_fallback_layers(5000), 0);
}

}  // namespace
}  // namespace kvcap::importance_test
