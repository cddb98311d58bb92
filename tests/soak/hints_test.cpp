// Tests that the arguments that the soak prints repeat the same case.
#include "soak/hints.h"

#include <gtest/gtest.h>

#include <sstream>
#include <stdexcept>

#include "soak/edge_values.h"
#include "soak/plans.h"
#include "soak/scenario_generator.h"

namespace kvcap::soak::hints_test {
namespace {

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

TEST(SoakHints, OfAScenarioRunThatScenario) {
  for (const uint64_t number : {1ULL, 700140ULL, 1700148ULL, 18446744073709551615ULL}) {
    EXPECT_EQ(hinted_text(words(scenario_hint(number))), scenario_json(number)) << number;
  }
}

TEST(SoakHints, OfAPlanRunThatPlan) {
  for (const uint64_t number : {1ULL, 17ULL, 4000000001ULL}) {
    EXPECT_EQ(hinted_text(words(plan_hint(number))), plan_json(number)) << number;
  }
}

// Includes findings with fewer changes than were drawn, and bytes of every value.
TEST(SoakHints, OfNumbersAtTheEdgesRunThoseNumbers) {
  for (uint64_t number = 900001; number <= 900008; ++number) {
    std::string bytes = edge_bytes(number);
    for (; bytes.size() >= 2; bytes.resize(bytes.size() < 5 ? 0 : bytes.size() - 3)) {
      EXPECT_EQ(hinted_text(words(edge_hint(bytes))), edge_scenario(bytes)) << edge_hint(bytes);
    }
  }
  for (int value = 0; value < 256; ++value) {
    const std::string bytes = {static_cast<char>(value), static_cast<char>(255 - value)};
    EXPECT_EQ(bytes_of(words(edge_hint(bytes)).at(1)), bytes);
  }
}

// A case is a scenario and the sessions that the soak generates for it: `kvcap run` on the file alone
// differs.
TEST(SoakHints, OfNumbersAtTheEdgesFailAgain) {
  const EdgeOptions fails{.at_once = 1, .reduces = false, .at_end = [] { throw std::runtime_error("here"); }};
  const EdgeTally first = run_edges({bytes_of("87ea")}, fails);
  ASSERT_EQ(first.findings.size(), 1U);
  const std::string hex = words(edge_hint(first.findings[0].bytes)).at(1);
  const EdgeTally again = run_edges({bytes_of(hex)}, fails);
  ASSERT_EQ(again.findings.size(), 1U);
  EXPECT_EQ(again.findings[0].what, first.findings[0].what);
  EXPECT_EQ(again.findings[0].bytes, first.findings[0].bytes);
}

TEST(SoakHints, RefuseWhatIsNone) {
  for (const char* hex : {"8", "87e", "zz", "87 ea"}) {
    EXPECT_THROW(bytes_of(hex), std::invalid_argument) << hex;
  }
  EXPECT_THROW(hinted_text({"edges", "1000"}), std::invalid_argument);
  EXPECT_THROW(hinted_text({}), std::invalid_argument);
}

}  // namespace
}  // namespace kvcap::soak::hints_test
