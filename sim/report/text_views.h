// Writes a report as text: Markdown for pull requests, CSV for other programs.
#pragma once

#include <string>

#include "report/report_data.h"

namespace kvcap {

// Returns the takeaways, the differences between the sides, and one table per input.
std::string report_markdown(const Report& report);

// Returns one row per figure: input, setting, metric, value and half the width of its 95 % interval (empty if
// unknown). Numbers have all digits.
std::string report_csv(const Report& report);

}  // namespace kvcap
