// Prompts as ranges of block ids, and the pieces that they share. A prompt of 200,000 tokens has thousands of
// blocks, most of them in runs that each prompt has in whole or not at all. Such a run is one piece, so that
// a session of n prompts has at most some n pieces a prompt.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "workload/workload.h"

namespace kvcap {

// The blocks `first` to `last`, both included, of the ids of `space`. Equal ids of one space are equal text
// with equal text before it.
struct BlockRange {
  uint64_t space = 0;
  uint64_t first = 0;
  uint64_t last = 0;  // less than 2^63
};

int64_t blocks_of(std::span<const BlockRange> prompt);

// Where prompts begin a range or end one. All prompts have to be added before the first is divided.
class RangeBorders {
 public:
  void add(std::span<const BlockRange> prompt);
  // The prompt's ranges, cut at all borders that lie inside them.
  std::vector<BlockRange> divided(std::span<const BlockRange> prompt);

 private:
  struct Borders {
    std::vector<uint64_t> ids;
    bool is_sorted = false;  // and without duplicates
  };
  const std::vector<uint64_t>& sorted(uint64_t space);

  std::unordered_map<uint64_t, Borders> of_spaces_;
};

// A piece for each of the prompt's divided ranges.
std::vector<Piece> pieces_of_ranges(std::span<const BlockRange> divided, int64_t block_tokens);

// Throws BadRowError, naming `paths[i]`, where prompt i has a block behind another one than earlier prompts.
void refuse_contradictions(std::span<const std::vector<BlockRange>> prompts,
                           std::span<const std::string> paths);

}  // namespace kvcap
