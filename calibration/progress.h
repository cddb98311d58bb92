// Progress draws a progress bar on stderr if stderr is a terminal.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

namespace kvcap::calibration {

class Progress {
 public:
  explicit Progress(bool wanted = true) : shown_(wanted && isatty(STDERR_FILENO) == 1) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(const std::string& what, double share) {
    if (!shown_) return;
    const auto now = std::chrono::steady_clock::now();
    if (share < 1 && now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    constexpr int kWidth = 40;
    const int filled = static_cast<int>(share * kWidth);
    std::fprintf(stderr, "\r%-12s [%s%s] %3.0f %% ", what.c_str(), std::string(filled, '#').c_str(),
                 std::string(kWidth - filled, ' ').c_str(), 100 * share);
  }
  void clear() {
    if (shown_) std::fprintf(stderr, "\r%64s\r", "");
  }

 private:
  bool shown_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace kvcap::calibration
