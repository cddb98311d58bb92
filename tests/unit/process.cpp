#include "unit/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <system_error>

namespace kvcap {
namespace {

using WatchdogClock = std::chrono::steady_clock;

// After a kill, a test has this long to report what it saw.
constexpr std::chrono::seconds kGrace{10};

// What the test program tells its watchdog, in one write.
struct WatchdogMessage {
  enum class Kind { test_begins, test_ends, group_begins, leader_ended } kind;
  pid_t group = 0;
  std::array<char, 200> test{};
};

std::chrono::seconds test_limit() {
  const char* given = std::getenv("KVCAP_TEST_LIMIT_S");
  return std::chrono::seconds(given ? std::max(1, std::atoi(given)) : KVCAP_TEST_LIMIT_S);
}

// The watchdog: in a process of its own, until the test program is gone.
class Watchdog {
 public:
  Watchdog(int messages, pid_t watched) : messages_(messages), watched_(watched) {}

  [[noreturn]] void watch() {
    // What a terminal sends to the test program's group ends that, and thereby this one.
    setpgid(0, 0);
    while (getppid() == watched_) {
      // Others may hold the pipe's end of a program that was killed; therefore once a second.
      pollfd ready{messages_, POLLIN, 0};
      if (poll(&ready, 1, 1000) > 0 && !listen()) break;
      if (WatchdogClock::now() >= deadline_) end_test();
    }
    kill_groups();
    _exit(0);
  }

 private:
  bool listen() {
    WatchdogMessage message;
    if (read(messages_, &message, sizeof message) != sizeof message) return false;
    switch (message.kind) {
      case WatchdogMessage::Kind::test_begins:
        test_ = message.test.data();
        deadline_ = WatchdogClock::now() + test_limit();
        break;
      case WatchdogMessage::Kind::test_ends:
        kill_groups();
        deadline_ = WatchdogClock::time_point::max();
        is_overdue_ = false;
        break;
      case WatchdogMessage::Kind::group_begins:
        groups_.insert(message.group);
        break;
      case WatchdogMessage::Kind::leader_ended:
        // The system gives the number of a group to no other process while it has members.
        if (kill(-message.group, 0) != 0) groups_.erase(message.group);
        break;
    }
    return true;
  }

  void end_test() {
    deadline_ = WatchdogClock::now() + kGrace;
    std::fprintf(stderr, "watchdog: %s has run for %lld s: killing %s\n", test_.c_str(),
                 static_cast<long long>(test_limit().count()),
                 is_overdue_ ? "the test program" : "the processes that it started");
    kill_groups();
    if (is_overdue_) kill(watched_, SIGKILL);
    is_overdue_ = true;
  }

  void kill_groups() {
    for (const pid_t group : groups_) kill(-group, SIGKILL);
    groups_.clear();
  }

  const int messages_;
  const pid_t watched_;
  std::string test_;
  std::set<pid_t> groups_;
  WatchdogClock::time_point deadline_ = WatchdogClock::time_point::max();
  bool is_overdue_ = false;
};

int watchdog_pipe = -1;  // -1: none
pid_t watched_program = 0;

// Processes that the program forks are not the program.
void tell_watchdog(const WatchdogMessage& message) {
  if (watchdog_pipe < 0 || getpid() != watched_program) return;
  [[maybe_unused]] const ssize_t written = write(watchdog_pipe, &message, sizeof message);
}

class WatchdogEvents : public testing::EmptyTestEventListener {
  void OnTestProgramStart(const testing::UnitTest&) override {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    std::fflush(nullptr);
    watched_program = getpid();
    if (fork() == 0) {
      close(ends[1]);
      close_files_of_the_caller();
      Watchdog(ends[0], watched_program).watch();
    }
    close(ends[0]);
    watchdog_pipe = ends[1];
  }
  void OnTestStart(const testing::TestInfo& test) override {
    begin_ = WatchdogClock::now();
    WatchdogMessage message{.kind = WatchdogMessage::Kind::test_begins};
    std::snprintf(message.test.data(), message.test.size(), "%s.%s", test.test_suite_name(), test.name());
    tell_watchdog(message);
  }
  // An assertion that failed because of the watchdog names it.
  void OnTestEnd(const testing::TestInfo&) override {
    if (WatchdogClock::now() - begin_ >= test_limit())
      std::printf("the test outlived its limit (watchdog)\n");
    tell_watchdog({.kind = WatchdogMessage::Kind::test_ends});
  }

  // Whoever reads the program's output to its end does not wait for the watchdog. Its messages go to stderr.
  static void close_files_of_the_caller() {
    const int nowhere = open("/dev/null", O_RDWR);
    dup2(nowhere, STDIN_FILENO);
    dup2(nowhere, STDOUT_FILENO);
  }

  WatchdogClock::time_point begin_;
};

// Before main, which gtest has.
[[maybe_unused]] const bool has_watchdog = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new WatchdogEvents);
  return true;
}();

}  // namespace

void begin_process() {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal_number : {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGPIPE, SIGCHLD})
    signal(signal_number, SIG_DFL);
  if (watchdog_pipe >= 0) close(watchdog_pipe);
  watchdog_pipe = -1;
}

void watch_process(pid_t pid) {
  tell_watchdog({.kind = WatchdogMessage::Kind::group_begins, .group = pid});
}

pid_t start_process(const std::function<void()>& run) {
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid == 0) {
    begin_process();
    run();
    _exit(0);
  }
  setpgid(pid, pid);  // whoever of the two comes first
  watch_process(pid);
  return pid;
}

int wait_for_process(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  tell_watchdog({.kind = WatchdogMessage::Kind::leader_ended, .group = pid});
  return status;
}

namespace {
pid_t start_shell(const std::string& command, int output = -1) {
  return start_process([&] {
    if (output >= 0) {
      dup2(output, STDOUT_FILENO);
      dup2(output, STDERR_FILENO);
    }
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  });
}
}  // namespace

int shell_status(const std::string& command) { return wait_for_process(start_shell(command)); }

ShellOutput shell_output(const std::string& command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  const pid_t pid = start_shell(command, ends[1]);
  close(ends[1]);
  ShellOutput output;
  std::array<char, 4096> part;
  for (ssize_t got; (got = read(ends[0], part.data(), part.size())) > 0;)
    output.text.append(part.data(), static_cast<std::size_t>(got));
  close(ends[0]);
  output.status = wait_for_process(pid);
  return output;
}

}  // namespace kvcap
