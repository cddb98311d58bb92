// NamedBlocks: the blocks that have a name, whether held by requests or only cached, and the order in which
// cached blocks are evicted.
//
// Blocks are kept in runs. A cell is a run of consecutive blocks of one group of layers under consecutive
// names (chain_tree.h); its copies are the physical runs of blocks with these names. Usually there is one
// copy; lookups find the oldest. Every holder of a copy holds all its blocks. Unreferenced copies form one
// list in the order of their release, and eviction trims the tail of the list's first copy. A run that is
// used in part is cut in two. Each operation therefore takes O(runs touched), not O(blocks), with the same
// hits and evictions as a pool with a record per block. There is one such list per priority (retention.h);
// lower priorities are evicted first.
#pragma once

#include <array>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <tuple>
#include <vector>

#include "state/chain_tree.h"
#include "state/retention.h"

namespace kvcap {

class NamedBlocks {
 public:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  // Blocks [begin, end) of a sequence in one group: their positions count the group's blocks from 0 on.
  struct Cell {
    uint32_t node = ChainTree::kNone;  // names the blocks' last units
    uint16_t group = 0;
    int32_t begin = 0, end = 0;
    uint32_t oldest = kNone, newest = kNone;  // copies

    int64_t blocks() const { return end - begin; }
  };
  struct Added {
    uint32_t copy = kNone;
    int64_t end = 0;
  };
  // Called when blocks [begin, cell.end) of a cell have left, last block first.
  using Evicted = std::function<void(const Cell& cell, int64_t begin, int64_t priority)>;
  // Returns the time; called only if some level has a duration.
  using Clock = std::function<double()>;

  // `counts_shared[g]`: references beyond the first to blocks of group g count as shared().
  NamedBlocks(ChainTree& tree, std::vector<bool> counts_shared, Clock now_s = nullptr);
  void on_eviction(Evicted evicted) { evicted_ = std::move(evicted); }

  int64_t cached() const { return cached_; }
  int64_t shared() const { return shared_; }
  std::size_t cells() const { return cells_.size() - free_cells_.size(); }

  const Cell& cell(uint32_t cell) const { return cells_[cell]; }
  bool is_held(uint32_t cell) const { return copies_[cells_[cell].oldest].holders > 0; }
  // Returns the cell with block `at`, or kNone.
  uint32_t find(uint32_t node, uint32_t group, int64_t at) const;
  // Returns the end of the node's last cell that ends at block `at` or before; 0 if there is none.
  int64_t end_before(uint32_t node, uint32_t group, int64_t at) const;

  // Adds a holder to the part of a cell that lies in [begin, end) and returns its copy. The copy gets `level`
  // or, if there is none, keeps its priority without a duration.
  uint32_t hold(uint32_t cell, int64_t begin, int64_t end, const std::optional<RetentionLevel>& level);
  // Give names to held blocks from `begin` on, up to `end` or to the next boundary of a cell. add() returns a
  // new copy of these blocks with one holder. extend() instead appends the blocks to `copy`, the copy of the
  // blocks before them, and returns the end of the appended blocks; it appends nothing and returns `begin`
  // unless `copy` ends at `begin` in this node, is the only copy of its cell, and has one holder and the same
  // level.
  Added add(uint32_t node, uint32_t group, int64_t begin, int64_t end, RetentionLevel level);
  int64_t extend(uint32_t copy, uint32_t node, int64_t begin, int64_t end, RetentionLevel level);
  // Removes one holder from the blocks [begin, end) of `copy` and of the copies cut off its front, last block
  // first. Blocks from `end` on stay held.
  void release(uint32_t copy, int64_t begin, int64_t end);
  // Evicts `blocks` blocks. REQUIRES: at least that many are cached.
  void evict(int64_t blocks);
  // Resets blocks whose duration has ended to the default priority, as if they were released now.
  void expire();

  // Calls `visit(copy, cell)` for the copies that make up the blocks from `begin` to the end of `copy`, the
  // last one first.
  template <class Visit>
  void for_each(uint32_t copy, int64_t begin, Visit&& visit) const {
    for (int64_t at = begin + 1; at > begin; copy = copies_[copy].front) {
      const Cell& of = cells_[copies_[copy].cell];
      at = of.begin;
      visit(copy, of);
    }
  }
  template <class Visit>
  void for_each_cell(Visit&& visit) const {
    for (const Cell& cell : cells_) {
      if (cell.oldest != kNone) visit(cell);
    }
  }
  // Recomputes every sum from `holders`, the number of holders of each copy below copy_slots(), and returns
  // how many blocks are held. Aborts on a mismatch.
  int64_t check(const std::vector<uint32_t>& holders) const;
  std::size_t copy_slots() const { return copies_.size(); }

 private:
  struct Copy {
    uint32_t cell = kNone;
    uint32_t holders = 0;
    uint32_t newer = kNone;                   // the next copy of its cell
    uint32_t front = kNone;                   // the copy that was cut off the front of this one
    uint32_t before = kNone, behind = kNone;  // neighbours in the eviction order, if unreferenced
    RetentionLevel level;
    double expires_s = kForever;  // if unreferenced
    uint64_t release = 0;         // number of the release at which its duration began
  };
  // Orders copies by the ends of their durations; among copies of one release, tails come first.
  using Due = std::tuple<double, uint64_t, int64_t, uint32_t>;  // time, release, -begin, copy
  struct Entry {
    int32_t begin = 0;  // of the cell
    uint32_t cell = kNone;
  };
  using Row = boost::container::small_vector<Entry, 2>;  // the cells of one node and group in order

  const Row& row(uint32_t node, uint32_t group) const;
  static std::size_t place(const Row& cells, int64_t at);
  int64_t border(uint32_t node, uint32_t group, int64_t at, int64_t end) const;
  uint32_t add_cell(const Cell& cell);
  void remove_cell(uint32_t cell);
  uint32_t add_copy(uint32_t cell);
  void remove_copy(uint32_t copy);
  uint32_t cut(uint32_t cell, int64_t at);
  void drop_holder(uint32_t copy);
  void link_last(uint32_t copy);
  void link_behind(uint32_t copy, uint32_t where);
  void unlink(uint32_t copy);
  uint32_t first_out() const;
  Due due(uint32_t copy) const;
  void start_duration(uint32_t copy);
  void check_order() const;
  void check_row(const Row& cells) const;

  ChainTree& tree_;
  std::vector<bool> counts_shared_;
  std::vector<Cell> cells_;
  std::vector<Copy> copies_;
  std::vector<uint32_t> free_cells_, free_copies_;
  std::vector<Row> rows_;  // by node and group
  int64_t cached_ = 0, shared_ = 0;
  struct Ends {
    uint32_t first = kNone, last = kNone;
  };
  std::array<Ends, kMaxPriority + 1> out_;                  // eviction order of each priority
  std::array<uint64_t, kMaxPriority / 64 + 1> occupied_{};  // bit set: the priority has copies
  std::set<Due> expiring_;
  uint64_t releases_ = 0;
  Clock now_s_;
  Evicted evicted_;
};

}  // namespace kvcap
