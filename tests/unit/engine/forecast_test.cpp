#include "engine/forecast.h"

#include <gtest/gtest.h>

namespace kvcap::forecast_test {
namespace {

// DRAM for three contexts of 10 tokens, an SSD for nine. Turns of one piece each: what a turn leaves is
// small, so that the whole queue is known, unless a test says more.
class ForecastTest : public ::testing::Test {
 protected:
  ForecastTest() {
    for (Key key : {1, 2, 3, 4, 5}) finish(store_.own().put(key, 10, static_cast<Order>(key)));
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
  NodeStore store_{
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
  NodeStore store({{.kind = Tier::dram, .capacity_bytes = 20, .bytes_per_token = 1},
                   {.kind = Tier::ssd, .capacity_bytes = 90, .bytes_per_token = 1}},
                  {.inclusive = true, .write = WriteMode::through});
  std::vector<Part> prompt;
  const auto finish = [&store](const std::vector<Move>& moves) {
    for (const Move& move : moves) store.done(move);
  };
  for (const Key key : {1, 2, 3}) {
    finish(store.own().put(key, 10, static_cast<Order>(key)));
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
  NodeStore store(
      {{.kind = Tier::dram, .capacity_bytes = 40, .eviction = EvictionKind::belady, .bytes_per_token = 1}});
  Forecast forecast(workload, sessions.arrivals, store, {.clairvoyant = true}, 1);
  const Arrival first = sessions.arrivals.pop();
  const TurnText text = sessions.open(first);
  EXPECT_TRUE(text.prompt.empty());
  std::vector<Cut> cuts;
  forecast.record_next_uses(first, sessions.close(first, text, &cuts), 3);
  // Used again at 53 s: what has no next use leaves before it, though it came later.
  for (const Key key : {Key{0}, Key{7}, Key{8}}) {
    for (const Move& move : store.own().put(key, 20, 3)) store.done(move);
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
  finish(store_.own().put(6, 10, 11));
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

}  // namespace
}  // namespace kvcap::forecast_test
