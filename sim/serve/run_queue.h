// RunQueue: the queue of comparisons that users start on the page of kvcap serve. One comparison runs at a
// time, in a child process, and a few more may wait. Each has a folder for its results.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace kvcap {

enum class RunState : uint8_t { waiting, running, done, failed, cancelled };

struct QueuedRun {
  int64_t id = 0;
  std::vector<std::string> words;  // arguments of kvcap
  std::filesystem::path folder;
  RunState state = RunState::waiting;
  std::string progress;               // current activity: "simulating"
  double share = 0;                   // completed share of that activity
  std::vector<std::string> finished;  // a JSON object for each finished simulation
  std::string messages;               // other lines of stderr
  std::string answer;                 // stdout
};

struct RunQueueOptions {
  std::string program;           // path of kvcap
  std::filesystem::path folder;  // must exist; the runs create "run-1", "run-2", ... in it
  std::size_t most_waiting = 4;
  std::size_t most_kept = 50;  // number of ended runs to remember; the oldest are forgotten first
};

class RunQueue {
 public:
  explicit RunQueue(RunQueueOptions options);
  // Kills the current run with all its processes.
  ~RunQueue();
  RunQueue(const RunQueue&) = delete;
  RunQueue& operator=(const RunQueue&) = delete;

  // Adds a run and returns its number; nullopt if too many are waiting.
  std::optional<int64_t> add(std::vector<std::string> words);
  // Cancels a waiting or running run. Returns false if there is no such run, or it has ended.
  bool cancel(int64_t id);

  // Return JSON: list_json() all runs with number, command and state, newest first; run_json() everything
  // about one run ("" if there is no such run).
  std::string list_json() const;
  std::string run_json(int64_t id) const;
  // Returns the report of a run's results; nullopt if there is none.
  std::optional<std::string> report(int64_t id) const;

 private:
  void work();
  void run(QueuedRun& one);
  void take_error_line(QueuedRun& one, const std::string& line);
  void forget_oldest();
  QueuedRun* find(int64_t id);
  const QueuedRun* find(int64_t id) const;

  const RunQueueOptions options_;
  mutable std::mutex mutex_;  // guards the members below, except the atomic ones
  std::condition_variable changed_;
  std::deque<QueuedRun> runs_;  // references stay valid while others are added
  int64_t next_ = 1;
  std::atomic<bool> is_ending_ = false;
  std::atomic<int64_t> cancelled_ = 0;  // number of the run to cancel; 0: none
  std::thread worker_;                  // last member, because the thread uses the others
};

}  // namespace kvcap
