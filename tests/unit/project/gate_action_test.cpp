// The action that gates pull requests (.github/actions/kvcap): its script, on a repository of two commits.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "unit/reader.h"

namespace kvcap::gate_action_test {
namespace {

class GateAction : public Reader {
 protected:
  GateAction() {
    install(kvcap_program());
    const Outcome made = shell(
        "git init -q repo && cd repo && git config user.email a@b && git config user.name a && mkdir serving "
        "&& "
        "cp ../chat.json serving/chat.json && git add . && git commit -qm before && "
        "sed -i 's/hcache/kv_offload/' serving/chat.json && git commit -qam after");
    EXPECT_EQ(made.exit_code, 0) << made.err;
  }

  Outcome gate(const std::string& scenario, const std::string& require) const {
    return shell("cd repo && SCENARIO='" + scenario + "' REQUIRE='" + require +
                 "' SET=model=llama-3.1-8b BASE=HEAD~1 RUNNER_TEMP=\"$PWD/..\" "
                 "GITHUB_STEP_SUMMARY=../summary.md GITHUB_OUTPUT=../output "
                 "bash '" KVCAP_SOURCE_DIR
                 "/.github/actions/kvcap/gate.sh'; code=$?; git worktree list >../trees; exit $code");
  }
  std::string summary() const { return read_file(path("summary.md")); }
};

TEST_F(GateAction, PassesWhatHoldsAndWritesTheComparison) {
  const Outcome outcome = gate("serving/chat.json", "mean_ttft_ms<=+100%\n\ntoken_hit_rate>=-5%");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(summary().find("| mean TTFT | ms |"), std::string::npos) << summary();
  EXPECT_NE(read_file(path("output")).find("summary="), std::string::npos);
}

TEST_F(GateAction, FailsWhatDoesNotHoldAndSaysWhy) {
  const Outcome outcome = gate("serving/chat.json", "mean_ttft_ms<=-90%");
  EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
  EXPECT_NE(summary().find("required mean_ttft_ms<=-90%"), std::string::npos) << summary();
  const std::string trees = read_file(path("trees"));
  EXPECT_EQ(std::count(trees.begin(), trees.end(), '\n'), 1) << trees;
}

TEST_F(GateAction, ComparesNothingWithAScenarioThatIsNew) {
  const Outcome outcome = shell("cd repo && cp serving/chat.json serving/new.json && cd .. && true");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(gate("serving/new.json", "mean_ttft_ms<=+5%").exit_code, 0);
  EXPECT_NE(summary().find("serving/new.json is new"), std::string::npos) << summary();
}

TEST_F(GateAction, FailsAScenarioThatIsWrong) {
  const Outcome outcome = shell("cd repo && sed -i 's/kv_offload/kv_ofload/' serving/chat.json");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(gate("serving/chat.json", "mean_ttft_ms<=+5%").exit_code, 2);
}

}  // namespace
}  // namespace kvcap::gate_action_test
