#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "metrics/recorder.h"
#include "metrics/statistics/stability.h"
#include "unit/recorded_turns.h"

namespace kvcap::metrics_stability_test {
namespace {

// One server, sessions of one turn at rate 1, exponential service with mean `load`: M/M/1, whose capacity is
// a load of 1.
struct Queue {
  std::vector<TurnRecord> turns;
  TimeSeries waiting, running;
  double ended_s = 0;

  Queue(double load, uint64_t seed, int customers) {
    const RandomStream arrivals(seed, "arrivals"), services(seed, "services");
    double arrival_s = 0, free_s = 0;
    for (int i = 0; i < customers; ++i) {
      arrival_s += arrivals.exponential(i);
      const double start_s = std::max(arrival_s, free_s);
      free_s = start_s + load * services.exponential(i);
      waiting.add(1, arrival_s, start_s);
      running.add(1, start_s, free_s);
      TurnRecord record{.session = static_cast<uint32_t>(i), .input_tokens = 1, .output_tokens = 1};
      record.arrival_s = arrival_s;
      record.ttft_s = record.e2el_s = free_s - arrival_s;
      record.service_ttft_s = free_s - start_s;
      turns.push_back(record);
    }
    ended_s = free_s;
  }

  Stability judge() const {
    const Window window = steady_window(turns);
    return judge_stability(waiting, running, window, chance_of(turns, window, false));
  }
};

int count(Verdict verdict, double load, int customers, int seeds = 50) {
  int found = 0;
  for (uint64_t seed = 1; seed <= static_cast<uint64_t>(seeds); ++seed)
    found += Queue(load, seed, customers).judge().verdict == verdict;
  return found;
}

TEST(Stability, TellsOverloadedFromBusyQueues) {
  EXPECT_EQ(count(Verdict::stable, 0.5, 2000), 50);
  EXPECT_EQ(count(Verdict::saturated, 1.5, 2000), 50);
  EXPECT_EQ(count(Verdict::saturated, 0.9, 2000), 0);
  EXPECT_EQ(count(Verdict::stable, 1.1, 2000), 0);
}

TEST(Stability, TenPerCentOffCapacityIsToldWithin10000Sessions) {
  EXPECT_GE(count(Verdict::stable, 0.9, 10000), 45);
  EXPECT_GE(count(Verdict::saturated, 1.1, 10000), 45);
}

// At capacity the number inside is a random walk: by the header, 5 of 100 are called stable and fewer than 1
// saturated.
TEST(Stability, AtCapacityItSaysMostlyThatItCannotTell) {
  EXPECT_LE(count(Verdict::stable, 1, 2000, 200), 20);
  EXPECT_LE(count(Verdict::saturated, 1, 2000, 200), 4);
  EXPECT_GE(count(Verdict::undecided, 1, 2000, 200), 180);
}

// 200 loads from 0.5 to 1.5 of capacity, runs doubled until they tell: fewer than 2 % are told wrong, and
// what stays open is within 3 % of capacity and at most 5 %.
TEST(Stability, RunsThatAreDoubledTellLoadsOnBothSidesOfCapacity) {
  constexpr int kLoads = 200, kMost = 1 << 17;
  int wrong = 0, open = 0;
  for (int i = 0; i < kLoads; ++i) {
    const double load = 0.5 + (i + 0.5) / kLoads;
    Verdict verdict = Verdict::undecided;
    for (int customers = 500; verdict == Verdict::undecided && customers <= kMost; customers *= 2) {
      verdict = Queue(load, static_cast<uint64_t>(i), customers).judge().verdict;
    }
    if (verdict == Verdict::undecided) {
      ++open;
      EXPECT_NEAR(load, 1, 0.03);
    } else {
      wrong += (verdict == Verdict::stable) != (load < 1);
    }
  }
  EXPECT_LT(wrong, kLoads / 50);
  EXPECT_LE(open, kLoads / 20);
}

// 400 requests are inside in the end. What grows evenly is an overload; what grows as 1 - exp(-t / 300 s), as
// behind a cache that fills, gains 0.147 / 0.246 = 0.6 times as much from 500 to 950 s as from 250 to 500 s,
// and may shrink before long.
TEST(Stability, WhatGrowsEverMoreSlowlyMayYetShrink) {
  const Chance chance{.sessions = 1000, .gap_variation = 1, .work_variation = 1};
  TimeSeries evenly, slowing, running;
  for (int k = 0; k < 400; ++k) {
    evenly.add(1, k / 400.0 * 1000, 1000);
    slowing.add(1, -300 * std::log(1 - k / 400.0 * (1 - std::exp(-1000 / 300.0))), 1000);
  }
  EXPECT_EQ(judge_stability(evenly, running, {0, 1000, true}, chance).verdict, Verdict::saturated);
  const Stability found = judge_stability(slowing, running, {0, 1000, true}, chance);
  EXPECT_EQ(found.verdict, Verdict::undecided);
  EXPECT_NE(found.reason.find("less than half as fast as before"), std::string::npos) << found.reason;
}

// 60 sessions a second apart, each served for 100 s: more are inside only because none has ended.
TEST(Stability, ARunThatStillFillsTellsNothing) {
  std::vector<TurnRecord> turns;
  TimeSeries waiting, running;
  for (uint32_t i = 0; i < 60; ++i) {
    TurnRecord one = turn(i, 0, i, 1);
    one.e2el_s = 100;
    turns.push_back(one);
    running.add(1, i, i + 100.0);
  }
  const Window window = steady_window(turns);
  EXPECT_FALSE(window.is_filled);
  EXPECT_EQ(judge_stability(waiting, running, window, chance_of(turns, window, false)).verdict,
            Verdict::undecided);
}

// 600 sessions a second apart, each served for 400 s by a machine that serves 200 at once: it serves one
// every 2 s, so half of those that come stay.
TEST(Stability, WhatWaitsEverLongerWhileARunFillsIsAnOverload) {
  std::vector<TurnRecord> turns;
  TimeSeries waiting, running;
  for (uint32_t i = 0; i < 600; ++i) {
    const double starts_s = i < 200 ? i : 200 + 2.0 * i;
    TurnRecord one = turn(i, 0, i, starts_s - i);
    one.e2el_s = starts_s + 400 - i;
    one.service_ttft_s = 0;
    turns.push_back(one);
    waiting.add(1, i, starts_s);
    running.add(1, starts_s, starts_s + 400);
  }
  const Window window = steady_window(turns);
  EXPECT_FALSE(window.is_filled);
  const Stability found = judge_stability(waiting, running, window, chance_of(turns, window, false));
  EXPECT_EQ(found.verdict, Verdict::saturated);
  EXPECT_NE(found.reason.find("waiting requests grow"), std::string::npos) << found.reason;
}

// All at one moment: there is no time in which anything could grow.
TEST(Stability, SessionsThatAllBeginAtOnceTellNothing) {
  const std::vector<TurnRecord> turns(40, turn(0, 0, 0, 1));
  const Window window = steady_window(turns);
  EXPECT_EQ(judge_stability({}, {}, window, chance_of(turns, window, true)).verdict, Verdict::undecided);
}

TEST(Stability, AHandfulOfSessionsTellsNothing) {
  const Stability found = Queue(0.5, 1, 10).judge();
  EXPECT_EQ(found.verdict, Verdict::undecided);
  EXPECT_NE(found.reason.find("sessions begin"), std::string::npos) << found.reason;
}

TEST(Stability, ARushInTheMiddleThatIsServedIsNoOverload) {
  TimeSeries waiting, running;
  for (int s = 0; s < 1000; ++s) waiting.add(s > 400 && s < 700 ? 300 : 1, s, s + 1);
  const Chance chance{.sessions = 1000, .gap_variation = 1, .work_variation = 1};
  EXPECT_NE(judge_stability(waiting, running, {0, 1000, true}, chance).verdict, Verdict::saturated);
  TimeSeries late;  // still being served when the last sessions begin
  for (int s = 0; s < 1000; ++s) late.add(s < 700 ? 0 : 600 - (s - 700), s, s + 1);
  EXPECT_NE(judge_stability(late, running, {0, 1000, true}, chance).verdict, Verdict::saturated);
}

TEST(Stability, SeesOverloadThatBeginsLate) {
  TimeSeries waiting, running;
  for (int s = 0; s < 100; ++s) waiting.add(s < 50 ? 0.0 : 4.0 * (s - 50), s, s + 1);
  const Chance chance{.sessions = 400, .gap_variation = 1, .work_variation = 1};
  EXPECT_EQ(judge_stability(waiting, running, {0, 100, true}, chance).verdict, Verdict::saturated);
}

// sqrt(100 (1 + 3)) = 20, and twice that where each session has two turns inside at once.
TEST(Chance, ScalesWithTheRootOfTheSessions) {
  Chance chance{.sessions = 100, .gap_variation = 1, .work_variation = 3};
  EXPECT_DOUBLE_EQ(chance.scale(), 20);
  chance.turns_at_once = 2;
  EXPECT_DOUBLE_EQ(chance.scale(), 40);
}

// Gaps of 1, 3, 1, 3 s: mean 2, variance 4/3, squared variation 1/3. Served for 0.5 s of TTFT's 1 s x 3/4 and
// 0.5 s of answer: all alike.
TEST(Chance, ComesFromGapsAndServedTimes) {
  std::vector<TurnRecord> turns;
  double at_s = 0;
  for (uint32_t i = 0; i < 5; ++i) {
    turns.push_back(turn(i, 0, at_s, 1));
    at_s += i % 2 == 0 ? 1 : 3;
  }
  const Chance chance = chance_of(turns, {0, 8, true}, false);
  EXPECT_EQ(chance.sessions, 5);
  EXPECT_NEAR(chance.gap_variation, 1 / 3.0, 1e-12);
  EXPECT_DOUBLE_EQ(chance.work_variation, 0);
  EXPECT_DOUBLE_EQ(chance.turns_at_once, 1);
}

// Sessions of two turns that both arrive at once and take 1.5 s: 3 s in 1.5 s.
TEST(Chance, CountsHowManyTurnsOfASessionAreInsideAtOnce) {
  std::vector<TurnRecord> turns;
  for (uint32_t i = 0; i < 4; ++i) {
    turns.push_back(turn(i, 0, 10.0 * i, 1));
    turns.push_back(turn(i, 1, 10.0 * i, 1));
  }
  EXPECT_DOUBLE_EQ(chance_of(turns, {0, 30, true}, false).turns_at_once, 2);
}

// A hundred sessions in the first of 16 parts: the gaps inside are alike, the counts are not.
TEST(Chance, SeesBurstsWhereTheRateVaries) {
  std::vector<TurnRecord> turns;
  for (uint32_t i = 0; i < 100; ++i) turns.push_back(turn(i, 0, 0.01 * i, 0.1));
  const Window window{0, 16, true};
  // Counts 100, 0, ... 0: mean 6.25, variance 625 (15/16 rounds to n - 1), index of dispersion 100.
  EXPECT_NEAR(chance_of(turns, window, true).gap_variation, 100, 1e-9);
  EXPECT_LT(chance_of(turns, window, false).gap_variation, 1);
}

// 100 sessions a second apart, each with turns that end 1.5 and 11.5 s after it began.
TEST(SteadyWindow, BeginsWhenAsMuchIsUnderWayAsEverWillBeAndEndsWithTheLastSession) {
  std::vector<TurnRecord> turns;
  for (uint32_t i = 0; i < 100; ++i) {
    turns.push_back(turn(i, 0, i, 1));
    turns.push_back(turn(i, 1, i + 10.0, 1));
  }
  const Window window = steady_window(turns);
  EXPECT_TRUE(window.is_steady);
  EXPECT_DOUBLE_EQ(window.from_s, 11.5);
  EXPECT_DOUBLE_EQ(window.to_s, 99);
}

TEST(SteadyWindow, IsNoneWhereSessionsLastAsLongAsTheyBegin) {
  const std::vector<TurnRecord> turns = {turn(0, 0, 0, 1), turn(1, 0, 2, 1), turn(0, 1, 30, 1)};
  EXPECT_FALSE(steady_window(turns).is_steady);
  EXPECT_FALSE(steady_window({}).is_steady);
}

TEST(Window, SharesWhatLiesInside) {
  const Window window{10, 20, true};
  EXPECT_DOUBLE_EQ(window.share(5, 15), 0.5);
  EXPECT_DOUBLE_EQ(window.share(0, 40), 0.25);
  EXPECT_DOUBLE_EQ(window.share(12, 13), 1);
  EXPECT_DOUBLE_EQ(window.share(30, 40), 0);
  EXPECT_DOUBLE_EQ(window.share(15, 15), 1);
  EXPECT_DOUBLE_EQ(window.share(25, 25), 0);
}

// Sessions of one turn, one a second for 100 s, each 11 tokens in its last 0.5 s; then one of 100 s alone.
// Window: from 1.5 s, when 95 % of turns are over, to 100 s, when the last session begins.
TEST(Recorder, RatesLeaveOutTheBeginningAndTheEnd) {
  Recorder recorder(0);
  for (uint32_t i = 0; i < 100; ++i) recorder.turn(turn(i, 0, i, 1));
  TurnRecord last = turn(100, 0, 100, 1);
  last.e2el_s = 100;
  recorder.turn(last);
  recorder.busy(Resource::gpu, 50, 1.5, 100);
  recorder.wrote(Tier::ssd, 985, 1, 50);
  recorder.wrote(Tier::ssd, 1e6, 1, 150);
  RunFacts f = facts();
  f.duration_s = 200;
  f.gpu_usd_per_hour = 36;
  const RunResult result = recorder.finish(f);
  const double length_s = 98.5;
  EXPECT_DOUBLE_EQ(result.number("rates.from_s"), 1.5);
  EXPECT_DOUBLE_EQ(result.number("rates.to_s"), 100);
  // Those of 0 to 98 end at 1.5 to 99.5.
  EXPECT_DOUBLE_EQ(result.number("request_throughput"), 99 / length_s);
  EXPECT_DOUBLE_EQ(result.number("output_throughput"),
                   11 * 98 / length_s);  // that of 0 begins and ends before
  EXPECT_NEAR(result.number("utilization.gpu"), 50 / length_s, 1e-9);
  EXPECT_DOUBLE_EQ(result.number("cost.usd_per_hour"), 36);
  EXPECT_DOUBLE_EQ(result.number("cost.total_usd"), 36 * 200 / 3600.0);
  EXPECT_DOUBLE_EQ(result.number("cost.usd_per_million_output_tokens"),
                   36 * length_s / 3600 / (11 * 98) * 1e6);
  EXPECT_DOUBLE_EQ(result.number("ssd_writes.bytes_per_day"), 985 / length_s * 86400);
  EXPECT_EQ(result.number("completed"), 101);

  Recorder whole(0);
  for (uint32_t i = 0; i < 100; ++i) whole.turn(turn(i, 0, i, 1));
  f.rates_over_run = true;
  EXPECT_DOUBLE_EQ(whole.finish(f).number("request_throughput"), 100 / 200.0);
}

TEST(Recorder, TurnsOutsideOfTheSteadyWindowAreLeftOutWhereThatIsAsked) {
  Recorder recorder(0);
  for (uint32_t i = 0; i < 100; ++i) recorder.turn(turn(i, 0, i, i < 2 ? 100 : 1));
  RunFacts f = facts();
  f.duration_s = 200;
  f.cuts_unsteady = true;
  const RunResult result = recorder.finish(f);
  EXPECT_DOUBLE_EQ(result.number("rates.from_s"), 1.5);
  EXPECT_EQ(result.number("warmup.left_out_turns"), 2);
  EXPECT_DOUBLE_EQ(result.number("mean_ttft_ms"), 1000);
}

TEST(Recorder, CountsRejectedAndTruncatedTurns) {
  Recorder recorder(0);
  for (uint32_t i = 0; i < 4; ++i) {
    TurnRecord one = turn(i, 0, i, 1);
    one.rejected = i == 0;
    one.truncated = i > 0 && i < 3;
    recorder.turn(one);
  }
  const RunResult result = recorder.finish(facts());
  EXPECT_EQ(result.number("rejected"), 1);
  EXPECT_EQ(result.number("truncated"), 2);
  EXPECT_EQ(result.number("rejected_share"), 0.25);
  EXPECT_EQ(result.number("truncated_share"), 0.5);
}

// Two turns a second; a turn takes 0.3 s of a full GPU, 0.1 s of restoring computation and 0.7 s of the SSD.
TEST(Recorder, TheOfferedLoadIsThatOfTheBusiestResource) {
  Recorder recorder(0);
  for (uint32_t i = 0; i < 10; ++i) recorder.turn(turn(i, 0, i / 2.0, 0.1));
  recorder.reused(5, 1);
  recorder.busy(Resource::ssd_read, 7, 0, 20);
  RunFacts f = facts();
  f.duration_s = 20;
  f.offered_turns_per_s = 2;
  f.gpu_s_of_turn = [](const MeanTurn& mean) {
    EXPECT_DOUBLE_EQ(mean.prompt_tokens, 100);
    EXPECT_DOUBLE_EQ(mean.output_tokens, 11);
    EXPECT_TRUE(mean.computed_tokens == 100 || mean.computed_tokens == 0) << "0: of the answers alone";
    return 0.3;
  };
  const RunResult result = recorder.finish(f);
  EXPECT_NEAR(result.number("offered_load"), 2 * 0.7, 1e-9);
  EXPECT_EQ(text(result, "offered_bound_by"), "ssd_read");
  Recorder other(0);
  for (uint32_t i = 0; i < 10; ++i) other.turn(turn(i, 0, i / 2.0, 0.1));
  other.reused(5, 1);
  f.replicas = 2;
  const RunResult of_two = other.finish(f);
  EXPECT_DOUBLE_EQ(of_two.number("offered_load"), 2 * (0.3 + 0.1) / 2);
  EXPECT_EQ(text(of_two, "offered_bound_by"), "gpu");
}

// Half of the turns have no answer. They ask for 300 tokens of prompt and 41 of output each; those that have
// an answer for 100 and 11, and find half of their prompts stored. The clients' attempts waste as many
// computed prompt tokens as the answers take.
TEST(Recorder, TheOfferedLoadIsThatOfAllTurnsThatWereAskedFor) {
  for (const bool is_rejected : {false, true}) {
    Recorder recorder(0);
    for (uint32_t i = 0; i < 10; ++i) {
      TurnRecord one = turn(i, 0, i / 2.0, 0.1);
      one.hit_tokens = one.history_tokens = 50;
      one.input_tokens = 50;
      recorder.turn(one);
      TurnRecord other = turn(100 + i, 0, i / 2.0, 0.1);
      other.history_tokens = 100;
      other.input_tokens = 200;
      other.output_tokens = 41;
      (is_rejected ? other.rejected : other.failed) = true;
      recorder.turn(other);
    }
    recorder.wasted(500, 0);
    recorder.busy(Resource::ssd_read, 10, 0, 20);
    RunFacts f = facts();
    f.duration_s = 20;
    f.offered_turns_per_s = 2;
    f.gpu_s_of_turn = [](const MeanTurn& mean) {
      EXPECT_DOUBLE_EQ(mean.prompt_tokens, 200);
      EXPECT_DOUBLE_EQ(mean.output_tokens, 26);
      EXPECT_TRUE(mean.computed_tokens == 100 || mean.computed_tokens == 0) << "0: of the answers alone";
      return 0.3;
    };
    const RunResult result = recorder.finish(f);
    // 10 s of the SSDs are the work of 20 turns.
    EXPECT_NEAR(result.number("offered_load"), 2 * 0.5, 1e-9);
    EXPECT_EQ(text(result, "offered_bound_by"), "ssd_read");
  }
}

// Half of the turns are longer than the engine's window: the other half is the load.
TEST(Recorder, TheOfferedLoadHasNoTurnsThatAreTooLong) {
  Recorder recorder(0);
  for (uint32_t i = 0; i < 10; ++i) {
    recorder.turn(turn(i, 0, i / 2.0, 0.1));
    TurnRecord other = turn(100 + i, 0, i / 2.0, 0.1);
    other.input_tokens = 5000;
    other.rejected = true;
    recorder.turn(other);
  }
  RunFacts f = facts();
  f.duration_s = 20;
  f.offered_turns_per_s = 2;
  f.max_model_len = 4096;
  f.gpu_s_of_turn = [](const MeanTurn& mean) { return mean.prompt_tokens < 4096 ? 0.3 : 30; };
  EXPECT_NEAR(recorder.finish(f).number("offered_load"), 2 * 0.5 * 0.3, 1e-9);
}

TEST(Recorder, TheOfferedLoadIsKnownWithoutAnAnswer) {
  Recorder recorder(0);
  for (uint32_t i = 0; i < 10; ++i) {
    TurnRecord one = turn(i, 0, i / 2.0, 0.1);
    one.failed = true;
    recorder.turn(one);
  }
  RunFacts f = facts();
  f.duration_s = 20;
  f.offered_turns_per_s = 2;
  f.gpu_s_of_turn = [](const MeanTurn& mean) { return mean.computed_tokens / 200; };
  EXPECT_DOUBLE_EQ(recorder.finish(f).number("offered_load"), 2 * 0.5);
}

// Two turns a second, each with 0.8 s of the GPU for its answer and as much for its prompt: 160 % without any
// prompt. Of two machines, 80 % of their time.
TEST(Recorder, AnswersThatTakeMoreThanTheGpusHaveAreAnOverload) {
  RunFacts f = facts();
  f.duration_s = 20;
  f.offered_turns_per_s = 2;
  f.gpu_s_of_turn = [](const MeanTurn& mean) { return mean.computed_tokens > 0 ? 1.6 : 0.8; };
  for (const auto& [replicas, verdict] : {std::pair(1, "saturated"), std::pair(2, "undecided")}) {
    Recorder recorder(0);
    for (uint32_t i = 0; i < 10; ++i) recorder.turn(turn(i, 0, i / 2.0, 0.1));
    f.replicas = replicas;
    EXPECT_EQ(text(recorder.finish(f), "stable.verdict"), verdict);
  }
}

}  // namespace
}  // namespace kvcap::metrics_stability_test
