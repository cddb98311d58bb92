// A bar on stderr for work that takes longer than a second, where stderr is a terminal; gone with its owner.
#pragma once

#include <chrono>
#include <string>

namespace kvcap {

class Progress {
 public:
  // An empty label: no bar.
  explicit Progress(const std::string& label);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `share` of the work is done, from 0 to 1. Costs little: it draws some times a second.
  void show(double share, const std::string& remark = "");

  // No bars from now on: for forked workers, whose parent has one.
  static void silence();

 private:
  using Clock = std::chrono::steady_clock;

  std::string label_;
  bool is_shown_;
  bool is_drawn_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_ + std::chrono::seconds(1);
};

}  // namespace kvcap
