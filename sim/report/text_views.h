// Writes a report as text: Markdown for pull requests, CSV for other programs.
#pragma once

#include <string>

#include "report/report_data.h"

namespace kvcap {

// Returns the differences between the "before" and "after" sides, the takeaways, and the view of each input.
std::string report_markdown(const Report& report);

// Returns one row per number: input, setting, metric, value and half the width of its 95 % interval (empty if
// unknown). Numbers are written with all digits.
std::string report_csv(const Report& report);

}  // namespace kvcap
