#include "engine/forecast.h"

#include <gtest/gtest.h>

namespace kvcap::forecast_test {
namespace {

// DRAM for three contexts of 10 tokens, an SSD for nine. Turns of one piece each: what a turn leaves is
// small, so that the whole queue is known, unless a test says more.
class ForecastTest : public ::testing::Test {
 protected:
  ForecastTest() {
    for (Key key : {1, 2, 3, 4, 5}) finish(store_.put(key, 10, static_cast<Order>(key)));
    forecast_.left(10);
  }

  void finish(const std::vector<Move>& moves) {
    for (const Move& move : moves) store_.done(move);
  }
  std::vector<Part> prompt(std::initializer_list<Key> keys) {
    std::vector<Part> parts;
    for (Key key : keys) parts.push_back({{key, 10}, 10, 0});
    return parts;
  }
  Tier where(Key key) const { return store_.find(key)->tier; }

  Workload workload_;
  Arrivals arrivals_{workload_};
  Store store_{
      {{.kind = Tier::dram, .capacity_bytes = 30, .eviction = EvictionKind::next_use, .bytes_per_token = 1},
       {.kind = Tier::ssd, .capacity_bytes = 90, .eviction = EvictionKind::next_use, .bytes_per_token = 1}}};
  Forecast forecast_{workload_, arrivals_, store_, {.match = Match::chunk, .look_ahead = true}, 1};
};

TEST_F(ForecastTest, FetchesWhatTheFirstTurnsNeedInPlaceOfWhatNobodyNeeds) {
  ASSERT_EQ(where(1), Tier::ssd);
  ASSERT_EQ(where(2), Tier::ssd);
  const std::vector<Part> first = prompt({1}), second = prompt({2, 5});
  forecast_.joins(first, 1);
  forecast_.joins(second, 2);
  const std::vector<Move> moves = forecast_.look_ahead(0, 10);
  EXPECT_TRUE(forecast_.fetches(first));
  finish(moves);
  EXPECT_FALSE(forecast_.fetches(first));
  EXPECT_EQ(where(1), Tier::dram);
  EXPECT_EQ(where(2), Tier::dram);
  EXPECT_EQ(where(5), Tier::dram);
}

// A prompt that DRAM cannot hold: its parts do not displace each other for ever.
TEST_F(ForecastTest, FetchesOfAPromptWhatFits) {
  const std::vector<Part> large = prompt({1, 2, 3, 4});
  forecast_.joins(large, 1);
  finish(forecast_.look_ahead(0, 10));
  EXPECT_EQ(where(5), Tier::ssd);  // nobody needs it
  EXPECT_EQ(where(1), Tier::dram);
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(forecast_.look_ahead(0, 11 + i).empty());
    EXPECT_FALSE(forecast_.fetches(large));
  }
}

// Nor in tiers that know nothing of next uses, and that keep copies of what moves up.
TEST(Forecast, FetchesOfAPromptWhatFitsInAnyOrderOfEviction) {
  Store store({{.kind = Tier::dram, .capacity_bytes = 20, .bytes_per_token = 1},
               {.kind = Tier::ssd, .capacity_bytes = 90, .bytes_per_token = 1}},
              {.inclusive = true, .write = WriteMode::through});
  std::vector<Part> prompt;
  const auto finish = [&store](const std::vector<Move>& moves) {
    for (const Move& move : moves) store.done(move);
  };
  for (const Key key : {1, 2, 3}) {
    finish(store.put(key, 10, static_cast<Order>(key)));
    prompt.push_back({{key, 10}, 10, 0});
  }
  const Workload workload;
  const Arrivals arrivals(workload);
  Forecast forecast(workload, arrivals, store, {.match = Match::chunk, .look_ahead = true}, 1);
  forecast.left(10);
  forecast.joins(prompt, 1);
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(forecast.look_ahead(0, 10 + i).empty());  // parts 2 and 3 lie in DRAM, which is full
    EXPECT_FALSE(forecast.fetches(prompt));
  }
}

// A new session's first turn reuses nothing, but its text has a next use.
TEST(Forecast, ForeseesTheNextTurnOfAContextThatIsNew) {
  Workload workload;
  workload.sessions = {{.first_turn = 0, .turn_count = 2}};
  workload.turns = {{10, 10, 0}, {10, 10, 50}};
  Sessions sessions(workload, {}, {}, 1000);
  Store store(
      {{.kind = Tier::dram, .capacity_bytes = 40, .eviction = EvictionKind::belady, .bytes_per_token = 1}});
  Forecast forecast(workload, sessions.arrivals, store, {.clairvoyant = true}, 1);
  const Arrival first = sessions.arrivals.pop();
  const TurnText text = sessions.open(first);
  EXPECT_TRUE(text.prompt.empty());
  std::vector<Cut> cuts;
  forecast.record_next_uses(first, sessions.close(first, text, &cuts), 3);
  // Used again at 53 s: what has no next use leaves before it, though it came later.
  for (const Key key : {Key{0}, Key{7}, Key{8}}) {
    for (const Move& move : store.put(key, 20, 3)) store.done(move);
  }
  EXPECT_TRUE(store.find(0));
  EXPECT_FALSE(store.find(7));
}

TEST_F(ForecastTest, SeesAsManyTurnsAsFitIntoDram) {
  forecast_.left(20);  // 15 tokens a turn: two of them
  const std::vector<Part> prompts[] = {prompt({1}), prompt({3}), prompt({2})};
  Order number = 0;
  for (const std::vector<Part>& one : prompts) forecast_.joins(one, ++number);
  finish(forecast_.look_ahead(0, 10));
  EXPECT_EQ(where(1), Tier::dram);
  EXPECT_EQ(where(2), Tier::ssd);
  forecast_.served(1);
  finish(forecast_.look_ahead(0, 11));
  EXPECT_EQ(where(2), Tier::dram);
}

// DRAM has a place for two turns; the one that joins last goes before both, and so does one that returns.
TEST_F(ForecastTest, LooksAheadInOrderOfPriority) {
  Forecast forecast(workload_, arrivals_, store_, {.match = Match::chunk, .look_ahead = true}, 1,
                    SchedulingPolicy::priority);
  forecast.left(15);
  const std::vector<Part> urgent = prompt({1}), next = prompt({2}), last = prompt({3});
  forecast.joins(last, 30);
  forecast.joins(next, 20);
  finish(forecast.look_ahead(0, 10));
  EXPECT_EQ(where(2), Tier::dram);
  EXPECT_EQ(where(3), Tier::dram);
  forecast.joins(urgent, 10);
  forecast.check();
  finish(forecast.look_ahead(0, 11));
  EXPECT_EQ(where(1), Tier::dram);
  forecast.served(10);
  forecast.comes_back(urgent, 25);
  forecast.check();
  forecast.served(20);
  finish(forecast.look_ahead(1, 12));
  EXPECT_EQ(where(1), Tier::dram);
}

// Contexts of running turns take their places in DRAM.
TEST_F(ForecastTest, LeavesRunningTurnsTheirPlaces) {
  store_.pin(3);
  const std::vector<Part> prompts[] = {prompt({4}), prompt({1}), prompt({2})};
  Order number = 0;
  for (const std::vector<Part>& one : prompts) forecast_.joins(one, ++number);
  finish(forecast_.look_ahead(1, 10));  // 4 is there, 1 takes the place of 5, 3 keeps its own
  EXPECT_EQ(where(1), Tier::dram);
  EXPECT_EQ(where(2), Tier::ssd);
  forecast_.served(1);
  EXPECT_TRUE(forecast_.look_ahead(2, 11).empty());
  finish(forecast_.look_ahead(0, 12));
  EXPECT_EQ(where(2), Tier::dram);
}

TEST_F(ForecastTest, FetchesTheFirstEvenWhenRunningTurnsFillDram) {
  const std::vector<Part> first = prompt({1}), second = prompt({2});
  forecast_.joins(first, 1);
  forecast_.joins(second, 2);
  finish(forecast_.look_ahead(24, 10));
  EXPECT_EQ(where(1), Tier::dram);
  EXPECT_EQ(where(2), Tier::ssd);
}

// A turn that ends puts its context over what has been fetched; the next look brings that back.
TEST_F(ForecastTest, FetchesAgainWhatHadToLeave) {
  const std::vector<Part> prompts[] = {prompt({3}), prompt({4}), prompt({1})};
  Order number = 0;
  for (const std::vector<Part>& one : prompts) forecast_.joins(one, ++number);
  finish(forecast_.look_ahead(0, 10));
  ASSERT_EQ(where(1), Tier::dram);
  finish(store_.put(6, 10, 11));
  ASSERT_EQ(where(1), Tier::ssd);
  EXPECT_TRUE(forecast_.look_ahead(0, 11).empty());  // nothing says that anything has changed
  forecast_.left(10);
  finish(forecast_.look_ahead(0, 12));
  EXPECT_EQ(where(1), Tier::dram);
  EXPECT_EQ(where(6), Tier::ssd);
}

// Behind a part that nobody has kept a chunk is found and a prefix is not.
TEST_F(ForecastTest, FetchesNothingBehindAGapOfAPrefix) {
  const std::vector<Part> gap = prompt({9, 1});
  Forecast prefixes(workload_, arrivals_, store_, {.match = Match::prefix, .look_ahead = true}, 1);
  prefixes.left(10);
  prefixes.joins(gap, 1);
  EXPECT_TRUE(prefixes.look_ahead(0, 10).empty());
  forecast_.joins(gap, 1);
  EXPECT_FALSE(forecast_.look_ahead(0, 10).empty());
}

// Three turns use 1; the place of 1 is that of the first of them that still waits.
TEST_F(ForecastTest, KnowsTheFirstOfSeveralUses) {
  const std::vector<Part> one = prompt({1}), three = prompt({3}), four = prompt({4}), five = prompt({5});
  const std::vector<Part> again = prompt({1});
  Order number = 0;
  for (const std::vector<Part>* each : {&one, &three, &again, &four, &five, &again}) {
    forecast_.joins(*each, ++number);
  }
  finish(forecast_.look_ahead(0, 10));  // 1, 3 and 4: 5 is needed last
  EXPECT_EQ(where(1), Tier::dram);
  EXPECT_EQ(where(5), Tier::ssd);
  forecast_.served(1);
  finish(forecast_.look_ahead(0, 11));
  EXPECT_EQ(where(1), Tier::dram);  // as the use that comes after 3's
  forecast_.served(2);
  forecast_.served(3);
  finish(forecast_.look_ahead(0, 12));
  EXPECT_EQ(where(5), Tier::dram);
  EXPECT_EQ(where(3), Tier::ssd);  // no more uses
}

TEST_F(ForecastTest, TakesATurnThatComesBackForTheFirst) {
  const std::vector<Part> prompts[] = {prompt({1}), prompt({3}), prompt({4}), prompt({5})};
  Order number = 0;
  for (const std::vector<Part>& one : prompts) forecast_.joins(one, ++number);
  finish(forecast_.look_ahead(0, 10));
  forecast_.served(1);
  finish(forecast_.look_ahead(0, 11));
  EXPECT_EQ(where(1), Tier::ssd);
  forecast_.comes_back(prompts[0], 1);
  EXPECT_EQ(forecast_.waiting(), 4U);
  finish(forecast_.look_ahead(0, 12));
  EXPECT_EQ(where(1), Tier::dram);
  EXPECT_EQ(where(5), Tier::ssd);
}

TEST_F(ForecastTest, KnowsNothingBeforeATurnHasEndedOrWhenNotAsked) {
  const std::vector<Part> first = prompt({1});
  Forecast fresh{workload_, arrivals_, store_, {.look_ahead = true}, 1};
  Forecast blind{workload_, arrivals_, store_, {}, 1};
  for (Forecast* forecast : {&fresh, &blind}) {
    forecast->joins(first, 1);
    EXPECT_TRUE(forecast->look_ahead(0, 10).empty());
    forecast->served(1);
  }
  blind.left(10);
  blind.joins(first, 2);
  EXPECT_TRUE(blind.look_ahead(0, 11).empty());
}

// Agents send whole prompts: the next use of a piece is the next turn whose prompt has it, however late.
class NextUsesTest : public ::testing::Test {
 protected:
  // Each turn's prompt has the pieces 1 and, in the turns that `others` name, 2; a turn follows 10 s after
  // the answer to the one before.
  void add_session(double time_s, std::initializer_list<bool> others) {
    workload_.sessions.push_back({.first_turn = static_cast<uint32_t>(workload_.turns.size()),
                                  .turn_count = static_cast<uint32_t>(others.size()),
                                  .history_grows = false});
    if (workload_.piece_begin.empty()) workload_.piece_begin.push_back(0);
    for (const bool has_other : others) {
      workload_.turns.push_back(
          {30, 5, workload_.turns.size() == workload_.sessions.back().first_turn ? time_s : 10});
      workload_.pieces.push_back({1, 10});
      if (has_other) workload_.pieces.push_back({2, 10});
      workload_.piece_begin.push_back(workload_.pieces.size());
    }
  }
  Order after(Key key, uint32_t session, uint32_t turn, double now_s) {
    const double time_s = workload_.turns[workload_.sessions[session].first_turn].time_s;
    return NextUses(workload_, Match::prefix, 0)
        .after(key, {.time_s = time_s, .session = session, .turn = turn}, now_s);
  }
  Workload workload_;
};

TEST_F(NextUsesTest, AreThoseOfLaterTurnsOfTheSession) {
  add_session(100, {true, false, true, false});
  EXPECT_EQ(after(1, 0, 0, 103), 113);  // answered 3 s after it came
  EXPECT_EQ(after(2, 0, 0, 103), 123);
  EXPECT_EQ(after(2, 0, 1, 120), 130);
  EXPECT_EQ(after(2, 0, 2, 140), kNever);
  EXPECT_EQ(after(3, 0, 0, 103), kNever);
  workload_.absolute_times = true;
  for (std::size_t i = 0; i < 4; ++i) workload_.turns[i].time_s = 100 + 50 * static_cast<double>(i);
  EXPECT_EQ(after(2, 0, 0, 103), 200);
  EXPECT_EQ(after(2, 0, 0, 203), 203);  // it is late
}

TEST_F(NextUsesTest, AreThoseOfOtherSessionsIfTheyComeFirst) {
  add_session(100, {true, false, false, true});
  add_session(115, {true, true});
  EXPECT_EQ(after(1, 0, 0, 103), 113);
  EXPECT_EQ(after(2, 0, 0, 103), 115);
  EXPECT_EQ(after(2, 1, 0, 116), 126);
  EXPECT_EQ(after(2, 1, 1, 127), 130);  // the last turn of the first session
}

// Sessions of a closed loop start when others end: in their order, at the distance that they have had.
TEST_F(NextUsesTest, FollowTheOrderOfTheSessionsInAClosedLoop) {
  workload_.concurrency = 1;
  add_session(0, {true});
  add_session(0, {false, true});
  add_session(0, {false});
  add_session(0, {true});
  EXPECT_EQ(after(2, 0, 0, 8), 8 + 8);
  EXPECT_EQ(after(2, 1, 0, 20), 30);  // its own turn
  EXPECT_EQ(after(2, 1, 1, 40), 40 + 2 * 20);
  EXPECT_EQ(after(2, 3, 0, 60), kNever);
}

}  // namespace
}  // namespace kvcap::forecast_test
