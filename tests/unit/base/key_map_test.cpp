#include "base/key_map.h"

#include <gtest/gtest.h>

#include <unordered_map>

#include "base/random.h"

namespace kvcap::key_map_test {
namespace {

TEST(KeyMap, AgreesWithTheStandardMapThroughRandomChanges) {
  // Neighbours, and keys that differ in their upper or lower bits alone.
  for (int shift : {0, 20, 56}) {
    KeyMap<uint32_t, 0> map;
    std::unordered_map<Key, uint32_t> expected;
    const RandomStream random(1, "keys");
    for (uint64_t step = 0; step < 20000; ++step) {
      const Key key = static_cast<Key>(200 * random.uniform(step, 0)) << shift;
      if (random.uniform(step, 1) < 0.5) {
        map.set(key, static_cast<uint32_t>(step + 1));
        expected[key] = static_cast<uint32_t>(step + 1);
      } else {
        map.erase(key);
        expected.erase(key);
      }
      ASSERT_EQ(map.size(), expected.size());
      const Key other = static_cast<Key>(200 * random.uniform(step, 2)) << shift;
      const auto found = expected.find(other);
      ASSERT_EQ(map.find(other), found == expected.end() ? 0 : found->second);
    }
    for (const auto& [key, value] : expected) ASSERT_EQ(map.find(key), value);
  }
}

TEST(KeySet, TellsNewKeysFromOldOnes) {
  KeySet keys;
  EXPECT_FALSE(keys.contains(7));
  EXPECT_TRUE(keys.insert(7));
  EXPECT_FALSE(keys.insert(7));
  EXPECT_TRUE(keys.insert(0));
  EXPECT_TRUE(keys.contains(7));
  EXPECT_EQ(keys.size(), 2U);
}

}  // namespace
}  // namespace kvcap::key_map_test
