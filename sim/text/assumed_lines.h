// AssumedLines: what a run assumed, in a few lines.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace kvcap {

inline constexpr std::size_t kMostAssumedLines = 6;

struct AssumedLines {
  std::vector<std::string> lines;  // at most kMostAssumedLines
  std::size_t more = 0;            // number of further lines, which are left out
};

// Returns the notes that hold for the run, each once, assumptions first. Leaves out notes that are shown
// elsewhere: on prices, on options without an effect, and on fields that have changed since.
AssumedLines assumed_lines(const std::vector<std::string>& notes);

}  // namespace kvcap
