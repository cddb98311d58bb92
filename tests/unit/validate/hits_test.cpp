// The suite `hits` as a whole, for it is fast; evictions on random traces are in eviction_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>

#include "unit/shared_data.h"
#include "validate/suites.h"

namespace kvcap::hits_test {
namespace {

bool is_of_mooncake(const Check& check) { return check.id.starts_with("hits.mooncake."); }

TEST(Hits, AreThoseWorkedOutByHandOnEveryShortTrace) {
  int traces = 0;
  for (const Check& one : study_checks("hits", {.data_folder = "nowhere"})) {
    if (is_of_mooncake(one)) continue;
    ++traces;
    EXPECT_TRUE(one.promised) << one.id;
    EXPECT_EQ(one.simulated, one.reference) << one.id;
    EXPECT_EQ(one.verdict, Agreement::inside) << one.id;
  }
  EXPECT_EQ(traces, 15);
}

TEST(Hits, OfMooncakeAreThoseOfItsStackDistances) {
  KVCAP_NEEDS_SHARED_DATA("traces/mooncake_conversation_trace.jsonl.gz");
  for (const Check& one : study_checks("hits", {.data_folder = shared_data()}))
    EXPECT_EQ(one.verdict, Agreement::inside) << one.id;
}

TEST(Hits, CannotBeComparedWithATraceThatIsNotThere) {
  const std::vector<Check> checks = study_checks("hits", {.data_folder = "nowhere"});
  EXPECT_EQ(std::count_if(checks.begin(), checks.end(), is_of_mooncake), 3);
  for (const Check& one : checks) {
    if (!is_of_mooncake(one)) continue;
    EXPECT_EQ(one.verdict, Agreement::not_comparable);
    EXPECT_NE(one.reason.find("nowhere/traces/mooncake"), std::string::npos) << one.reason;
  }
  EXPECT_EQ(broken_promises(checks), "");
}

}  // namespace
}  // namespace kvcap::hits_test
