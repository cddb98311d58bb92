// run_child: runs a program, hands on what it prints as it comes, and can end it with all its processes.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

struct ChildEnd {
  int exit_code = 0;  // 128 and the number of the signal that ended it
  bool was_stopped = false;
};

struct ChildHooks {
  // Called with pieces of stdout and of stderr.
  std::function<void(std::string_view text)> on_output, on_errors;
  // Asked ten times a second; true ends the child.
  std::function<bool()> is_stopped;
};

// Returns when the program has ended. It leads a process group of its own, has no other open files than its
// output, and is killed when the calling thread ends. Throws std::system_error if there are no more processes
// or files.
ChildEnd run_child(const std::string& program, const std::vector<std::string>& arguments,
                   const ChildHooks& hooks);

}  // namespace kvcap
