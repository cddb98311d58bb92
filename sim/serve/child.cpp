#include "serve/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <system_error>

namespace kvcap {
namespace {

constexpr int kPatience_ms = 100;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

// A pipe; the destructor closes both ends.
class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) fail("a run's pipe");
  }
  ~Pipe() {
    close_one(0);
    close_one(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void close_reader() { close_one(0); }
  void close_writer() { close_one(1); }

 private:
  void close_one(std::size_t end) {
    if (ends_[end] >= 0) close(ends_[end]);
    ends_[end] = -1;
  }
  std::array<int, 2> ends_{-1, -1};
};

// Replaces the forked child by the program. Because the parent has threads, only async-signal-safe functions
// may be called here.
[[noreturn]] void become(const char* program, char* const* arguments, int output, int errors, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int one : {SIGPIPE, SIGINT, SIGTERM}) signal(one, SIG_DFL);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  close_range(STDERR_FILENO + 1, UINT_MAX, 0);  // e.g. the server's connections
  execv(program, arguments);
  _exit(127);
}

// A process and its process group; the destructor kills the whole group.
class Group {
 public:
  explicit Group(pid_t leader) : leader_(leader) {}
  ~Group() {
    kill_all();
    reap();
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  // Waits for the leader to end and kills the rest of its group before the leader's process ID is released
  // and could be reused.
  ChildEnd finish(bool was_stopped) {
    if (was_stopped) kill_all();
    siginfo_t ignored{};
    while (waitid(P_PID, static_cast<id_t>(leader_), &ignored, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
    }
    kill_all();
    const int status = reap();
    return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
            .was_stopped = was_stopped};
  }

 private:
  void kill_all() const {
    if (leader_ > 0) kill(-leader_, SIGKILL);
  }
  int reap() {
    int status = 0;
    while (leader_ > 0 && waitpid(leader_, &status, 0) < 0 && errno == EINTR) {
    }
    leader_ = 0;
    return status;
  }

  pid_t leader_;
};

pid_t start(const std::string& program, const std::vector<std::string>& arguments, const Pipe& output,
            const Pipe& errors) {
  std::vector<char*> words = {const_cast<char*>(program.c_str())};
  for (const std::string& one : arguments) words.push_back(const_cast<char*>(one.c_str()));
  words.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) fail("a run's process");
  if (pid == 0) become(program.c_str(), words.data(), output.writer(), errors.writer(), parent);
  setpgid(pid, pid);  // the child does the same, because either process may run first
  return pid;
}

// Reads some output from `file` and passes it to `take`. Returns false at the end of the output.
bool receive(int file, const std::function<void(std::string_view)>& take) {
  std::array<char, 65536> buffer;
  const ssize_t got = read(file, buffer.data(), buffer.size());
  if (got < 0) return errno == EINTR;
  if (got > 0 && take) take({buffer.data(), static_cast<std::size_t>(got)});
  return got > 0;
}

// Reads stdout and stderr until both have ended. Returns false if the child should be stopped.
bool listen(Pipe& output, Pipe& errors, const ChildHooks& hooks) {
  while (output.reader() >= 0 || errors.reader() >= 0) {
    if (hooks.is_stopped && hooks.is_stopped()) return false;
    std::array<pollfd, 2> ready = {pollfd{output.reader(), POLLIN, 0}, pollfd{errors.reader(), POLLIN, 0}};
    if (poll(ready.data(), ready.size(), kPatience_ms) <= 0) continue;
    if (ready[0].revents != 0 && !receive(output.reader(), hooks.on_output)) output.close_reader();
    if (ready[1].revents != 0 && !receive(errors.reader(), hooks.on_errors)) errors.close_reader();
  }
  return true;
}

}  // namespace

ChildEnd run_child(const std::string& program, const std::vector<std::string>& arguments,
                   const ChildHooks& hooks) {
  Pipe output, errors;
  Group group(start(program, arguments, output, errors));
  output.close_writer();
  errors.close_writer();
  const bool has_ended = listen(output, errors, hooks);
  return group.finish(!has_ended);
}

}  // namespace kvcap
