// run_child: runs a program, passes on its output as it appears, and can kill it together with its
// descendants.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

struct ChildEnd {
  int exit_code = 0;  // 128 + the signal's number if a signal ended it
  bool was_stopped = false;
};

struct ChildHooks {
  // Called with each piece of text that arrives on stdout or stderr.
  std::function<void(std::string_view text)> on_output, on_errors;
  // Called at least ten times a second; if it returns true, the child is killed.
  std::function<bool()> is_stopped;
};

// Runs a program and returns when it has ended. The program leads a process group of its own, has no open
// files except its standard streams, and is killed when the calling thread ends. Throws std::system_error if
// no more processes or files can be created.
ChildEnd run_child(const std::string& program, const std::vector<std::string>& arguments,
                   const ChildHooks& hooks);

}  // namespace kvcap
