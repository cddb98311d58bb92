#include "metrics/statistics/warmup.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "metrics/recorder.h"

namespace kvcap::warmup_test {
namespace {

WarmupDetector::Found found_in(const std::vector<double>& values) {
  WarmupDetector detector;
  for (double value : values) detector.add(value);
  return detector.find();
}

std::vector<double> sequence(int length, const std::function<double(int)>& mean, uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise;
  std::vector<double> values;
  for (int i = 0; i < length; ++i) values.push_back(mean(i) + noise(random));
  return values;
}

// The definition, read literally: the cut d of at most three quarters with the least statistic.
int64_t slowly(const std::vector<double>& values) {
  std::vector<double> means;
  for (std::size_t i = 0; i + 5 <= values.size(); i += 5)
    means.push_back((values[i] + values[i + 1] + values[i + 2] + values[i + 3] + values[i + 4]) / 5);
  const std::size_t n = means.size();
  std::size_t best = 0;
  double least = 1e300;
  for (std::size_t d = 0; n - d >= n / 4; ++d) {
    double sum = 0, squares = 0;
    for (std::size_t i = d; i < n; ++i) sum += means[i];
    const auto left = static_cast<double>(n - d);
    for (std::size_t i = d; i < n; ++i) squares += (means[i] - sum / left) * (means[i] - sum / left);
    if (squares / (left * left) < least) {
      least = squares / (left * left);
      best = d;
    }
  }
  return static_cast<int64_t>(5 * best);
}

TEST(Mser, CutsWhereTheLeastStatisticOfItsDefinitionIs) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto values = sequence(
        1003, [](int i) { return 10 * std::exp(-i / 60.0); }, seed);
    EXPECT_EQ(found_in(values).values, slowly(values)) << seed;
  }
}

TEST(Mser, CutsATransientAndNotMuchMore) {
  const auto step = found_in(sequence(2000, [](int i) { return i < 300 ? 20.0 : 5.0; }));
  EXPECT_TRUE(step.can_tell);
  EXPECT_GE(step.values, 300);
  EXPECT_LE(step.values, 400);
  // 10 exp(-i / 100) is below the noise of five after about 300.
  const auto decay = found_in(sequence(4000, [](int i) { return 10 * std::exp(-i / 100.0); }));
  EXPECT_TRUE(decay.can_tell);
  EXPECT_GE(decay.values, 150);
  EXPECT_LE(decay.values, 900);
}

TEST(Mser, CutsNothingOfWhatNeverChanges) {
  EXPECT_EQ(found_in(std::vector<double>(500, 3.0)).values, 0);
  EXPECT_TRUE(found_in(std::vector<double>(500, 3.0)).can_tell);
}

TEST(Mser, CutsLittleOfMostStationarySequences) {
  int much = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const auto found = found_in(sequence(
        2000, [](int) { return 5.0; }, seed));
    much += !found.can_tell || found.values > 500;
  }
  EXPECT_LE(much, 10);
}

TEST(Mser, CannotTellWhatHasNotSettledByHalfOrIsShort) {
  EXPECT_FALSE(found_in(sequence(2000, [](int i) { return 0.02 * i; })).can_tell);  // grows without end
  EXPECT_FALSE(found_in(sequence(2000, [](int i) { return i < 1300 ? 20.0 : 5.0; })).can_tell);
  EXPECT_FALSE(found_in(sequence(199, [](int) { return 5.0; })).can_tell);
  EXPECT_TRUE(found_in(sequence(500, [](int i) { return i < 100 ? 50.0 : 5.0; })).can_tell);
}

TEST(Mser, HoldsLongSequencesInMeansOfMoreThanFive) {
  const auto found = found_in(sequence(200'000, [](int i) { return i < 20'000 ? 20.0 : 5.0; }));
  EXPECT_EQ(found.group, 40);  // 200,000 / 8,192 = 24.4: 5, 10, 20, 40
  EXPECT_TRUE(found.can_tell);
  EXPECT_NEAR(static_cast<double>(found.values), 20'000, 500);
}

// 1,000 turns whose first 200 take 2 s to their first token, the others 1 s.
void record_transient(Recorder& recorder) {
  for (uint32_t i = 0; i < 1000; ++i) {
    TurnRecord turn;
    turn.session = i;
    turn.arrival_s = i;
    turn.output_tokens = 1;
    turn.ttft_s = turn.service_ttft_s = turn.e2el_s = i < 200 ? 2 : 1;
    turn.rejected = i == 10;
    recorder.turn(turn);
  }
}

RunFacts facts(bool cuts_warmup) {
  RunFacts facts;
  facts.duration_s = 1000;
  facts.cuts_warmup = cuts_warmup;
  return facts;
}

TEST(Warmup, IsReportedAndCutOnlyWhereThatIsAskedFor) {
  Recorder looks(1000), cuts(1000);
  record_transient(looks);
  record_transient(cuts);
  const RunResult whole = looks.finish(facts(false)), rest = cuts.finish(facts(true));
  // 40 means of five served turns: with the rejected one that is 201 by arrival, the last of them at 1 s.
  EXPECT_EQ(whole.number("warmup.detected_turns"), 201);
  EXPECT_EQ(whole.number("warmup.left_out_turns"), 0);
  EXPECT_NEAR(whole.number("mean_ttft_ms"), (199 * 2000 + 800 * 1000) / 999.0, 1e-9);
  EXPECT_TRUE(whole.notes.empty());
  EXPECT_EQ(rest.number("warmup.detected_turns"), 201);
  EXPECT_EQ(rest.number("warmup.left_out_turns"), 201);
  EXPECT_NEAR(rest.number("mean_ttft_ms"), 1000, 1e-9);
  EXPECT_EQ(rest.notes, std::vector<std::string>{"warm-up: mser-5 excludes the first 201 of 1000 turns"});
}

TEST(Warmup, OfARunThatHasNotSettledIsSaidAndNotCut) {
  Recorder recorder(400);
  for (uint32_t i = 0; i < 400; ++i) {
    TurnRecord turn;
    turn.session = i;
    turn.arrival_s = i;
    turn.ttft_s = 0.1 * i;
    recorder.turn(turn);
  }
  const RunResult result = recorder.finish(facts(true));
  EXPECT_TRUE(std::isnan(result.number("warmup.detected_turns")));
  EXPECT_EQ(result.number("warmup.left_out_turns"), 0);
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_EQ(result.notes[0],
            "warm-up: not detected, because the TTFTs have not settled in the first half (mser-5 would "
            "exclude 300 of "
            "400 turns): run longer; no turns are excluded");
}

}  // namespace
}  // namespace kvcap::warmup_test
