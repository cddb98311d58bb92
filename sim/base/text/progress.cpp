#include "base/text/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/text/plain_text.h"

namespace kvcap {
namespace {

bool is_silent = false;

}  // namespace

Progress::Progress(const std::string& label)
    : label_(message_line(label)), is_shown_(!is_silent && !label_.empty() && isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (is_drawn_ && !is_silent) std::fputs("\r\033[K", stderr);
}

void Progress::show(double share, const std::string& remark) {
  if (!is_shown_ || is_silent) return;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(100);
  const double elapsed_s = std::chrono::duration<double>(now - start_).count();
  share = std::clamp(share, 0.0, 1.0);
  constexpr int kWidth = 40;
  const int filled = static_cast<int>(share * kWidth);
  std::fprintf(stderr, "\r%s [%.*s%*s] %3.0f %%  %.0f s left%s\033[K", label_.c_str(), filled,
               "########################################", kWidth - filled, "", 100 * share,
               share > 0 ? elapsed_s * (1 - share) / share : 0.0, remark.c_str());
  is_drawn_ = true;
}

void Progress::silence() { is_silent = true; }

}  // namespace kvcap
