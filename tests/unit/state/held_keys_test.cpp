// Keys that must stay for now, in every eviction.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "base/random.h"
#include "state/eviction.h"

namespace kvcap::held_keys_test {
namespace {

// One tier's records as plain facts.
struct Facts {
  bool held = false;
  double entered = 0, last = 0, count = 0, score = 0;
  Order next = kNever;
};

std::string eviction_name(const testing::TestParamInfo<EvictionKind>& info) {
  return std::string(eviction_row(info.param).name);
}

class HeldKeys : public testing::TestWithParam<EvictionKind> {};

TEST_P(HeldKeys, StandAsideAndComeBackToTheirPlace) {
  const EvictionKind kind = GetParam();
  const auto rank = [kind](const Facts& facts) -> std::tuple<double, double> {
    switch (kind) {
      case EvictionKind::lru:
        return {facts.last, 0};
      case EvictionKind::fifo:
        return {facts.entered, 0};
      case EvictionKind::lfu:
        return {facts.count, facts.last};
      case EvictionKind::next_use:
        return {-facts.next, facts.last};
      default:
        return {facts.score, facts.last};
    }
  };
  constexpr Slot kSlots = 40;
  const RandomStream random(9, "held");
  const std::unique_ptr<Eviction> eviction = eviction_row(kind).make();
  std::map<Slot, Facts> facts;
  std::map<Slot, std::pair<double, Order>> told;  // score and next use outlive the stay
  int searches_with_held = 0;
  for (uint64_t step = 0; step < 30000; ++step) {
    const auto now = static_cast<double>(step);
    const auto slot = static_cast<Slot>(kSlots * random.uniform(step, 0));
    const double value = std::floor(8 * random.uniform(step, 2));
    told.try_emplace(slot, 0, kNever);
    const bool present = facts.contains(slot);
    switch (static_cast<int>(8 * random.uniform(step, 1))) {
      case 0:
        if (present) break;
        eviction->enter(slot, 1000 + slot);
        facts[slot] = {
            .entered = now, .last = now, .count = 1, .score = told[slot].first, .next = told[slot].second};
        break;
      case 1:
        if (!present) break;
        eviction->touch(slot);
        facts[slot].last = now;
        ++facts[slot].count;
        break;
      case 2:
        if (!present) break;
        eviction->renew(slot);
        facts[slot].last = now;
        break;
      case 3:
        if (!present) break;
        eviction->hold(slot);
        facts[slot].held = true;
        break;
      case 4:
        if (!present) break;
        eviction->release(slot);
        facts[slot].held = false;
        break;
      case 5:
        told[slot].first = value;
        eviction->weigh(slot, value);
        if (present) facts[slot].score = value;
        break;
      case 6:
        told[slot].second = value == 0 ? kNever : now + value;
        eviction->expect(slot, told[slot].second);
        if (present) facts[slot].next = told[slot].second;
        break;
      default:
        if (!present || random.uniform(step, 3) < 0.5) break;
        eviction->leave(slot, false);
        facts.erase(slot);
    }
    Slot expected = kNoSlot;
    bool held = false;
    for (const auto& [one, fact] : facts) {
      held = held || fact.held;
      if (!fact.held && (expected == kNoSlot || rank(fact) < rank(facts[expected]))) expected = one;
    }
    searches_with_held += held;
    // Searches are rarer than changes, or each would set aside one key at most.
    if (step % 5 != 0) continue;
    ASSERT_EQ(eviction->victim(), expected) << "step " << step;
    if (expected == kNoSlot || random.uniform(step, 4) < 0.7) continue;
    eviction->leave(expected, true);
    facts.erase(expected);
  }
  EXPECT_GT(searches_with_held, 20000);
}

INSTANTIATE_TEST_SUITE_P(OfEveryOrder, HeldKeys,
                         testing::Values(EvictionKind::lru, EvictionKind::fifo, EvictionKind::lfu,
                                         EvictionKind::next_use, EvictionKind::score),
                         eviction_name);

TEST(S3Fifo, SkipsHeldKeysAndFindsThemInTheirPlaceAgain) {
  // Five keys in the small queue; while 0 and 1 are held the oldest is 2, then 0 again. 3, used twice, moves
  // to the main queue when it is looked at, and is the last to leave.
  const std::unique_ptr<Eviction> eviction = make_s3_fifo();
  for (Slot slot = 0; slot < 5; ++slot) eviction->enter(slot, 100 + slot);
  eviction->hold(0);
  eviction->hold(1);
  EXPECT_EQ(eviction->victim(), 2U);
  eviction->release(1);
  EXPECT_EQ(eviction->victim(), 1U);
  eviction->release(0);
  eviction->touch(3);
  eviction->touch(3);
  for (Slot expected : {0U, 1U, 2U, 4U, 3U}) {
    ASSERT_EQ(eviction->victim(), expected);
    eviction->leave(expected, true);
  }
  EXPECT_EQ(eviction->victim(), kNoSlot);
}

TEST(Arc, SkipsHeldKeysAndFindsThemInTheirPlaceAgain) {
  // 0, 1 and 2 were used once, 3 and 4 again; the target is 0.
  const std::unique_ptr<Eviction> eviction = make_arc();
  for (Slot slot = 0; slot < 5; ++slot) eviction->enter(slot, 100 + slot);
  for (Slot slot : {3U, 4U}) eviction->touch(slot);
  eviction->hold(0);
  eviction->hold(3);
  EXPECT_EQ(eviction->victim(), 1U);
  eviction->hold(1);
  eviction->hold(2);
  EXPECT_EQ(eviction->victim(), 4U);
  eviction->renew(1);  // while it is held: behind 2, and still used once
  for (Slot slot : {0U, 1U, 2U, 3U}) eviction->release(slot);
  for (Slot expected : {0U, 2U, 1U, 3U, 4U}) {
    ASSERT_EQ(eviction->victim(), expected);
    eviction->leave(expected, true);
  }
  EXPECT_EQ(eviction->victim(), kNoSlot);
}

// No order counts a held key as a victim, or loses one that is released, whatever happened to it.
class EveryOrder : public testing::TestWithParam<EvictionKind> {};

TEST_P(EveryOrder, GivesEachKeyOnceAfterRandomOperations) {
  constexpr Slot kSlots = 30;
  const RandomStream random(10, "every order");
  const std::unique_ptr<Eviction> eviction = eviction_row(GetParam()).make();
  std::map<Slot, bool> held;  // those that are here
  for (uint64_t step = 0; step < 20000; ++step) {
    const auto slot = static_cast<Slot>(kSlots * random.uniform(step, 0));
    const auto action = static_cast<int>(7 * random.uniform(step, 1));
    if (!held.contains(slot)) {
      eviction->awaits(1000 + slot);
      if (action < 3) continue;
      eviction->enter(slot, 1000 + slot);
      held[slot] = false;
    } else if (action == 0) {
      eviction->touch(slot);
    } else if (action == 1) {
      eviction->renew(slot);
    } else if (action < 4) {
      action == 2 ? eviction->hold(slot) : eviction->release(slot);
      held[slot] = action == 2;
    } else if (action == 4) {
      eviction->leave(slot, false);
      held.erase(slot);
    } else if (const Slot victim = eviction->victim(); victim != kNoSlot) {
      ASSERT_TRUE(held.contains(victim) && !held[victim]) << "step " << step;
      eviction->hold(victim);
      eviction->chosen(victim);
      held[victim] = true;
      if (action == 6) continue;
      eviction->leave(victim, true);
      held.erase(victim);
    }
  }
  for (const auto& [slot, was_held] : held) eviction->release(slot);
  if (GetParam() == EvictionKind::none) return;
  for (std::size_t left = held.size(); left > 0; --left) {
    const Slot victim = eviction->victim();
    ASSERT_EQ(held.erase(victim), 1U);
    eviction->leave(victim, true);
  }
  EXPECT_EQ(eviction->victim(), kNoSlot);
}

constexpr auto kKinds = [] {
  std::array<EvictionKind, kEvictions.size()> kinds{};
  for (std::size_t i = 0; i < kinds.size(); ++i) kinds[i] = kEvictions[i].kind;
  return kinds;
}();
INSTANTIATE_TEST_SUITE_P(OfTheTable, EveryOrder, testing::ValuesIn(kKinds), eviction_name);

}  // namespace
}  // namespace kvcap::held_keys_test
