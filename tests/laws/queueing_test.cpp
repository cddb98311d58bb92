// The suite `queueing` in parts: its statistics are tested where they are cheap, and that they can tell at
// all.
#include "validate/theory/queueing.h"

#include <gtest/gtest.h>

namespace kvcap::queueing_test {
namespace {

void expect_inside(const std::vector<Check>& checks) {
  for (const Check& one : checks) {
    EXPECT_EQ(one.verdict, Agreement::inside)
        << one.id << ": " << one.simulated[0] << " against " << one.reference[0];
    EXPECT_TRUE(one.promised);
    if (!one.half_width.empty()) {
      EXPECT_LT(one.half_width[0], 0.2 * one.reference[0]) << one.id << " is too wide to tell";
    }
  }
}

TEST(Queueing, RequestsWaitAsLongAsTheorySays) {
  expect_inside(run_experiments("queueing", waiting_experiments({.quick = true}), 12));
}

TEST(Queueing, LoadsWaitForALinkAsLongAsTheorySays) {
  expect_inside(run_experiments("queueing", link_experiments({.quick = true}), 12));
}

TEST(Queueing, TransfersShareLinksAndOverlapAsTheorySays) { expect_inside(transfer_checks()); }

// Two seeds of each: Che's rate and others' are met within a percent, and stack distances exactly.
TEST(Queueing, ReferencesAreFoundAsOftenAsTheorySays) {
  for (const Check& one : run_experiments("queueing", reference_experiments({.quick = true}), 2)) {
    EXPECT_NEAR(one.simulated[0] / one.reference[0], 1, 0.02) << one.id;
    if (one.id.ends_with("stack")) {
      EXPECT_EQ(one.simulated, one.reference);
    }
  }
}

// A queue at 42 % is no queue at 40 %.
TEST(Queueing, AWrongTheoryIsOutside) {
  std::vector<Experiment> experiments = waiting_experiments({.quick = true});
  experiments.resize(1);
  ASSERT_EQ(experiments[0].predictions[1].theory, 0.4);
  experiments[0].predictions[1].theory = 0.42;
  const std::vector<Check> checks = run_experiments("queueing", experiments, 12);
  EXPECT_EQ(checks[0].verdict, Agreement::inside);
  EXPECT_EQ(checks[1].verdict, Agreement::outside);
  EXPECT_NE(broken_promises(checks), "");
}

}  // namespace
}  // namespace kvcap::queueing_test
