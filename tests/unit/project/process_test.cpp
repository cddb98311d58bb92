#include "unit/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "unit/shell_word.h"

namespace kvcap::process_test {
namespace {

// Only where the test below starts it.
TEST(TestProcess, DISABLED_NeverEnds) {
  wait_for_process(start_process([] { pause(); }));
  FAIL() << "the process that it waited for was killed";
}

std::string this_program() {
  std::string path(4096, '\0');
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  return path.substr(0, static_cast<std::size_t>(length));
}

TEST(TestProcess, EndsWhenItsTestOutlivesTheLimit) {
  const ShellOutput output = shell_output(
      "env -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX KVCAP_TEST_LIMIT_S=1 " + shell_word(this_program()) +
      " --gtest_also_run_disabled_tests --gtest_filter=TestProcess.DISABLED_NeverEnds");
  EXPECT_EQ(WEXITSTATUS(output.status), 1);
  EXPECT_NE(
      output.text.find("watchdog: TestProcess.DISABLED_NeverEnds has run for 1 s: killing the processes"),
      std::string::npos)
      << output.text;
  EXPECT_NE(output.text.find("the process that it waited for was killed"), std::string::npos) << output.text;
}

TEST(TestProcess, GetsCtrlCWhereTheTestsDoNot) {
  const auto before = signal(SIGINT, SIG_IGN);
  const pid_t pid = start_process([] { pause(); });
  signal(SIGINT, before);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  kill(pid, SIGINT);
  EXPECT_EQ(WTERMSIG(wait_for_process(pid)), SIGINT);
}

}  // namespace
}  // namespace kvcap::process_test
