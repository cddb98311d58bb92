// The named invariants: their table, the code and tests/invariants.md agree, and a broken one is named.
#include "base/invariants.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>
#include <set>
#include <string>

#include "laws/machines.h"
#include "run/finished_run.h"
#include "unit/cli.h"

namespace kvcap::invariants_test {
namespace {

namespace fs = std::filesystem;
const fs::path kSource = KVCAP_SOURCE_DIR;

std::set<std::string> matches_below(const fs::path& folder, const std::regex& pattern,
                                    const std::string& format) {
  std::set<std::string> found;
  for (const auto& file : fs::recursive_directory_iterator(folder)) {
    if (file.path().extension() != ".cpp" && file.path().extension() != ".h") continue;
    const std::string text = read_file(file.path());
    for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match)
      found.insert(match->format(format));
  }
  return found;
}

TEST(Invariants, AreCheckedSomewhereInTheCode) {
  std::set<std::string> named;
  for (const Invariant& one : kInvariants) {
    EXPECT_TRUE(named.insert(std::string(one.name)).second) << one.name << " is in the table twice";
  }
  EXPECT_EQ(matches_below(kSource / "sim", std::regex(R"re(KVCAP_INVARIANT\(\s*"([^"]+)")re"), "$1"), named);
}

TEST(Invariants, NameATestThatIsThere) {
  const std::set<std::string> tests =
      matches_below(kSource / "tests", std::regex(R"(\nTEST(?:_F|_P)?\((\w+), *(\w+)\))"), "$1.$2");
  for (const Invariant& one : kInvariants) {
    EXPECT_TRUE(tests.contains(std::string(one.test))) << one.name << " names no test: " << one.test;
  }
}

TEST(Invariants, AreThoseOfThePage) {
  const fs::path page = kSource / "tests/invariants.md";
  const std::string begin = "<!-- invariants -->\n", end = "<!-- end of invariants -->";
  std::string table =
      "| name | what holds | checked | a test that fails where it is broken |\n| --- | --- | --- | --- |\n";
  for (const Invariant& one : kInvariants) {
    for (std::string_view cell : {one.name, one.holds, one.when}) table += "| " + std::string(cell) + " ";
    table += "| `" + std::string(one.test) + "` |\n";
  }
  std::string text = read_file(page);
  const std::size_t from = text.find(begin), to = text.find(end);
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos && from < to);
  const std::size_t first = from + begin.size();
  if (std::getenv("KVCAP_WRITE_GOLDEN")) {
    std::ofstream(page) << text.replace(first, to - first, table);
    return;
  }
  EXPECT_EQ(text.substr(first, to - first), table)
      << "tests/invariants.md differs from sim/base/invariants.h; to write the table anew: KVCAP_WRITE_GOLDEN=1 "
         "build/tests/kvcap_tests --gtest_filter=Invariants.AreThoseOfThePage";
}

// ---- results that break one ----

// A finished run of kv_offload, whose result a test then spoils.
class FinishedRunDeathTest : public testing::Test {
 protected:
  void expect_broken(const std::string& name, const std::function<void(RunResult&)>& spoil) const {
    const Machine machine(scenario_, workload_);
    check_finished_run(scenario_, workload_, machine, result_);
    RunResult spoilt = result_;
    spoil(spoilt);
    EXPECT_DEATH(check_finished_run(scenario_, workload_, machine, spoilt), "kvcap: bug: " + name + " is");
  }
  static MetricValue& metric(RunResult& result, std::string_view name) {
    const auto found = std::find_if(result.metrics.begin(), result.metrics.end(),
                                    [name](const Metric& one) { return one.name == name; });
    return found->value;
  }
  static TurnRecord& restored_turn(RunResult& result) {
    return *std::find_if(result.turns.begin(), result.turns.end(),
                         [](const TurnRecord& turn) { return turn.hit_tokens > 0; });
  }

  const Scenario scenario_ = laws::scenario("kv_offload");
  const Workload workload_ = laws::chats(20, 0.5);
  const RunResult result_ = laws::run(scenario_, workload_);
};

TEST_F(FinishedRunDeathTest, ATurnIsLost) {
  expect_broken("INV-TURNS", [](RunResult& result) { result.turns.pop_back(); });
  expect_broken("INV-TURNS", [](RunResult& result) { result.turns[1] = result.turns[0]; });
}

TEST_F(FinishedRunDeathTest, ATurnTakesLongerThanTheRun) {
  expect_broken("INV-TIMES", [](RunResult& result) { result.turns[0].e2el_s = 1e6; });
  expect_broken("INV-TIMES", [](RunResult& result) {
    TurnRecord& turn = restored_turn(result);
    turn.load_s = 2 * static_cast<float>(turn.service_ttft_s);
  });
}

TEST_F(FinishedRunDeathTest, ATurnFindsMoreThanItsHistory) {
  expect_broken("INV-HITS", [](RunResult& result) {
    restored_turn(result).hit_tokens = restored_turn(result).history_tokens + 1;
  });
  expect_broken("INV-HITS", [](RunResult& result) { ++restored_turn(result).tier_hit_tokens[0]; });
}

TEST_F(FinishedRunDeathTest, ATierIsReadWhereNothingWasFound) {
  expect_broken("INV-READS", [](RunResult& result) { metric(result, "read_bytes.dram") = 1.0; });
  expect_broken("INV-READS", [](RunResult& result) { metric(result, "read_bytes.ssd") = 0.0; });
}

TEST_F(FinishedRunDeathTest, ALinkIsBusierThanAlways) {
  expect_broken("INV-FULL", [](RunResult& result) { metric(result, "utilization.ssd_read") = 1.1; });
  expect_broken("INV-FULL", [](RunResult& result) {
    for (auto& [name, values] : result.series)
      if (name == "gpu_utilization") values.assign(values.size(), 1.1);
  });
  expect_broken("INV-FULL", [](RunResult& result) { metric(result, "peak_kv_tokens") = int64_t{1} << 60; });
}

TEST_F(FinishedRunDeathTest, ALevelIsNegative) {
  expect_broken("INV-LEVELS", [](RunResult& result) { result.series.back().second.front() = -1; });
}

TEST_F(FinishedRunDeathTest, TurnsStayLongerThanTheirLatencies) {
  expect_broken("INV-LITTLE", [](RunResult& result) {
    for (auto& [name, means] : result.series) {
      if (name == "running") means.front() += 1;
    }
  });
}

}  // namespace
}  // namespace kvcap::invariants_test
