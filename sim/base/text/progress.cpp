#include "base/text/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/text/plain_text.h"

namespace kvcap {
namespace {

bool is_silent = false, is_told = false;
constexpr std::chrono::milliseconds kLeastWork{300}, kLeastCommand{800}, kBetweenLines{250};
const std::chrono::steady_clock::time_point kCommandBegan = std::chrono::steady_clock::now();

}  // namespace

Progress::Progress(const std::string& label, bool is_part)
    : label_(message_line(label)),
      is_part_(is_part),
      is_shown_(!is_silent && !label_.empty() && (is_told || isatty(STDERR_FILENO) == 1)),
      next_(is_told ? start_ : std::max(start_ + kLeastWork, kCommandBegan + kLeastCommand)) {}

Progress::~Progress() {
  if (is_drawn_ && !is_silent) std::fputs("\r\033[K", stderr);
}

void Progress::show(double share, const std::string& remark) {
  if (!is_shown_ || is_silent) return;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  share = std::clamp(share, 0.0, 1.0);
  if (is_told) {
    next_ = now + kBetweenLines;
    return tell(nlohmann::ordered_json{{"progress", label_}, {"share", share}}.dump());
  }
  next_ = now + std::chrono::milliseconds(100);
  const auto since_s = [&](Clock::time_point then) {
    return std::chrono::duration<double>(now - then).count();
  };
  constexpr int kWidth = 40;
  const int filled = static_cast<int>(share * kWidth);
  const double seconds = is_part_    ? since_s(kCommandBegan)
                         : share > 0 ? since_s(start_) * (1 - share) / share
                                     : 0;
  std::fprintf(stderr, "\r%s [%.*s%*s] %3.0f %%  %.0f s %s%s\033[K", label_.c_str(), filled,
               "########################################", kWidth - filled, "", 100 * share, seconds,
               is_part_ ? "so far" : "left", remark.c_str());
  is_drawn_ = true;
}

void Progress::silence() { is_silent = true; }
void Progress::tell_lines() { is_told = true; }
bool Progress::tells_lines() { return is_told && !is_silent; }

void Progress::tell(const std::string& json) {
  if (tells_lines()) std::fputs((json + "\n").c_str(), stderr);
}

}  // namespace kvcap
