// Progress: a progress bar on stderr, if stderr is a terminal. The bar appears once the work has taken 0.3 s
// and the program 0.8 s; the destructor removes it.
#pragma once

#include <chrono>
#include <string>

namespace kvcap {

class Progress {
 public:
  // An empty label disables the bar. `is_part`: the work is only a part of the command, so the bar shows the
  // time since the command began instead of an estimate of the time left.
  explicit Progress(const std::string& label, bool is_part = false);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Shows that `share` of the work is done, from 0 to 1. Cheap: redraws at most 10 times per second.
  void show(double share, const std::string& remark = "");

  // Disables all bars from now on: for forked workers, whose parent shows one.
  static void silence();

  // Replaces all bars from now on by lines that other programs can read, whether or not stderr is a terminal:
  // {"progress": "simulating", "share": 0.43}
  static void tell_lines();
  static bool tells_lines();
  // Prints `json` as such a line on stderr; does nothing unless tell_lines() was called.
  static void tell(const std::string& json);

 private:
  using Clock = std::chrono::steady_clock;

  std::string label_;
  bool is_part_;
  bool is_shown_;
  bool is_drawn_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_;
};

}  // namespace kvcap
