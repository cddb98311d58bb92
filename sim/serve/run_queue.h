// RunQueue: the comparisons that a page has asked for. One runs at a time, as a child process of this
// program; a few wait; the results of each lie in a folder of its own.
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
  std::string progress;               // what it does: "simulating"
  double share = 0;                   // of that
  std::vector<std::string> finished;  // a JSON object for each simulation that has ended
  std::string messages;               // other lines of stderr
  std::string answer;                 // stdout
};

struct RunQueueOptions {
  std::string program;           // kvcap
  std::filesystem::path folder;  // exists; each run makes "run-1", "run-2", ... in it
  std::size_t most_waiting = 4;
  std::size_t most_kept = 50;  // runs that have ended; the oldest is forgotten first
};

class RunQueue {
 public:
  explicit RunQueue(RunQueueOptions options);
  // Kills the run that is running with all its processes.
  ~RunQueue();
  RunQueue(const RunQueue&) = delete;
  RunQueue& operator=(const RunQueue&) = delete;

  // Adds a run and returns its number; nullopt: too many are waiting.
  std::optional<int64_t> add(std::vector<std::string> words);
  // Ends a run that waits or runs. Returns false if there is none of this number.
  bool cancel(int64_t id);

  // Returns all runs, the newest first, with number, command and state; the whole of one ("" if there is no
  // such run), as JSON.
  std::string list_json() const;
  std::string run_json(int64_t id) const;
  // Returns the page of a run's results; nullopt: there is none.
  std::optional<std::string> report(int64_t id) const;

 private:
  void work();
  void run(QueuedRun& one);
  void take_error_line(QueuedRun& one, const std::string& line);
  void forget_oldest();
  QueuedRun* find(int64_t id);
  const QueuedRun* find(int64_t id) const;

  const RunQueueOptions options_;
  mutable std::mutex mutex_;  // of all that follows
  std::condition_variable changed_;
  std::deque<QueuedRun> runs_;  // references stay valid while others are added
  int64_t next_ = 1;
  std::atomic<bool> is_ending_ = false;
  std::atomic<int64_t> cancelled_ = 0;  // the run to end; 0: none
  std::thread worker_;                  // the last member: it uses the others
};

}  // namespace kvcap
