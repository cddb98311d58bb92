// Runs forty of the scenarios of `./dev soak`.
#include "soak/soak.h"

#include <gtest/gtest.h>

#include "base/input_error.h"
#include "scenario/load.h"
#include "soak/hints.h"
#include "soak/scenario_generator.h"

namespace kvcap::soak::soak_test {
namespace {

TEST(Soak, FortyRandomScenariosBreakNoLaw) {
  const Tally tally = soak(1, 40, [](const Finding& finding) {
    ADD_FAILURE() << "scenario " << finding.number << " (kvcap_soak " << scenario_hint(finding.number)
                  << "): " << finding.what << "\n"
                  << finding.scenario;
  });
  EXPECT_LT(tally.refused, 4);
  EXPECT_GT(tally.turns, 2000);
}

// Two requests decode together. Whether the second one's saves find the write queue full depends on the step
// in which they leave.
TEST(Soak, SavesOfStepsMeetTheSameWriteQueueInBothFidelities) {
  for (const uint64_t number : {1700148ULL, 7459578483ULL}) {
    const Tally tally = soak(number, 1, [](const Finding& finding) {
      ADD_FAILURE() << "scenario " << finding.number << ": " << finding.what;
    });
    EXPECT_EQ(tally.ran, 1);
  }
}

TEST(Soak, NumbersStandForScenariosOfWhichFewAreRefused) {
  EXPECT_EQ(scenario_json(7), scenario_json(7));
  int refused = 0;
  for (uint64_t number = 1; number <= 100; ++number) {
    EXPECT_NE(scenario_json(number), scenario_json(number + 1));
    try {
      parse_scenario(scenario_json(number), "soak", {});
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_LT(refused, 10);
}

}  // namespace
}  // namespace kvcap::soak::soak_test
