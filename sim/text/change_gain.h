// Decides whether to advise a change from the first setting to another, and states what the change gains.
#pragma once

#include <string>

#include "text/comparison.h"

namespace kvcap {

// Returns what `one` gains over the first setting, in indented lines, with the metrics that it worsens:
//       mean TTFT 72,400 ms instead of 78,000 (-7 %) in one run, which may be chance
//       but p99 TTFT 283,000 ms instead of 273,000 (+4 %)
// Returns "" if the change is not advised: `one` does not serve the load, or does not lower mean TTFT by more
// than chance and kNoticeableShare.
std::string gain_text(const Comparison& all, const Setting& one);

// Returns a line that says why no change is advised.
std::string no_gain_text(const Comparison& all);

}  // namespace kvcap
