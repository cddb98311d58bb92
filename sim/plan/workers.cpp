#include "plan/workers.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <new>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/input_error.h"
#include "base/text/progress.h"

namespace kvcap {
namespace {

using Clock = std::chrono::steady_clock;

volatile sig_atomic_t interrupted = 0;
extern "C" void on_interrupt(int) { interrupted = 1; }

// While an object of this class exists, SIGINT and SIGTERM set `interrupted` instead of ending the process.
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

// One counter per job, in memory that the workers share with the parent.
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

// The first byte of a worker's message: the kind of the text that follows.
constexpr char kResult = 'R';
constexpr char kInputError = 'I';
constexpr char kFailure = 'F';

void write_all(int fd, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = write(fd, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) _exit(1);  // the parent has ended
    done += static_cast<std::size_t>(written);
  }
}

// A worker that runs out of memory exits immediately, because exceptions must not pass through SimGrid.
int message_fd = -1;
[[noreturn]] void out_of_memory() {
  constexpr std::string_view kMessage = "Ia simulation ran out of memory";
  const ssize_t written = write(message_fd, kMessage.data(), kMessage.size());
  _exit(written < 0 ? 1 : 0);
}

void limit_memory(int64_t bytes) {
  std::set_new_handler(out_of_memory);
  if (bytes <= 0) return;
  const rlimit limit{static_cast<rlim_t>(bytes), static_cast<rlim_t>(bytes)};
  setrlimit(RLIMIT_AS, &limit);
}

std::string message_of(const Job& job, std::size_t which, std::atomic<int64_t>& counter) {
  try {
    return kResult + job(which, counter);
  } catch (const InputError& error) {
    return kInputError + std::string(error.what());
  } catch (const std::system_error& error) {
    return kInputError + std::string(error.what());  // e.g. a full disk, which is not a bug of kvcap either
  } catch (const std::exception& error) {
    return kFailure + std::string(error.what());
  }
}

// Runs the job in a new thread, because a new thread has its own heap. With the heap inherited from the
// parent, the kernel would copy every page that the job writes, which takes as long as a short simulation.
[[noreturn]] void work(int fd, const Job& job, std::size_t which, std::atomic<int64_t>& counter,
                       int64_t memory_bytes) {
  signal(SIGINT, SIG_IGN);  // the parent handles it
  signal(SIGTERM, SIG_DFL);
  message_fd = fd;
  Progress::silence();
  std::string message;
  std::thread([&] {
    limit_memory(memory_bytes);
    message = message_of(job, which, counter);
  }).join();
  write_all(fd, message);
  // Skips destructors and exit handlers, which belong to the parent.
  _exit(0);
}

struct Worker {
  std::size_t job = 0;
  pid_t pid = -1;
  int fd = -1;
  std::optional<Clock::time_point> deadline;
  std::string message;
};

JobEnd end_of(char kind) {
  if (kind == kResult) return JobEnd::done;
  return kind == kInputError ? JobEnd::bad_input : JobEnd::failed;
}

class Pool {
 public:
  Pool(std::size_t jobs, const Job& job, const OnOutcomes& on_outcomes, const WorkerOptions& options)
      : jobs_(jobs),
        job_(job),
        on_outcomes_(on_outcomes),
        options_(options),
        counters_(jobs),
        bar_(options.label, options.is_part) {}
  ~Pool() {
    for (Worker& worker : workers_) {
      kill(worker.pid, SIGKILL);
      close(worker.fd);
      waitpid(worker.pid, nullptr, 0);
    }
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  void run() {
    const auto at_once = static_cast<std::size_t>(options_.at_once > 0 ? options_.at_once : core_count());
    std::size_t next = 0;
    while (next < jobs_ || !again_.empty() || !workers_.empty() || !ended_.empty()) {
      while (!interrupted && !again_.empty() && workers_.size() < at_once) {
        start(again_.back());
        again_.pop_back();
      }
      while (!interrupted && next < jobs_ && workers_.size() < at_once) start(next++);
      on_outcomes_(std::exchange(ended_, {}));
      if (interrupted) throw Interrupted();
      if (!workers_.empty()) listen();
      stop_late_ones();
      bar_.show(share_of(next - workers_.size() - again_.size()), options_.remark ? options_.remark() : "");
    }
  }

 private:
  double share_of(std::size_t ended) const {
    return options_.total_units > 0
               ? static_cast<double>(counters_.sum()) / static_cast<double>(options_.total_units)
               : static_cast<double>(ended) / static_cast<double>(jobs_);
  }

  std::string name_of(std::size_t job) const { return options_.name ? options_.name(job) : "a simulation"; }

  void start(std::size_t which) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
      throw std::system_error(errno, std::generic_category(), "a simulation's pipe");
    std::fflush(nullptr);
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0) {
      close(ends[0]);
      close(ends[1]);
      throw std::system_error(errno, std::generic_category(), "a simulation's process");
    }
    if (pid == 0) {
      // Ends the worker when its parent ends, for any reason.
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      close(ends[0]);
      work(ends[1], job_, which, counters_[which], options_.memory_bytes);
    }
    close(ends[1]);
    Worker& worker = workers_.emplace_back(Worker{.job = which, .pid = pid, .fd = ends[0]});
    if (options_.timeout_s > 0) {
      worker.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(options_.timeout_s));
    }
  }

  void listen() {
    std::vector<pollfd> ready;
    for (const Worker& worker : workers_) ready.push_back({worker.fd, POLLIN, 0});
    if (poll(ready.data(), ready.size(), patience_ms()) <= 0) return;
    for (std::size_t i = ready.size(); i-- > 0;) {
      if (ready[i].revents != 0 && !receive(workers_[i])) finish(i, false);
    }
  }

  // Returns the time until the next redraw of the progress bar or the next deadline of a job.
  int patience_ms() const {
    double patience_s = 0.1;
    for (const Worker& worker : workers_) {
      if (!worker.deadline) continue;
      const double left_s = std::chrono::duration<double>(*worker.deadline - Clock::now()).count();
      patience_s = std::clamp(left_s, 0.0, patience_s);
    }
    return static_cast<int>(std::ceil(1e3 * patience_s));
  }

  // Receives some bytes of a worker's message. Returns false at its end.
  static bool receive(Worker& worker) {
    char buffer[65536];
    const ssize_t got = read(worker.fd, buffer, sizeof buffer);
    if (got < 0) return errno == EINTR;
    worker.message.append(buffer, static_cast<std::size_t>(got));
    return got > 0;
  }

  void stop_late_ones() {
    if (options_.timeout_s <= 0) return;
    const Clock::time_point now = Clock::now();
    for (std::size_t i = workers_.size(); i-- > 0;) {
      if (now < *workers_[i].deadline) continue;
      kill(workers_[i].pid, SIGKILL);
      finish(i, true);
    }
  }

  void finish(std::size_t i, bool late) {
    Worker worker = std::move(workers_[i]);
    workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(i));
    close(worker.fd);
    int status = 0;
    rusage used{};
    wait4(worker.pid, &status, 0, &used);
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    // The kernel kills processes if memory is short, so a killed job is run again: with fewer concurrent
    // workers it may finish. A job that ends with SIGABRT is not, because the check that failed would fail
    // again.
    const bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) != SIGABRT;
    if (!late && was_killed && killed_.insert(worker.job).second) {
      counters_[worker.job] = 0;
      again_.push_back(worker.job);
      return;
    }
    JobOutcome& outcome = ended_.emplace_back();
    outcome.job = worker.job;
    outcome.cpu_s = seconds(used.ru_utime) + seconds(used.ru_stime);
    if (late) {
      char text[80];
      std::snprintf(text, sizeof text, " took longer than %g s", options_.timeout_s);
      outcome.end = JobEnd::timed_out;
      outcome.text = name_of(worker.job) + text;
    } else if (WIFSIGNALED(status)) {
      outcome.end = JobEnd::failed;
      outcome.text = name_of(worker.job) + (was_killed ? " died twice: " : " died: ") +
                     strsignal(WTERMSIG(status)) +
                     (WTERMSIG(status) == SIGKILL ? " (memory may be short)" : "");
    } else if (worker.message.empty()) {
      outcome.end = JobEnd::failed;
      outcome.text = name_of(worker.job) + " ended without a result";
    } else {
      outcome.end = end_of(worker.message.front());
      outcome.text = std::move(worker.message);
      outcome.text.erase(0, 1);
    }
  }

  const std::size_t jobs_;
  const Job& job_;
  const OnOutcomes& on_outcomes_;
  const WorkerOptions& options_;
  InterruptGuard guard_;
  SharedCounters counters_;
  Progress bar_;
  std::vector<Worker> workers_;
  std::vector<JobOutcome> ended_;   // outcomes that were not yet reported
  std::vector<std::size_t> again_;  // jobs that were killed once and will be restarted
  std::set<std::size_t> killed_;
};

}  // namespace

void run_each_in_worker(std::size_t jobs, const Job& job, const OnOutcomes& on_outcomes,
                        const WorkerOptions& options) {
  Pool(jobs, job, on_outcomes, options).run();
}

int core_count() { return static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }

std::vector<std::string> run_in_workers(std::size_t jobs, const Job& job, const WorkerOptions& options,
                                        std::vector<std::string>* finished) {
  std::vector<std::string> results(jobs);
  const auto keep = [&](std::vector<JobOutcome> ended) {
    for (JobOutcome& outcome : ended) {
      if (outcome.end == JobEnd::bad_input) throw InputError(outcome.text);
      if (outcome.end != JobEnd::done) throw std::runtime_error(outcome.text + options.hint);
      results[outcome.job] = std::move(outcome.text);
      if (options.on_done) options.on_done(outcome.job, results[outcome.job]);
    }
  };
  try {
    run_each_in_worker(jobs, job, keep, options);
  } catch (const Interrupted&) {
    if (finished) *finished = std::move(results);
    throw;
  }
  return results;
}

}  // namespace kvcap
