#include "plan/workers.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <new>
#include <system_error>
#include <thread>

#include "base/check.h"
#include "base/input_error.h"

namespace kvcap {
namespace {

using Clock = std::chrono::steady_clock;

volatile sig_atomic_t interrupted = 0;
extern "C" void on_interrupt(int) { interrupted = 1; }

// While it lives, Ctrl-C and termination set `interrupted` instead of ending the process.
class InterruptGuard {
 public:
  InterruptGuard() {
    interrupted = 0;
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    sigaction(SIGINT, &action, &before_int_);
    sigaction(SIGTERM, &action, &before_term_);
  }
  ~InterruptGuard() {
    sigaction(SIGINT, &before_int_, nullptr);
    sigaction(SIGTERM, &before_term_, nullptr);
  }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  struct sigaction before_int_ {};
  struct sigaction before_term_ {};
};

// One counter a job, in memory that the workers share with the parent.
class SharedCounters {
 public:
  explicit SharedCounters(std::size_t count) : count_(std::max<std::size_t>(count, 1)) {
    void* memory = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "shared memory");
    counters_ = static_cast<std::atomic<int64_t>*>(memory);
    for (std::size_t i = 0; i < count_; ++i) new (counters_ + i) std::atomic<int64_t>(0);
  }
  ~SharedCounters() { munmap(counters_, bytes()); }
  SharedCounters(const SharedCounters&) = delete;
  SharedCounters& operator=(const SharedCounters&) = delete;

  std::atomic<int64_t>& operator[](std::size_t i) { return counters_[i]; }
  int64_t sum() const {
    int64_t total = 0;
    for (std::size_t i = 0; i < count_; ++i) total += counters_[i].load();
    return total;
  }

 private:
  std::size_t bytes() const { return count_ * sizeof(std::atomic<int64_t>); }
  std::size_t count_;
  std::atomic<int64_t>* counters_ = nullptr;
};

class ProgressBar {
 public:
  ProgressBar(const WorkerOptions& options, const SharedCounters& counters)
      : options_(options),
        counters_(counters),
        shown_(options.total_units > 0 && isatty(STDERR_FILENO) == 1) {}
  ~ProgressBar() {
    if (drawn_) std::fputs("\r\033[K", stderr);
  }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void draw() {
    const double elapsed_s = std::chrono::duration<double>(Clock::now() - start_).count();
    if (!shown_ || elapsed_s < 1) return;
    const double share = std::clamp(
        static_cast<double>(counters_.sum()) / static_cast<double>(options_.total_units), 0.0, 1.0);
    constexpr int kWidth = 40;
    const int filled = static_cast<int>(share * kWidth);
    std::fprintf(stderr, "\r%s [%.*s%*s] %3.0f %%  %.0f s left\033[K", options_.label.c_str(), filled,
                 "########################################", kWidth - filled, "", 100 * share,
                 share > 0 ? elapsed_s * (1 - share) / share : 0.0);
    drawn_ = true;
  }

 private:
  const WorkerOptions& options_;
  const SharedCounters& counters_;
  bool shown_;
  bool drawn_ = false;
  Clock::time_point start_ = Clock::now();
};

// The first byte of a worker's message says what follows.
constexpr char kResult = 'R';
constexpr char kInputError = 'I';
constexpr char kFailure = 'F';

void write_all(int fd, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = write(fd, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) _exit(1);  // the parent is gone
    done += static_cast<std::size_t>(written);
  }
}

[[noreturn]] void work(int fd, const Job& job, std::size_t which, std::atomic<int64_t>& counter) {
  signal(SIGINT, SIG_IGN);  // the parent decides
  signal(SIGTERM, SIG_DFL);
  std::string message;
  try {
    message = kResult + job(which, counter);
  } catch (const InputError& error) {
    message = kInputError + std::string(error.what());
  } catch (const std::exception& error) {
    message = kFailure + std::string(error.what());
  }
  write_all(fd, message);
  // Destructors and exit handlers belong to the parent.
  _exit(0);
}

struct Worker {
  std::size_t job = 0;
  pid_t pid = -1;
  int fd = -1;
  std::string message;
};

class Pool {
 public:
  Pool(std::size_t jobs, const Job& job, const WorkerOptions& options)
      : job_(job), options_(options), counters_(jobs), bar_(options, counters_), results_(jobs) {}
  ~Pool() {
    for (Worker& worker : workers_) {
      kill(worker.pid, SIGKILL);
      close(worker.fd);
      waitpid(worker.pid, nullptr, 0);
    }
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  std::vector<std::string> run() {
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    const std::size_t at_once = options_.at_once > 0 ? static_cast<std::size_t>(options_.at_once) : cores;
    std::size_t next = 0;
    while (next < results_.size() || !workers_.empty()) {
      while (next < results_.size() && workers_.size() < at_once) start(next++);
      listen();
      bar_.draw();
      if (interrupted) throw Interrupted();
    }
    return std::move(results_);
  }

 private:
  void start(std::size_t which) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    std::fflush(nullptr);
    const pid_t pid = fork();
    if (pid < 0) {
      close(ends[0]);
      close(ends[1]);
      throw std::system_error(errno, std::generic_category(), "fork");
    }
    if (pid == 0) {
      close(ends[0]);
      work(ends[1], job_, which, counters_[which]);
    }
    close(ends[1]);
    workers_.push_back({which, pid, ends[0], {}});
  }

  void listen() {
    std::vector<pollfd> ready;
    for (const Worker& worker : workers_) ready.push_back({worker.fd, POLLIN, 0});
    if (poll(ready.data(), ready.size(), 100) <= 0) return;
    for (std::size_t i = ready.size(); i-- > 0;) {
      if (ready[i].revents != 0 && !receive(workers_[i])) finish(i);
    }
  }

  // False at the end of the worker's message.
  static bool receive(Worker& worker) {
    char buffer[65536];
    const ssize_t got = read(worker.fd, buffer, sizeof buffer);
    if (got < 0) return errno == EINTR;
    worker.message.append(buffer, static_cast<std::size_t>(got));
    return got > 0;
  }

  void finish(std::size_t i) {
    Worker worker = std::move(workers_[i]);
    workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(i));
    close(worker.fd);
    int status = 0;
    waitpid(worker.pid, &status, 0);
    if (WIFSIGNALED(status)) {
      throw std::runtime_error("a simulation died: " + std::string(strsignal(WTERMSIG(status))));
    }
    if (worker.message.empty()) throw std::runtime_error("a simulation ended without a result");
    const char kind = worker.message.front();
    worker.message.erase(0, 1);
    if (kind == kInputError) throw InputError(worker.message);
    if (kind != kResult) throw std::runtime_error(worker.message);
    results_[worker.job] = std::move(worker.message);
  }

  const Job& job_;
  const WorkerOptions& options_;
  InterruptGuard guard_;
  SharedCounters counters_;
  ProgressBar bar_;
  std::vector<std::string> results_;
  std::vector<Worker> workers_;
};

}  // namespace

std::vector<std::string> run_in_workers(std::size_t jobs, const Job& job, const WorkerOptions& options) {
  return Pool(jobs, job, options).run();
}

}  // namespace kvcap
