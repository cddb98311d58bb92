#include "state/block_runs.h"

#include <algorithm>

namespace kvcap {
namespace {

bool continues(const TextRun& text, const TextRun& next) {
  return next.text == text.text && next.first == text.first + text.tokens;
}

}  // namespace

std::vector<BlockRun> block_runs(std::span<const TextRun> texts, int64_t block_size) {
  std::vector<BlockRun> runs;
  int64_t filled = 0;  // filled tokens of a block that spans several texts
  Key contents = 0;
  Key part = 0;  // the part at the block's beginning
  int64_t part_end = 0;
  for (std::size_t i = 0; i < texts.size();) {
    TextRun text = texts[i++];
    for (; i < texts.size() && (texts[i].tokens <= 0 || continues(text, texts[i])); ++i) {
      text.tokens += std::max(texts[i].tokens, int64_t{0});
    }
    if (text.tokens <= 0) continue;
    const int64_t all = text.tokens;
    if (filled > 0) {
      const int64_t here = std::min(text.tokens, block_size - filled);
      contents = chained(chained(chained(contents, text.text), static_cast<Key>(text.first)),
                         static_cast<Key>(here));
      filled += here;
      text.first += here;
      text.tokens -= here;
      if (filled < block_size) continue;
      runs.push_back({contents, kSeveralTexts, 1, part, part_end - block_size});
    }
    const int64_t blocks = text.tokens / block_size;
    if (blocks > 0) runs.push_back({text.text, text.first, blocks, text.part, all - text.tokens});
    filled = text.tokens - blocks * block_size;
    const auto begin = static_cast<Key>(text.first + blocks * block_size);
    contents = filled > 0
                   ? chained(chained(chained(0x6b76636170ULL, text.text), begin), static_cast<Key>(filled))
                   : 0;
    part = text.part;
    part_end = all;
  }
  return runs;
}

}  // namespace kvcap
