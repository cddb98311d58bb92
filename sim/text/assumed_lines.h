// AssumedLines: the assumptions behind a run, as a few lines of text.
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

// Returns the notes on a run, each once, assumptions first. Leaves out notes that are shown elsewhere: those
// on prices, on options without an effect, and the notes of the scenario file on fields that overrides have
// changed.
AssumedLines assumed_lines(const std::vector<std::string>& notes);

}  // namespace kvcap
