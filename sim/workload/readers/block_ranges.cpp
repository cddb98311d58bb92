#include "workload/readers/block_ranges.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/key_map.h"
#include "workload/logs/rows.h"

namespace kvcap {
namespace {

using BlockId = std::pair<uint64_t, uint64_t>;  // space and id

std::string place(const std::optional<BlockId>& before) {
  return before ? "after " + std::to_string(before->second) : "first";
}

}  // namespace

int64_t blocks_of(std::span<const BlockRange> prompt) {
  int64_t blocks = 0;
  for (const BlockRange& range : prompt) blocks += static_cast<int64_t>(range.last - range.first) + 1;
  return blocks;
}

void RangeBorders::add(std::span<const BlockRange> prompt) {
  for (const BlockRange& range : prompt) {
    Borders& borders = of_spaces_[range.space];
    borders.ids.push_back(range.first);
    borders.ids.push_back(range.last + 1);
    borders.is_sorted = false;
  }
}

const std::vector<uint64_t>& RangeBorders::sorted(uint64_t space) {
  Borders& borders = of_spaces_.at(space);
  if (!borders.is_sorted) {
    std::sort(borders.ids.begin(), borders.ids.end());
    borders.ids.erase(std::unique(borders.ids.begin(), borders.ids.end()), borders.ids.end());
    borders.is_sorted = true;
  }
  return borders.ids;
}

std::vector<BlockRange> RangeBorders::divided(std::span<const BlockRange> prompt) {
  std::vector<BlockRange> parts;
  for (const BlockRange& range : prompt) {
    const std::vector<uint64_t>& borders = sorted(range.space);
    auto end = std::upper_bound(borders.begin(), borders.end(), range.first);
    for (uint64_t first = range.first; first <= range.last; first = *end++) {
      parts.push_back({range.space, first, *end - 1});
    }
  }
  return parts;
}

std::vector<Piece> pieces_of_ranges(std::span<const BlockRange> divided, int64_t block_tokens) {
  std::vector<Piece> pieces;
  for (const BlockRange& range : divided) {
    const auto tokens = static_cast<uint32_t>(blocks_of({&range, 1}) * block_tokens);
    pieces.push_back({chained(range.space, range.first), tokens});
  }
  return pieces;
}

// Every block belongs to exactly one divided range, so it suffices to compare the predecessors of ranges.
void refuse_contradictions(std::span<const std::vector<BlockRange>> prompts,
                           std::span<const std::string> paths) {
  KVCAP_CHECK(prompts.size() == paths.size());
  RangeBorders borders;
  for (const std::vector<BlockRange>& prompt : prompts) borders.add(prompt);
  std::map<BlockId, std::optional<BlockId>> before_ranges;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    std::optional<BlockId> before;
    for (const BlockRange& range : borders.divided(prompts[i])) {
      const auto known = before_ranges.try_emplace({range.space, range.first}, before).first->second;
      if (known != before) {
        throw BadRowError{paths[i] + ": found " + std::to_string(range.first) + " " + place(before) +
                          ", allowed: " + place(known) +
                          ", as before (equal ids have the same text before them)"};
      }
      before = BlockId{range.space, range.last};
    }
  }
}

}  // namespace kvcap
