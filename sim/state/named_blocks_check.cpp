// Checks the invariants of NamedBlocks, recomputed from its records.
#include "base/invariants.h"
#include "state/named_blocks.h"

namespace kvcap {

// Checks that the eviction orders contain exactly the unreferenced copies, each in the order of its priority.
void NamedBlocks::check_order() const {
  int64_t listed = 0;
  std::size_t expiring = 0;
  for (std::size_t priority = 0; priority < out_.size(); ++priority) {
    const Ends& ends = out_[priority];
    KVCAP_INVARIANT("INV-TREE",
                    (ends.first != kNone) == ((occupied_[priority / 64] >> priority % 64) % 2 == 1));
    for (uint32_t copy = ends.first; copy != kNone; copy = copies_[copy].behind) {
      const Copy& one = copies_[copy];
      listed += cells_[one.cell].blocks();
      KVCAP_INVARIANT("INV-BLOCKS", one.holders == 0);
      KVCAP_INVARIANT("INV-TREE", static_cast<std::size_t>(one.level.priority) == priority);
      KVCAP_INVARIANT("INV-TREE", one.expires_s == kForever || expiring_.contains(due(copy)));
      expiring += one.expires_s != kForever;
      KVCAP_INVARIANT("INV-TREE",
                      one.behind == kNone ? ends.last == copy : copies_[one.behind].before == copy);
    }
  }
  KVCAP_INVARIANT("INV-BLOCKS", listed == cached_);
  KVCAP_INVARIANT("INV-TREE", expiring == expiring_.size());
}

// Checks that the cells of a row are in order, and that find() finds them.
void NamedBlocks::check_row(const Row& cells) const {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Cell& one = cells_[cells[i].cell];
    KVCAP_INVARIANT("INV-TREE", cells[i].begin == one.begin && one.begin < one.end);
    KVCAP_INVARIANT("INV-TREE", i == 0 || cells_[cells[i - 1].cell].end <= one.begin);
    KVCAP_INVARIANT("INV-TREE", find(one.node, one.group, one.begin) == cells[i].cell);
  }
}

int64_t NamedBlocks::check(const std::vector<uint32_t>& holders) const {
  check_order();
  std::size_t in_rows = 0;
  for (const Row& cells : rows_) {
    check_row(cells);
    in_rows += cells.size();
  }
  KVCAP_INVARIANT("INV-TREE", in_rows == cells());
  int64_t held = 0, unheld = 0, shared = 0;
  for (uint32_t cell = 0; cell < cells_.size(); ++cell) {
    const Cell& one = cells_[cell];
    for (uint32_t copy = one.oldest; copy != kNone; copy = copies_[copy].newer) {
      KVCAP_INVARIANT("INV-TREE", copies_[copy].cell == cell);
      KVCAP_INVARIANT("INV-BLOCKS", copies_[copy].holders == holders[copy]);
      (holders[copy] > 0 ? held : unheld) += one.blocks();
      if (counts_shared_[one.group] && holders[copy] > 1) shared += (holders[copy] - 1) * one.blocks();
    }
  }
  KVCAP_INVARIANT("INV-BLOCKS", unheld == cached_ && shared == shared_);
  return held;
}

}  // namespace kvcap
