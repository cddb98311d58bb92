// The suite `hits` as a whole, for it is fast; evictions on random traces are in eviction_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>

#include "validate/suites.h"

namespace kvcap {
namespace {

constexpr const char* kData = KVCAP_SOURCE_DIR "/../shared/data";

bool is_of_mooncake(const Check& check) { return check.id.starts_with("hits.mooncake."); }

TEST(Hits, AreThoseWorkedOutByHandOnEveryShortTrace) {
  int traces = 0;
  for (const Check& one : hits_checks({.data_folder = "nowhere"})) {
    if (is_of_mooncake(one)) continue;
    ++traces;
    EXPECT_TRUE(one.promised) << one.id;
    EXPECT_EQ(one.simulated, one.reference) << one.id;
    EXPECT_EQ(one.verdict, Verdict::inside) << one.id;
  }
  EXPECT_EQ(traces, 15);
}

TEST(Hits, OfMooncakeAreThoseOfItsStackDistances) {
  const std::vector<Check> checks = hits_checks({.data_folder = kData});
  if (std::any_of(checks.begin(), checks.end(),
                  [](const Check& one) { return one.verdict == Verdict::not_comparable; })) {
    GTEST_SKIP() << "needs the shared data folder beside the project";
  }
  for (const Check& one : checks) EXPECT_EQ(one.verdict, Verdict::inside) << one.id;
}

TEST(Hits, CannotBeComparedWithATraceThatIsNotThere) {
  const std::vector<Check> checks = hits_checks({.data_folder = "nowhere"});
  EXPECT_EQ(std::count_if(checks.begin(), checks.end(), is_of_mooncake), 3);
  for (const Check& one : checks) {
    if (!is_of_mooncake(one)) continue;
    EXPECT_EQ(one.verdict, Verdict::not_comparable);
    EXPECT_NE(one.reason.find("nowhere/traces/mooncake"), std::string::npos) << one.reason;
  }
  EXPECT_EQ(broken_promises(checks), "");
}

}  // namespace
}  // namespace kvcap
