// Processes that tests start. Each leads a process group of its own, handles signals as a program does that a
// terminal starts (a test program in the background or under nohup ignores some), and ends with the test
// program.
//
// A watchdog process beside the test program kills these groups when the test program is gone or when a test
// outlives its limit (KVCAP_TEST_LIMIT_S, seconds). A test program that does not end then is killed, too.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

namespace kvcap {

// Runs `run` in a new process, which exits with 0 if `run` returns.
pid_t start_process(const std::function<void()>& run);
// The status that waitpid gives.
int wait_for_process(pid_t pid);

// For processes that something else forks into a group of their own, as forkpty does: the first thing in the
// child, and in the parent.
void begin_process();
void watch_process(pid_t pid);

// A command of sh; as std::system, its status.
int shell_status(const std::string& command);
// What a command of sh prints, errors included.
struct ShellOutput {
  int status = 0;
  std::string text;
};
ShellOutput shell_output(const std::string& command);

}  // namespace kvcap
