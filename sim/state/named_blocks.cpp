#include "state/named_blocks.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace kvcap {
namespace {

// Takes a slot that is free, or adds one.
template <class Slot>
uint32_t take_slot(std::vector<Slot>& slots, std::vector<uint32_t>& free) {
  if (free.empty()) {
    slots.emplace_back();
    return static_cast<uint32_t>(slots.size() - 1);
  }
  const uint32_t slot = free.back();
  free.pop_back();
  return slot;
}

}  // namespace

NamedBlocks::NamedBlocks(ChainTree& tree, std::vector<bool> counts_shared, Clock now_s)
    : tree_(tree), counts_shared_(std::move(counts_shared)), now_s_(std::move(now_s)) {}

// ---- cells ----

const NamedBlocks::Row& NamedBlocks::row(uint32_t node, uint32_t group) const {
  static const Row kEmpty;
  const std::size_t at = node * counts_shared_.size() + group;
  return at < rows_.size() ? rows_[at] : kEmpty;
}

// Returns how many cells of the row begin at block `at` or before.
std::size_t NamedBlocks::place(const Row& cells, int64_t at) {
  if (cells.empty() || cells.back().begin <= at) return cells.size();
  const auto begins_behind = [](int64_t block, const Entry& entry) { return block < entry.begin; };
  return static_cast<std::size_t>(std::upper_bound(cells.begin(), cells.end(), at, begins_behind) -
                                  cells.begin());
}

uint32_t NamedBlocks::find(uint32_t node, uint32_t group, int64_t at) const {
  const Row& cells = row(node, group);
  const std::size_t i = place(cells, at);
  return i > 0 && at < cells_[cells[i - 1].cell].end ? cells[i - 1].cell : kNone;
}

int64_t NamedBlocks::end_before(uint32_t node, uint32_t group, int64_t at) const {
  const Row& cells = row(node, group);
  const std::size_t i = place(cells, at - 1);
  return i > 0 ? std::min<int64_t>(at, cells_[cells[i - 1].cell].end) : 0;
}

// Returns the beginning of the first cell after block `at`, at most `end`.
int64_t NamedBlocks::border(uint32_t node, uint32_t group, int64_t at, int64_t end) const {
  const Row& cells = row(node, group);
  const std::size_t next = place(cells, at);
  return next < cells.size() ? std::min<int64_t>(end, cells[next].begin) : end;
}

uint32_t NamedBlocks::add_cell(const Cell& cell) {
  const uint32_t added = take_slot(cells_, free_cells_);
  cells_[added] = cell;
  const std::size_t at = cell.node * counts_shared_.size() + cell.group;
  if (at >= rows_.size()) rows_.resize((cell.node + 1) * counts_shared_.size());
  Row& cells = rows_[at];
  cells.insert(cells.begin() + static_cast<std::ptrdiff_t>(place(cells, cell.begin)), {cell.begin, added});
  tree_.hold(cell.node);
  return added;
}

void NamedBlocks::remove_cell(uint32_t cell) {
  const Cell gone = std::exchange(cells_[cell], {});
  Row& cells = rows_[gone.node * counts_shared_.size() + gone.group];
  cells.erase(cells.begin() + static_cast<std::ptrdiff_t>(place(cells, gone.begin) - 1));
  free_cells_.push_back(cell);
  tree_.release(gone.node);
}

uint32_t NamedBlocks::add_copy(uint32_t cell) {
  const uint32_t copy = take_slot(copies_, free_copies_);
  copies_[copy] = {.cell = cell};
  Cell& of = cells_[cell];
  (of.oldest == kNone ? of.oldest : copies_[of.newest].newer) = copy;
  of.newest = copy;
  return copy;
}

// Removes a copy. REQUIRES: it is unreferenced and not in an eviction order.
void NamedBlocks::remove_copy(uint32_t copy) {
  const uint32_t cell = copies_[copy].cell;
  Cell& of = cells_[cell];
  if (of.oldest == copy) {
    of.oldest = copies_[copy].newer;
  } else {
    uint32_t older = of.oldest;
    while (copies_[older].newer != copy) older = copies_[older].newer;
    copies_[older].newer = copies_[copy].newer;
    if (of.newest == copy) of.newest = older;
  }
  copies_[copy] = {};
  free_copies_.push_back(copy);
  if (of.oldest == kNone) remove_cell(cell);
}

// Moves the blocks before `at` from a cell to a new cell, which is returned. Holders of a copy then also hold
// the part that was cut off its front (Copy::front).
uint32_t NamedBlocks::cut(uint32_t cell, int64_t at) {
  Cell front = cells_[cell];
  KVCAP_CHECK(front.begin < at && at < front.end);
  if (!expiring_.empty()) {
    for (uint32_t copy = front.oldest; copy != kNone; copy = copies_[copy].newer) expiring_.erase(due(copy));
  }
  Row& cells = rows_[front.node * counts_shared_.size() + front.group];
  cells[place(cells, front.begin) - 1].begin = cells_[cell].begin = front.end = static_cast<int32_t>(at);
  front.oldest = front.newest = kNone;
  const uint32_t added = add_cell(front);
  for (uint32_t copy = cells_[cell].oldest; copy != kNone; copy = copies_[copy].newer) {
    const uint32_t cut_off = add_copy(added);
    copies_[cut_off].holders = copies_[copy].holders;
    copies_[cut_off].front = copies_[copy].front;
    copies_[cut_off].level = copies_[copy].level;
    copies_[copy].front = cut_off;
    if (copies_[copy].holders == 0) link_behind(cut_off, copy);
  }
  return added;
}

// ---- the order of eviction ----

uint32_t NamedBlocks::first_out() const {
  for (std::size_t word = 0; word < occupied_.size(); ++word) {
    if (occupied_[word] != 0) return out_[64 * word + std::countr_zero(occupied_[word])].first;
  }
  return kNone;
}

void NamedBlocks::link_last(uint32_t copy) {
  const auto priority = static_cast<std::size_t>(copies_[copy].level.priority);
  Ends& ends = out_[priority];
  copies_[copy].before = ends.last;
  copies_[copy].behind = kNone;
  (ends.last == kNone ? ends.first : copies_[ends.last].behind) = copy;
  ends.last = copy;
  occupied_[priority / 64] |= uint64_t{1} << priority % 64;
}

// Links a copy that was cut off the front of another one.
void NamedBlocks::link_behind(uint32_t copy, uint32_t where) {
  const uint32_t behind = copies_[where].behind;
  copies_[copy].before = where;
  copies_[copy].behind = behind;
  copies_[where].behind = copy;
  const auto priority = static_cast<std::size_t>(copies_[where].level.priority);
  (behind == kNone ? out_[priority].last : copies_[behind].before) = copy;
  if (copies_[where].expires_s == kForever) return;
  copies_[copy].expires_s = copies_[where].expires_s;
  copies_[copy].release = copies_[where].release;
  expiring_.insert(due(where));
  expiring_.insert(due(copy));
}

void NamedBlocks::unlink(uint32_t copy) {
  Copy& one = copies_[copy];
  const auto priority = static_cast<std::size_t>(one.level.priority);
  Ends& ends = out_[priority];
  (one.before == kNone ? ends.first : copies_[one.before].behind) = one.behind;
  (one.behind == kNone ? ends.last : copies_[one.behind].before) = one.before;
  if (ends.first == kNone) occupied_[priority / 64] &= ~(uint64_t{1} << priority % 64);
  if (one.expires_s == kForever) return;
  expiring_.erase(due(copy));
  one.expires_s = kForever;
}

NamedBlocks::Due NamedBlocks::due(uint32_t copy) const {
  const Copy& one = copies_[copy];
  return {one.expires_s, one.release, -cells_[one.cell].begin, copy};
}

void NamedBlocks::start_duration(uint32_t copy) {
  Copy& one = copies_[copy];
  if (one.level.duration_s == kForever || one.level.priority == kDefaultPriority) return;
  one.expires_s = now_s_() + one.level.duration_s;
  one.release = ++releases_;
  expiring_.insert(due(copy));
}

void NamedBlocks::expire() {
  if (expiring_.empty()) return;
  for (const double now_s = now_s_(); !expiring_.empty() && std::get<0>(*expiring_.begin()) <= now_s;) {
    const uint32_t copy = std::get<3>(*expiring_.begin());
    unlink(copy);
    copies_[copy].level = {};
    link_last(copy);
  }
}

void NamedBlocks::drop_holder(uint32_t copy) {
  const Cell& of = cells_[copies_[copy].cell];
  KVCAP_CHECK(copies_[copy].holders > 0);
  if (--copies_[copy].holders > 0) {
    if (counts_shared_[of.group]) shared_ -= of.blocks();
    return;
  }
  link_last(copy);
  start_duration(copy);
  cached_ += of.blocks();
}

void NamedBlocks::evict(int64_t blocks) {
  while (blocks > 0) {
    const uint32_t copy = first_out();
    KVCAP_CHECK(copy != kNone);
    const uint32_t cell = copies_[copy].cell;
    const int64_t gone = std::min(blocks, cells_[cell].blocks());
    const int64_t left_end = cells_[cell].end - gone;
    if (evicted_) evicted_(cells_[cell], left_end, copies_[copy].level.priority);
    const bool is_part = gone < cells_[cell].blocks();
    if (is_part && cells_[cell].oldest == cells_[cell].newest) {
      cells_[cell].end = static_cast<int32_t>(left_end);
    } else {
      if (is_part) cut(cell, left_end);  // `copy` is now a copy of the tail
      unlink(copy);
      remove_copy(copy);
    }
    cached_ -= gone;
    blocks -= gone;
  }
}

// ---- holders ----

uint32_t NamedBlocks::hold(uint32_t cell, int64_t begin, int64_t end,
                           const std::optional<RetentionLevel>& level) {
  if (end < cells_[cell].end) cell = cut(cell, end);
  if (begin > cells_[cell].begin) cut(cell, begin);
  const Cell& of = cells_[cell];
  Copy& copy = copies_[of.oldest];
  if (copy.holders++ > 0) {
    if (counts_shared_[of.group]) shared_ += of.blocks();
  } else {
    unlink(of.oldest);
    cached_ -= of.blocks();
  }
  copy.level = level.value_or(RetentionLevel{.priority = copy.level.priority});
  return of.oldest;
}

NamedBlocks::Added NamedBlocks::add(uint32_t node, uint32_t group, int64_t begin, int64_t end,
                                    RetentionLevel level) {
  uint32_t cell = find(node, group, begin);
  if (cell == kNone) {
    end = border(node, group, begin, end);
    cell = add_cell({.node = node,
                     .group = static_cast<uint16_t>(group),
                     .begin = static_cast<int32_t>(begin),
                     .end = static_cast<int32_t>(end)});
  } else {
    if (begin > cells_[cell].begin) cut(cell, begin);
    end = std::min<int64_t>(end, cells_[cell].end);
    if (end < cells_[cell].end) cell = cut(cell, end);
  }
  const uint32_t copy = add_copy(cell);
  copies_[copy].holders = 1;
  copies_[copy].level = level;
  return {copy, end};
}

int64_t NamedBlocks::extend(uint32_t copy, uint32_t node, int64_t begin, int64_t end, RetentionLevel level) {
  Cell& of = cells_[copies_[copy].cell];
  const bool is_alone = copies_[copy].holders == 1 && of.oldest == of.newest;
  if (!is_alone || of.node != node || of.end != begin || copies_[copy].level != level) return begin;
  of.end = static_cast<int32_t>(border(node, of.group, of.begin, end));
  return of.end;
}

void NamedBlocks::release(uint32_t copy, int64_t begin, int64_t end) {
  for (int64_t at = end; at > begin; copy = copies_[copy].front) {
    const uint32_t cell = copies_[copy].cell;
    if (cells_[cell].begin >= end) continue;
    at = cells_[cell].begin;
    if (cells_[cell].end > end) {
      cut(cell, end);
      at = end;  // continue with the part that was cut off
      continue;
    }
    KVCAP_CHECK(at >= begin);
    drop_holder(copy);
  }
}

}  // namespace kvcap
