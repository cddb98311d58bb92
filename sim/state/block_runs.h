// BlockRun: consecutive full blocks of one text. The full blocks of a prompt are a list of such runs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/key_map.h"

namespace kvcap {

// Consecutive tokens of a text, beginning with its token `first`. A prompt is a list of runs; equal lists of
// runs stand for equal token sequences.
struct TextRun {
  Key text = 0;
  int64_t first = 0;
  int64_t tokens = 0;
  Key part = 0;  // key under which the tiers below the GPU store this part
};

// Full blocks of a text; the first one begins at the text's token `first`.
struct BlockRun {
  Key text = 0;
  int64_t first = 0;
  int64_t blocks = 0;
  // Key of the part (prompt.h) in host tiers, and how many tokens of the part precede this run. Not included
  // in the blocks' names.
  Key part = 0;
  int64_t part_first = 0;
  bool operator==(const BlockRun& other) const {
    return text == other.text && first == other.first && blocks == other.blocks;
  }
};

// Returns the full blocks of a sequence. A block that spans the end of one text and the beginning of the next
// is a run of its own: its key is derived from its contents, its first token is kSeveralTexts, and it belongs
// to the part at its beginning. A text may be given as several consecutive runs.
inline constexpr int64_t kSeveralTexts = -1;
std::vector<BlockRun> block_runs(std::span<const TextRun> texts, int64_t block_size);

}  // namespace kvcap
