// What a run assumed, in as few lines as people read.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace kvcap {

inline constexpr std::size_t kMostAssumedLines = 6;

struct AssumedLines {
  std::vector<std::string> lines;  // at most kMostAssumedLines
  std::size_t more = 0;            // how many others there are
};

// Returns the notes that hold for the run, each once and the assumptions first. Notes on prices, on options
// without an effect and on fields that were changed since stand elsewhere.
AssumedLines assumed_lines(const std::vector<std::string>& notes);

}  // namespace kvcap
