// Runs six settings of `kvcap_soak verdicts`, with shorter runs to measure their limits.
#include "soak/verdicts.h"

#include <gtest/gtest.h>

namespace kvcap::soak::verdicts_test {
namespace {

TEST(VerdictCase, IsWrongOnTheOtherSideOfTheLimitOnly) {
  // The limit is 9.9 to 10.1 sessions per second.
  VerdictCase one{.low_per_s = 9.9, .high_per_s = 10.1, .ratio = 0.9, .verdict = Verdict::saturated};
  EXPECT_TRUE(one.truth_is_known() && one.is_wrong());
  one.verdict = Verdict::undecided;
  EXPECT_FALSE(one.is_wrong());
  EXPECT_NEAR(one.distance(), 9.9 / 9 - 1, 1e-12);
  one = {.low_per_s = 9.9, .high_per_s = 10.1, .ratio = 1.1, .verdict = Verdict::stable};
  EXPECT_TRUE(one.truth_is_known() && one.is_wrong());
  EXPECT_NEAR(one.distance(), 11 / 10.1 - 1, 1e-12);
  one.ratio = 1.005;
  EXPECT_FALSE(one.truth_is_known() || one.is_wrong());
}

TEST(Verdicts, OfSixRandomSettingsAreRight) {
  const VerdictTally tally = check_verdicts(1, 6, 1000, [](const VerdictCase& one) {
    EXPECT_FALSE(one.is_wrong()) << "kvcap_soak verdicts 1 " << one.number << ": ratio " << one.ratio << ", "
                                 << name(one.verdict) << "\n"
                                 << verdict_scenario(one.number);
  });
  EXPECT_LE(tally.refused, 1);
}

}  // namespace
}  // namespace kvcap::soak::verdicts_test
