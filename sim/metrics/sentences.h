// What the numbers of one or several results say, in sentences. Every name and figure is computed.
#pragma once

#include <string>
#include <vector>

#include "metrics/recorder.h"
#include "metrics/result.h"

namespace kvcap {

// One result and the name of its column.
struct Setting {
  std::string label;
  const RunResult* result = nullptr;
};

// Paragraphs without line breaks.
std::vector<std::string> sentences(const std::vector<Setting>& settings,
                                   const std::vector<Difference>& differences);

}  // namespace kvcap
