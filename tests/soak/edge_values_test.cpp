// Runs three hundred scenarios with numbers at the limits of their ranges; `kvcap_soak edges` runs more.
#include "soak/edge_values.h"

#include <gtest/gtest.h>

#include "base/input_error.h"
#include "laws/machines.h"
#include "soak/hints.h"

namespace kvcap::soak::edge_values_test {
namespace {

TEST(EdgeValues, AreRefusedOrBreakNoLaw) {
  std::vector<std::string> all_bytes;
  for (uint64_t number = 1; number <= 300; ++number) all_bytes.push_back(edge_bytes(number));
  const EdgeTally tally = run_edges(all_bytes);
  for (const EdgeFinding& finding : tally.findings) {
    ADD_FAILURE() << edge_changes(finding.bytes) << ": " << finding.what << "\nagain: kvcap_soak "
                  << edge_hint(finding.bytes);
  }
  EXPECT_GT(tally.ran, 100);
}

TEST(EdgeValues, RefuseARunOfCenturies) {
  Scenario slow = laws::scenario("recompute");
  slow.hardware.gpu.peak_flops = 1e6;
  slow.hardware.gpu.attention.efficiency = 1e-6;
  try {
    laws::run(slow, laws::chats(3, 1));
    FAIL() << "it ran";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("more than 300 years of simulated time"), std::string::npos);
  }
}

TEST(EdgeValues, LetARunOfADecadeKeepItsInvariants) {
  Scenario patient = laws::scenario("hcache");
  patient.serving.request_overhead_s = 3e8;
  const RunResult result = laws::run(patient, laws::chats(6, 1));
  EXPECT_GT(result.number("duration"), 3e8);
}

}  // namespace
}  // namespace kvcap::soak::edge_values_test
