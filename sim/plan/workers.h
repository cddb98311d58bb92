// Runs jobs in forked processes (workers). Processes are needed because SimGrid allows only one engine per
// process; they also use all cores, and a crash ends only one run. Workers share the data that the parent has
// loaded, without a copy.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace kvcap {

// Thrown after Ctrl-C or SIGTERM once all workers are stopped. Exit code 130.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

// Returns the number of cores of this machine; at least 1.
int core_count();

struct WorkerOptions {
  int at_once = 0;           // number of workers; 0: one per core
  double timeout_s = 0;      // time limit of a job; 0: none
  int64_t memory_bytes = 0;  // address space per worker; 0: no limit
  int64_t total_units = 0;   // units of all jobs, for the bar; 0: the bar counts jobs
  std::string label;         // text before the bar; empty: no bar
  bool is_part = false;      // more jobs follow in other calls, so the bar cannot show the time left
  std::function<std::string()> remark = nullptr;  // text after the bar
  // Returns the name of a job for messages: its setting and seed. Null: every job is "a simulation".
  std::function<std::string(std::size_t job)> name = nullptr;
  std::string hint = "";  // appended to the error message of a job that failed
  // Called by run_in_workers() in the parent with the bytes of each job that ends.
  std::function<void(std::size_t job, const std::string& bytes)> on_done = nullptr;
};

// A job returns its result as bytes and counts finished units in `done_units` for the progress bar (on
// stderr, if it is a terminal and the command takes over 0.8 s).
using Job = std::function<std::string(std::size_t job, std::atomic<int64_t>& done_units)>;

// Runs the jobs and returns the bytes of each, in order. Rethrows an InputError of a job. A job whose process
// is killed runs once more; if it is killed again, throws std::runtime_error with the job and the signal.
// Both errors stop all workers. If Ctrl-C stops the workers and `finished` is given, it receives the bytes of
// the jobs that ended and empty bytes for all others.
std::vector<std::string> run_in_workers(std::size_t jobs, const Job& job, const WorkerOptions& options = {},
                                        std::vector<std::string>* finished = nullptr);

enum class JobEnd : uint8_t { done, bad_input, failed, timed_out };
struct JobOutcome {
  std::size_t job = 0;
  JobEnd end = JobEnd::done;
  std::string text;  // the job's bytes, or one line with the error
  double cpu_s = 0;
};
using OnOutcomes = std::function<void(std::vector<JobOutcome> ended)>;

// Runs jobs that may fail. Calls `on_outcomes` in the parent, several times per second and concurrently with
// the next jobs, with the jobs that ended since the last call (possibly none). An exception of `on_outcomes`
// stops all workers.
void run_each_in_worker(std::size_t jobs, const Job& job, const OnOutcomes& on_outcomes,
                        const WorkerOptions& options = {});

}  // namespace kvcap
