// HyperInfer's worked examples, to the vector.
#include "cost/identification.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kvcap::identification_test {
namespace {

TEST(Identification, ReadsTheVectorsOfFigure9) {
  // Four tokens, 32 heads, one important token: 3 x 4 + 2 x 1 x 32 against 32 x 4 + 32 x 1.
  EXPECT_EQ(vectors_with_probes(4, 1, 32, 3), 76);
  EXPECT_EQ(vectors_with_all_keys(4, 1, 32), 160);
}

TEST(Identification, SavesWhatFigure11PrintsLessTheProbes) {
  // Keys alone at 25 %: h n against P n + k h, so 1 / (P/h + 1/4); without the probes it were the 4x printed.
  for (const auto& [heads, gain] : {std::pair{32, 2.9}, {40, 3.1}, {56, 3.3}}) {
    const int64_t keys = vectors_with_probes(4000, 1000, heads, 3) - 1000 * heads;
    EXPECT_NEAR(4000.0 * heads / static_cast<double>(keys), gain, 0.05) << heads;
  }
}

TEST(Identification, ThresholdIsTheIndexOfRandomSetsToThePowerOfAlpha) {
  EXPECT_DOUBLE_EQ(random_jaccard(0.25), 0.25 / 1.75);
  EXPECT_DOUBLE_EQ(random_jaccard(1), 1);
  EXPECT_DOUBLE_EQ(similarity_threshold({.retention = 0.25}), std::pow(1.0 / 7, 0.6));
  EXPECT_NEAR(similarity_threshold({.retention = 0.25}), 0.311, 0.0005);
  EXPECT_DOUBLE_EQ(similarity_threshold({.retention = 0.25, .alpha = 0}), 1);
  EXPECT_EQ(important_tokens(0.25, 4000), 1000);
  EXPECT_EQ(important_tokens(0.25, 1), 1);  // never none
  EXPECT_EQ(important_tokens(1, 7), 7);
}

TEST(Identification, MarksTheLargestAndAmongEqualsTheFirst) {
  EXPECT_EQ(largest(std::vector<double>{1, 5, 3, 4}, 2), (std::vector<uint8_t>{0, 1, 0, 1}));
  EXPECT_EQ(largest(std::vector<double>{2, 2, 7, 2}, 3), (std::vector<uint8_t>{1, 1, 1, 0}));
  EXPECT_EQ(largest(std::vector<double>{1, 2}, 5), (std::vector<uint8_t>{1, 1}));
  EXPECT_EQ(largest(std::vector<double>{1, 2}, 0), (std::vector<uint8_t>{0, 0}));
}

TEST(Identification, ComparesHeadsAsInFigure7) {
  // Two of four tokens each: {0, 2} and {0, 1} have the index 1/3.
  const std::vector<double> two = {4, 1, 3, 2, 4, 3, 1, 2};
  EXPECT_DOUBLE_EQ(identify(two, 2, 2).jaccard, 1.0 / 3);
  // With {0, 2} as the third head: (1/3 + 1 + 1/3) / 3. Votes are 3, 1, 2, 0.
  const std::vector<double> three = {4, 1, 3, 2, 4, 3, 1, 2, 4, 1, 3, 2};
  const ImportantSet set = identify(three, 3, 2);
  EXPECT_DOUBLE_EQ(set.jaccard, 5.0 / 9);
  EXPECT_EQ(set.chosen, (std::vector<uint8_t>{1, 0, 1, 0}));
}

TEST(Identification, BreaksTiesOfVotesByMeanImportance) {
  // Token 0 has both votes, tokens 1 and 2 one each; the sums are 5 and 6.
  const std::vector<double> heads = {9, 4, 3, 0, 9, 1, 3, 2};
  EXPECT_EQ(identify(heads, 2, 2).chosen, (std::vector<uint8_t>{1, 0, 1, 0}));
  // Nobody voted for the fourth token; all are asked for.
  EXPECT_EQ(identify(heads, 2, 4).chosen, (std::vector<uint8_t>{1, 1, 1, 1}));
  EXPECT_DOUBLE_EQ(identify(std::vector<double>{1, 2, 3}, 1, 1).jaccard, 1);
}

TEST(ChunkScore, KeepsTheChunkOfFigure15) {
  // Application A asks 15 times for chunk 1, of whose two keys one is important, B 10 times for chunk 2, both
  // important.
  ChunkScore first, second;
  for (int i = 0; i < 15; ++i) first.use(0.5);
  for (int i = 0; i < 10; ++i) second.use(1);
  EXPECT_DOUBLE_EQ(first.value() / 10, 0.75);  // relative to B's frequency
  EXPECT_DOUBLE_EQ(second.value() / 10, 1);
  // Important keys that cross PCIe when the GPU holds one chunk: those of the other.
  const auto moved = [](bool keeps_first) { return keeps_first ? 10 * 2 : 15 * 1; };
  EXPECT_EQ(moved(true), 20);  // 15 uses against 10
  EXPECT_EQ(moved(first.value() > second.value()), 15);
}

TEST(ChunkScore, FollowsTheLastUses) {
  ChunkScore score;
  score.use(0.2);
  score.use(0.6);
  EXPECT_DOUBLE_EQ(score.important_share(), 0.4);
  for (int i = 0; i < 200; ++i) score.use(1);
  EXPECT_NEAR(score.important_share(), 1, 1e-4);
  EXPECT_NEAR(score.value(), 202, 0.03);
}

}  // namespace
}  // namespace kvcap::identification_test
