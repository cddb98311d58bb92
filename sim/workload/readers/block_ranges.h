// Represents prompts as ranges of block ids and divides the ranges into pieces that prompts share. A prompt
// of 200,000 tokens has thousands of blocks, but another prompt contains a long run of them either entirely
// or not at all. Each such run becomes one piece, so a session of n prompts has on the order of n pieces per
// prompt.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "workload/workload.h"

namespace kvcap {

// Blocks `first` to `last`, inclusive, whose ids belong to `space`. Equal ids of a space stand for the same
// text after the same text.
struct BlockRange {
  uint64_t space = 0;
  uint64_t first = 0;
  uint64_t last = 0;  // less than 2^63
};

int64_t blocks_of(std::span<const BlockRange> prompt);

// Positions at which ranges of prompts begin or end. REQUIRES: all prompts are added before the first is
// divided.
class RangeBorders {
 public:
  void add(std::span<const BlockRange> prompt);
  // Returns the prompt's ranges, cut at all borders inside them.
  std::vector<BlockRange> divided(std::span<const BlockRange> prompt);

 private:
  struct Borders {
    std::vector<uint64_t> ids;
    bool is_sorted = false;  // sorted and without duplicates
  };
  const std::vector<uint64_t>& sorted(uint64_t space);

  std::unordered_map<uint64_t, Borders> of_spaces_;
};

// Returns one piece per divided range of a prompt.
std::vector<Piece> pieces_of_ranges(std::span<const BlockRange> divided, int64_t block_tokens);

// Throws BadRowError, naming `paths[i]`, if a block of prompt i follows a different block than in earlier
// prompts.
void refuse_contradictions(std::span<const std::vector<BlockRange>> prompts,
                           std::span<const std::string> paths);

}  // namespace kvcap
