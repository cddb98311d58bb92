// Checks the invariants of a GroupPool, recomputed from its records.
#include <unordered_map>

#include "base/invariants.h"
#include "state/group_pool.h"

namespace kvcap {

void GroupPool::check(std::span<const Holding* const> holdings) const {
  std::unordered_map<uint32_t, uint32_t> holders;
  int64_t shared = 0;
  for (const Holding* holding : holdings) {
    int64_t blocks = 0;
    for (std::size_t g = 0; g < holding->groups_.size(); ++g) {
      const Holding::OfGroup& of = holding->groups_[g];
      int64_t held = 0;
      for (std::size_t at = 0; at < of.blocks.size(); ++at) {
        const uint32_t block = of.blocks[at];
        if (block == kNone) continue;
        ++held;
        KVCAP_INVARIANT("INV-BLOCKS", static_cast<int64_t>(at) >= of.front);
        KVCAP_INVARIANT("INV-GROUPS", blocks_[block].group == kNone || blocks_[block].group == g);
        if (++holders[block] > 1) shared += groups_[g].is.rule != KvRule::all;
      }
      KVCAP_INVARIANT("INV-BLOCKS", held == of.held);
      KVCAP_INVARIANT("INV-GROUPS", held <= groups_[g].most_blocks);
      blocks += held;
    }
    KVCAP_INVARIANT("INV-BLOCKS", blocks == holding->blocks_);
  }
  int64_t listed = 0;
  for (const bool retained : {false, true}) {
    const Ends& ends = out_[retained];
    for (uint32_t block = ends.first; block != kNone; block = blocks_[block].behind) {
      ++listed;
      KVCAP_INVARIANT("INV-BLOCKS", blocks_[block].holders == 0 && blocks_[block].group != kNone);
      KVCAP_INVARIANT("INV-BLOCKS", blocks_[block].retained == retained);
      const uint32_t behind = blocks_[block].behind;
      KVCAP_INVARIANT("INV-BLOCKS", behind == kNone ? ends.last == block : blocks_[behind].before == block);
    }
  }
  std::vector<std::size_t> first_names(groups_.size());
  for (uint32_t block = 0; block < blocks_.size(); ++block) {
    const Block& one = blocks_[block];
    const auto counted = holders.find(block);
    KVCAP_INVARIANT("INV-BLOCKS", one.holders == (counted == holders.end() ? 0 : counted->second));
    if (one.group == kNone) continue;
    const uint32_t oldest = groups_[one.group].named.find(one.name);
    KVCAP_INVARIANT("INV-GROUPS", oldest != kNone && blocks_[oldest].name == one.name);
    first_names[one.group] += oldest == block;
  }
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    KVCAP_INVARIANT("INV-GROUPS", groups_[g].named.size() == first_names[g]);
  }
  KVCAP_INVARIANT("INV-BLOCKS", listed == cached_ && shared == shared_);
  KVCAP_INVARIANT("INV-BLOCKS", free() + static_cast<int64_t>(holders.size()) == total_);
}

}  // namespace kvcap
