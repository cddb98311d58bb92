// The miss-ratio curve against an LRU store that is played turn by turn at every capacity.
#include "workload/miss_ratio.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <random>

#include "workload/trace_stats.h"
#include "workload/workload.h"

namespace kvcap::miss_ratio_test {
namespace {

TEST(MissRatio, EndsWhereALargerStoreFindsNothingMore) {
  // 10 tokens at distance 100, 30 at 1000, of 80 in all.
  const std::vector<MissRatioPoint> curve = miss_ratio_curve({{1000, 30}, {100, 10}}, 80);
  ASSERT_EQ(curve.size(), static_cast<std::size_t>(kMissRatioPoints));
  EXPECT_EQ(curve.front().capacity_tokens, 100);
  EXPECT_DOUBLE_EQ(curve.front().token_miss_ratio, 1 - 10 / 80.0);
  EXPECT_DOUBLE_EQ(curve[kMissRatioPoints - 2].token_miss_ratio, 1 - 10 / 80.0);
  EXPECT_EQ(curve.back().capacity_tokens, 1000);
  EXPECT_DOUBLE_EQ(curve.back().token_miss_ratio, 1 - 40 / 80.0);
}

TEST(MissRatio, IsEmptyWhereNothingIsFound) { EXPECT_TRUE(miss_ratio_curve({}, 80).empty()); }

// Sessions that grow, each kept whole: what is used goes to the front, what no longer fits leaves at the
// back.
double played_miss_ratio(const Workload& workload, int64_t capacity) {
  struct Turn {
    double time_s;
    uint32_t session;
    int64_t prompt, after;
  };
  std::vector<Turn> turns;
  for (uint32_t s = 0; s < workload.sessions.size(); ++s) {
    int64_t history = 0;
    for (const kvcap::Turn& one : workload.turns_of(workload.sessions[s])) {
      const int64_t prompt = history + one.input_tokens;
      history = prompt + one.output_tokens;
      turns.push_back({one.time_s, s, prompt, history});
    }
  }
  std::stable_sort(turns.begin(), turns.end(),
                   [](const Turn& a, const Turn& b) { return a.time_s < b.time_s; });
  std::list<std::pair<uint32_t, int64_t>> store;
  int64_t held = 0, found = 0, all = 0;
  for (const Turn& turn : turns) {
    all += turn.prompt;
    const auto kept =
        std::find_if(store.begin(), store.end(), [&](const auto& one) { return one.first == turn.session; });
    if (kept != store.end()) {
      found += kept->second;
      held -= kept->second;
      store.erase(kept);
    }
    store.emplace_front(turn.session, turn.after);
    held += turn.after;
    while (held > capacity) {
      held -= store.back().second;
      store.pop_back();
    }
  }
  return 1 - static_cast<double>(found) / static_cast<double>(all);
}

TEST(MissRatio, IsThatOfAnLruStoreOfEveryCapacity) {
  std::mt19937 random(3);
  const auto below = [&random](int limit) {
    return static_cast<int>(random() % static_cast<unsigned>(limit));
  };
  for (int round = 0; round < 5; ++round) {
    Workload workload;
    workload.absolute_times = true;
    for (int s = 0; s < 30; ++s) {
      Session session;
      session.first_turn = static_cast<uint32_t>(workload.turns.size());
      session.turn_count = static_cast<uint32_t>(1 + below(8));
      session.history_grows = true;
      double time_s = below(100);
      for (uint32_t t = 0; t < session.turn_count; ++t) {
        Turn turn;
        turn.input_tokens = static_cast<uint32_t>(1 + below(300));
        turn.output_tokens = static_cast<uint32_t>(1 + below(300));
        turn.time_s = time_s += 1 + below(40);
        workload.turns.push_back(turn);
      }
      workload.sessions.push_back(session);
    }
    const std::vector<MissRatioPoint> curve = trace_stats(workload).miss_ratio_curve;
    ASSERT_GT(curve.size(), 20U);
    for (const MissRatioPoint& point : curve) {
      EXPECT_NEAR(point.token_miss_ratio, played_miss_ratio(workload, point.capacity_tokens), 1e-12)
          << point.capacity_tokens;
    }
    EXPECT_DOUBLE_EQ(curve.back().token_miss_ratio, 1 - trace_stats(workload).infinite_cache_token_hit_rate);
    EXPECT_LT(curve.back().token_miss_ratio, curve.front().token_miss_ratio);
  }
}

}  // namespace
}  // namespace kvcap::miss_ratio_test
