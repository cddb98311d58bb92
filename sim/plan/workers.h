// Many runs, each in a process of its own: SimGrid has one engine a process, a crash takes one run with it,
// and the cores are used. Workers are forked, so what the parent has loaded is there for free.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace kvcap {

// Ctrl-C while workers ran: all of them have been stopped. Exit code 130.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

// Of this machine; at least 1.
int core_count();

struct WorkerOptions {
  int at_once = 0;           // 0: one a core
  double timeout_s = 0;      // a job that takes longer is killed; 0: it may take for ever
  int64_t memory_bytes = 0;  // of a worker's address space; 0: what the machine has
  int64_t total_units = 0;   // what the jobs' counters add up to when all is done; 0: the bar counts jobs
  std::string label;         // in front of the bar; empty: no bar
  std::function<std::string()> remark = nullptr;  // behind the bar
  // What messages call a job: its setting and seed. Absent: "a simulation".
  std::function<std::string(std::size_t job)> name = nullptr;
  std::string hint = "";  // behind the error that a job which died is
};

// A job returns bytes and counts its finished units in `done_units` for the progress bar (drawn on stderr
// when it is a terminal and the work takes over a second).
using Job = std::function<std::string(std::size_t job, std::atomic<int64_t>& done_units)>;

// Returns what each job returned, in order. An InputError thrown by a job is thrown here again. A job whose
// process is killed runs once more; if that is killed too, std::runtime_error names the job and the signal.
// The other workers are stopped in both cases.
std::vector<std::string> run_in_workers(std::size_t jobs, const Job& job, const WorkerOptions& options = {});

enum class JobEnd : uint8_t { done, bad_input, failed, timed_out };
struct JobOutcome {
  std::size_t job = 0;
  JobEnd end = JobEnd::done;
  std::string text;  // what the job returned, or in one line why it did not
  double cpu_s = 0;
};
using OnOutcomes = std::function<void(std::vector<JobOutcome> ended)>;

// The same for jobs that may fail: `on_outcomes` is told, here in the parent, which jobs have ended since it
// was told last, while the next ones run already; several times a second, with none where none has. What it
// throws stops all workers.
void run_each_in_worker(std::size_t jobs, const Job& job, const OnOutcomes& on_outcomes,
                        const WorkerOptions& options = {});

}  // namespace kvcap
