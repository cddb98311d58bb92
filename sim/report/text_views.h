// The report as text: Markdown for pull requests, CSV for other programs.
#pragma once

#include <string>

#include "report/report_data.h"

namespace kvcap {

// A table an input, what the report says, and the differences between its sides.
std::string report_markdown(const Report& report);

// A row a figure: input, setting, metric, value and half the width of its 95 % interval, "" where there is
// none. All digits.
std::string report_csv(const Report& report);

}  // namespace kvcap
