// Runs two of the plans of `kvcap_soak plans`.
#include "soak/plans.h"

#include <gtest/gtest.h>

namespace kvcap::soak::plans_test {
namespace {

TEST(RandomPlans, AreBoughtAsExhaustiveSearchOn20TimesTheSessionsBuysThem) {
  for (uint64_t number : {2, 6}) {
    const PlanOutcome outcome = compare_with_exhaustive(number);
    EXPECT_NE(outcome.agreement, Agreement::different)
        << "kvcap_soak plans 1 " << number << ": " << outcome.what;
  }
}

TEST(RandomPlans, AreTheSameOfTheSameNumber) {
  EXPECT_EQ(plan_json(3), plan_json(3));
  EXPECT_NE(plan_json(3), plan_json(4));
}

}  // namespace
}  // namespace kvcap::soak::plans_test
