// The generator `random` and what closed loops and even arrivals make of its prompts.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "workload/workload.h"

namespace kvcap::random_prompts_test {
namespace {

WorkloadOptions options(int64_t sessions) {
  WorkloadOptions options;
  options.source.kind = "random";
  options.source.input_tokens = 100;
  options.source.output_tokens = 20;
  options.sessions = sessions;
  return options;
}

TEST(RandomPrompts, HaveTheLengthsThatAreGivenAndNothingInCommon) {
  const Workload workload = make_workload(options(50), 1);
  ASSERT_EQ(workload.turns.size(), 50U);
  EXPECT_TRUE(workload.pieces.empty());
  for (const Turn& turn : workload.turns) {
    EXPECT_EQ(turn.input_tokens, 100U);
    EXPECT_EQ(turn.output_tokens, 20U);
  }
}

// Even from 80 to 100: the mean is 90.5 where 81 to 100 are drawn alike.
TEST(RandomPrompts, AreAsShortAsTheShareSaysAndAlikeInBetween) {
  WorkloadOptions spread = options(4000);
  spread.source.shortest_share = 0.8;
  double sum = 0;
  for (const Turn& turn : make_workload(spread, 1).turns) {
    EXPECT_GE(turn.input_tokens, 80U);
    EXPECT_LE(turn.input_tokens, 100U);
    EXPECT_GE(turn.output_tokens, 16U);
    sum += turn.input_tokens;
  }
  EXPECT_NEAR(sum / 4000, 90.5, 0.5);
}

TEST(RandomPrompts, ShareAsManyPrefixesAsThereAre) {
  WorkloadOptions shared = options(12);
  shared.source.prefix_tokens = 30;
  shared.source.prefixes = 4;
  const Workload workload = make_workload(shared, 1);
  std::set<uint64_t> prefixes, rests;
  for (std::size_t turn = 0; turn < 12; ++turn) {
    EXPECT_EQ(workload.turns[turn].input_tokens, 130U);
    const auto pieces = workload.pieces_of(turn);
    ASSERT_EQ(pieces.size(), 2U);
    EXPECT_EQ(pieces[0].tokens, 30U);
    EXPECT_EQ(pieces[1].tokens, 100U);
    prefixes.insert(pieces[0].key);
    rests.insert(pieces[1].key);
  }
  EXPECT_EQ(prefixes.size(), 4U);
  EXPECT_EQ(rests.size(), 12U);
}

TEST(RandomPrompts, ComeAgainInTheirOrderOrInOneThatIsDrawnOnce) {
  WorkloadOptions again = options(30);
  again.source.prompts = 10;
  for (const bool shuffled : {false, true}) {
    again.source.shuffled = shuffled;
    const Workload workload = make_workload(again, 1);
    std::vector<uint64_t> keys;
    for (const Piece& piece : workload.pieces) keys.push_back(piece.key);
    ASSERT_EQ(keys.size(), 30U);
    EXPECT_EQ(std::set<uint64_t>(keys.begin(), keys.begin() + 10).size(), 10U);
    EXPECT_TRUE(std::equal(keys.begin(), keys.begin() + 20, keys.begin() + 10));
    EXPECT_EQ(std::is_sorted(keys.begin(), keys.begin() + 10), !shuffled);
  }
}

// 5/s for 10 s, nothing for 90 s, 2/s for what is left.
TEST(EvenArrivals, AreAsManyAsTheRateMeansWhileItLasts) {
  WorkloadOptions ladder = options(70);
  ladder.arrivals.process = ArrivalProcess::even;
  ladder.arrivals.rates = {{.from_s = 0, .requests_per_s = 5},
                           {.from_s = 10, .requests_per_s = 0},
                           {.from_s = 100, .requests_per_s = 2}};
  const Workload workload = make_workload(ladder, 1);
  double sum_s = 0;
  for (std::size_t i = 0; i < 70; ++i) {
    const double time_s = workload.turns[i].time_s;
    EXPECT_TRUE(i < 50 ? time_s >= 0 && time_s < 10 : time_s >= 100 && time_s < 110) << i << " " << time_s;
    EXPECT_TRUE(i == 0 || time_s >= workload.turns[i - 1].time_s);
    if (i < 50) sum_s += time_s;
  }
  EXPECT_NEAR(sum_s / 50, 5, 1.2);  // standard deviation 10 / sqrt(12 x 50) = 0.41
}

TEST(ClosedLoop, CutsTheFirstAnswersOfItsPlacesWhereItIsStaggered) {
  WorkloadOptions loop = options(20);
  loop.source.output_tokens = 1000;
  loop.arrivals.process = ArrivalProcess::closed_loop;
  loop.arrivals.concurrency = 8;
  loop.arrivals.round_sessions = 10;
  EXPECT_EQ(make_workload(loop, 1).round_sessions, 10U);
  loop.arrivals.staggered = true;
  const Workload workload = make_workload(loop, 1);
  std::set<uint32_t> first;
  for (std::size_t i = 0; i < 20; ++i) {
    const uint32_t tokens = workload.turns[i].output_tokens;
    if (i < 8) first.insert(tokens);
    EXPECT_EQ(tokens == 1000, i >= 8) << i;
    EXPECT_GE(tokens, 1U);
  }
  EXPECT_EQ(first.size(), 8U);
}

}  // namespace
}  // namespace kvcap::random_prompts_test
