// What a terminal shows while a check or a file takes long, and that a pipe gets nothing of it.
#include "base/text/progress.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "unit/cli.h"
#include "unit/process.h"

namespace kvcap::progress_test {
namespace {

using Clock = std::chrono::steady_clock;

class Terminal : public Cli {
 protected:
  struct Shown {
    std::string text;
    int exit_code = 0;
  };
  // `work` in a process of its own with a terminal, until it shows `wanted` and gets Ctrl-C, or ends.
  static Shown shown(const std::string& wanted, const std::function<void()>& work) {
    int terminal = -1;
    const pid_t pid = forkpty(&terminal, nullptr, nullptr, nullptr);
    if (pid == 0) {
      begin_process();
      work();
      _exit(0);
    }
    watch_process(pid);
    Shown shown;
    char buffer[4096];
    const auto end = Clock::now() + std::chrono::seconds(60);
    bool is_interrupted = false;
    while (Clock::now() < end) {
      pollfd ready{terminal, POLLIN, 0};
      if (poll(&ready, 1, 100) <= 0) continue;
      const ssize_t bytes = read(terminal, buffer, sizeof buffer);
      if (bytes <= 0) break;
      shown.text.append(buffer, static_cast<std::size_t>(bytes));
      if (is_interrupted || shown.text.find(wanted) == std::string::npos) continue;
      kill(pid, SIGINT);
      is_interrupted = true;
    }
    kill(pid, SIGKILL);
    const int status = wait_for_process(pid);
    close(terminal);
    shown.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return shown;
  }
  static void show_for_a_while() {
    Progress progress("reading a\033b");
    for (int i = 0; i < 15; ++i) {
      progress.show(0.5, ", 1 failed");
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
};

TEST_F(Terminal, HasNoEstimateOfAPartOfACommand) {
  const std::string text = shown("never", [] {
                             Progress progress("screening", true);
                             for (int i = 0; i < 8; ++i) {
                               progress.show(0.5);
                               std::this_thread::sleep_for(std::chrono::milliseconds(100));
                             }
                           }).text;
  EXPECT_NE(text.find("\rscreening ["), std::string::npos) << text;
  EXPECT_NE(text.find(" s so far"), std::string::npos) << text;
  EXPECT_EQ(text.find(" left"), std::string::npos) << text;
}

TEST_F(Terminal, HasABarAfterASecondThatIsGoneAtTheEnd) {
  const std::string text = shown("never", show_for_a_while).text;
  EXPECT_TRUE(text.starts_with("\rreading a\\u001bb [####################                    ]  50 %  "))
      << text;
  EXPECT_NE(text.find(" s left, 1 failed"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\r\033[K")) << text;
  EXPECT_EQ(shown("never", [] { Progress("quick").show(0.5); }).text, "");
  EXPECT_EQ(shown("never",
                  [] {
                    Progress::silence();
                    show_for_a_while();
                  })
                .text,
            "");
}

TEST_F(Terminal, ShowsThatASweepIsBeingChecked) {
  std::string seeds = "0";
  for (int i = 1; i < 30'000; ++i) seeds += "," + std::to_string(i);
  write("s.json", R"({"schema": "kvcap.sweep/1", "base": "chat.json", "grid": {"seed": [)" + seeds + "]}}");
  const Shown sweep = shown("checking [", [this] {
    execl(KVCAP_BINARY, "kvcap", "sweep", path("s.json").c_str(), "--out", path("made").c_str(), nullptr);
  });
  EXPECT_NE(sweep.text.find("checking ["), std::string::npos) << sweep.text;
  EXPECT_EQ(sweep.exit_code, 130) << sweep.text;
  EXPECT_FALSE(std::filesystem::exists(path("made")));
}

TEST_F(Terminal, ShowsThatALargeTraceIsBeingRead) {
  std::string lines;
  for (int i = 0; i < 1'000'000; ++i)
    lines += R"({"id": )" + std::to_string(i) +
             R"(, "turns": [{"input_tokens": 9, "output_tokens": 9}]})"
             "\n";
  write("t.jsonl", lines);
  const Shown stats = shown("reading t.jsonl [", [this] {
    execl(KVCAP_BINARY, "kvcap", "trace", "stats", path("t.jsonl").c_str(), nullptr);
  });
  EXPECT_NE(stats.text.find("reading t.jsonl ["), std::string::npos) << stats.text;
  const Outcome piped = kvcap({"trace", "stats", path("t.jsonl")});
  EXPECT_EQ(piped.err, "");
}

}  // namespace
}  // namespace kvcap::progress_test
