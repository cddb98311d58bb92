// Generated few-shot prompts against what HyperInfer says of its data sets.
#include "workload/generators/few_shot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "workload/source.h"

namespace kvcap::few_shot_test {
namespace {

WorkloadOptions of(const std::string& dataset, int64_t sessions) {
  WorkloadOptions options;
  options.source.kind = "few_shot";
  options.source.dataset = dataset;
  options.sessions = sessions;
  return options;
}

int64_t piece_tokens(const Workload& workload, std::size_t turn) {
  int64_t sum = 0;
  for (const Piece& piece : workload.pieces_of(turn)) sum += piece.tokens;
  return sum;
}

// Of a session's prefix its first node: prefixes share none.
uint64_t prefix_of(const Workload& workload, std::size_t turn) { return workload.pieces_of(turn)[0].key; }

TEST(FewShot, HasThePrefixesOfItsDataSets) {
  std::ifstream file(KVCAP_SOURCE_DIR "/traces/few_shot.json");
  const auto json = nlohmann::json::parse(file);
  ASSERT_EQ(few_shot_datasets(), (std::vector<std::string>{"piqa", "rte", "copa", "openbookqa"}));
  for (const auto& dataset : json["datasets"]) {
    const auto name = dataset["name"].get<std::string>();
    double mean = 0, own = 0, stored_gb = 0;
    constexpr int kSeeds = 4, kSessions = 5000;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const Workload workload = make_workload(of(name, kSessions), seed);
      std::map<uint64_t, int64_t> stored;
      for (std::size_t i = 0; i < workload.turns.size(); ++i) {
        const int64_t tokens = piece_tokens(workload, i);
        EXPECT_LE(tokens, 10000);
        EXPECT_GT(workload.turns[i].input_tokens, tokens);
        mean += static_cast<double>(tokens) / kSessions / kSeeds;
        own += static_cast<double>(workload.turns[i].input_tokens - tokens) / kSessions / kSeeds;
        stored[prefix_of(workload, i)] = tokens;
      }
      EXPECT_LE(stored.size(), 13u);
      // VI-A prints gigabytes of storage; OPT-13B has 2 x 40 layers x 5120 x 2 bytes a token.
      const std::string& note = workload.notes.at(0);
      const auto all = std::stoll(note.substr(note.find("prefixes of ") + 12));
      stored_gb += static_cast<double>(all) * 819200e-9 / kSeeds;
    }
    // A request's length has a standard deviation of 0.4 of the mean, so 20,000 requests know it to 1.4 %.
    EXPECT_NEAR(mean / dataset["mean_prefix_tokens"].get<double>(), 1, 0.015) << name;
    EXPECT_NEAR(own / dataset["mean_query_tokens"].get<double>(), 1, 0.02) << name;
    EXPECT_NEAR(stored_gb / dataset["storage_gb"].get<double>(), 0.95, 0.05) << name;
    EXPECT_GE(mean, 4700);  // 4.8K to 5.7K on average
    EXPECT_LE(mean, 5800);
  }
}

TEST(FewShot, ReusesPrefixesNormally) {
  const Workload workload = make_workload(of("rte", 20000), 1);
  std::map<uint64_t, double> share;  // by the order of keys, that of the prefixes
  for (std::size_t i = 0; i < workload.turns.size(); ++i) share[prefix_of(workload, i)] += 1.0 / 20000;
  std::vector<double> found;
  found.reserve(share.size());
  for (const auto& [key, one] : share) found.push_back(one);
  std::sort(found.rbegin(), found.rend());
  // Densities at 0, 1 and 2 of 1.5 prefixes: 0.266, 0.213, 0.109, each side once.
  EXPECT_NEAR(found[0], 0.266, 0.015);
  EXPECT_NEAR(found[1], 0.213, 0.015);
  EXPECT_NEAR(found[2], 0.213, 0.015);
  EXPECT_NEAR(found[3], 0.109, 0.012);
  EXPECT_NEAR(found[0] + found[1] + found[2], 0.68, 0.015);  // Fig. 22, frequency-based
  // A larger set is as skewed in proportion; a wider one is not.
  const auto hottest = [](const WorkloadOptions& options) {
    const Workload other = make_workload(options, 1);
    std::map<uint64_t, int> uses;
    for (std::size_t i = 0; i < other.turns.size(); ++i) ++uses[prefix_of(other, i)];
    int most = 0;
    for (const auto& [key, number] : uses) most = std::max(most, number);
    return most / 20000.0;
  };
  WorkloadOptions options = of("rte", 20000);
  options.source.prefixes = 130;
  EXPECT_NEAR(hottest(options), 0.0266, 0.006);
  options.source.reuse_sigma = 1e6;
  EXPECT_NEAR(hottest(options), 1.0 / 130, 0.004);
  options.source.reuse_sigma = 1e-3;  // two in the middle
  EXPECT_NEAR(hottest(options), 0.5, 0.02);
}

TEST(FewShot, IsMadeOfRadixNodes) {
  WorkloadOptions options = of("copa", 20000);
  options.source.prefixes = 1000;
  const Workload workload = make_workload(options, 1);
  EXPECT_EQ(workload.piece_keys, PieceKeys::prefix);
  ASSERT_EQ(workload.piece_begin.size(), workload.turns.size() + 1);
  std::map<uint64_t, std::pair<uint64_t, uint32_t>> before;  // of each node: the node before it, its tokens
  double sum = 0, squares = 0, nodes = 0;
  for (std::size_t i = 0; i < workload.turns.size(); ++i) {
    const auto pieces = workload.pieces_of(i);
    for (std::size_t j = 0; j < pieces.size(); ++j) {
      const std::pair<uint64_t, uint32_t> here{j == 0 ? UINT64_MAX : pieces[j - 1].key, pieces[j].tokens};
      const auto [found, is_new] = before.try_emplace(pieces[j].key, here);
      EXPECT_EQ(found->second, here);  // the same text after the same text
      if (!is_new || j + 1 == pieces.size()) continue;
      EXPECT_GE(pieces[j].tokens, 16u);
      sum += pieces[j].tokens;
      squares += std::pow(pieces[j].tokens, 2);
      nodes += 1;
    }
  }
  // All but the last node of a prefix, which is cut. Long nodes are the last more often, hence a little less.
  EXPECT_NEAR(sum / nodes, 365, 8);
  EXPECT_NEAR(std::sqrt(squares / nodes - std::pow(sum / nodes, 2)) / (sum / nodes), 0.5, 0.03);
}

TEST(FewShot, CutsPrefixesAtTheirMaximum) {
  WorkloadOptions options = of("rte", 2000);
  options.source.max_prefix_tokens = 4000;
  const Workload workload = make_workload(options, 1);
  int64_t longest = 0;
  double mean = 0;
  for (std::size_t i = 0; i < workload.turns.size(); ++i) {
    longest = std::max(longest, piece_tokens(workload, i));
    mean += static_cast<double>(piece_tokens(workload, i)) / 2000;
  }
  EXPECT_EQ(longest, 4000);
  EXPECT_NEAR(mean, 3600, 400);
}

TEST(FewShot, DrawsTheSameSessionWhateverTheirNumber) {
  const Workload few = make_workload(of("piqa", 10), 3), many = make_workload(of("piqa", 1000), 3);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(few.turns[i].input_tokens, many.turns[i].input_tokens);
    EXPECT_EQ(few.turns[i].time_s, many.turns[i].time_s);
    EXPECT_EQ(prefix_of(few, i), prefix_of(many, i));
  }
  EXPECT_NE(make_workload(of("piqa", 10), 4).turns[0].input_tokens, few.turns[0].input_tokens);
}

TEST(FewShot, SaysWhereItComesFrom) {
  WorkloadOptions options = of("openbookqa", 3);
  options.source.prefixes = 2;
  options.source.max_prefix_tokens = 1000;
  options.source.reuse_sigma = 0.5;
  const Workload workload = make_workload(options, 1);
  EXPECT_EQ(workload.notes,
            (std::vector<std::string>{
                "openbookqa is drawn from HyperInfer's description (traces/few_shot.json): 2 "
                "prefixes of 2000 tokens in total, reuse is normally distributed with a standard "
                "deviation of 0.5 prefixes"}));
}

}  // namespace
}  // namespace kvcap::few_shot_test
