// KeyMap and KeySet: hash tables for millions of keys, each in one flat array. Open addressing with linear
// probing; erase() shifts later entries back, so that no tombstones are needed. A value equal to `kAbsent`
// cannot be stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kvcap {

using Key = uint64_t;  // a session, a prefix block or a piece of text

// splitmix64's finaliser: maps nearby keys to distant values.
inline Key mixed(Key x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}
// Returns the key of a sequence of items from the key `before` of all items but the last and the key `next`
// of the last item.
inline Key chained(Key before, Key next) {
  return mixed(before * 0x9e3779b97f4a7c15ULL + next + 0x632be59bd9b4e019ULL);
}

template <class Value, Value kAbsent>
class KeyMap {
 public:
  KeyMap() : cells_(kLeast) {}

  std::size_t size() const { return size_; }

  // Returns kAbsent if the key is not stored.
  Value find(Key key) const {
    for (std::size_t i = home(key);; i = next(i)) {
      if (cells_[i].value == kAbsent || cells_[i].key == key) return cells_[i].value;
    }
  }

  // REQUIRES: value is not kAbsent.
  void set(Key key, Value value) {
    if (4 * (size_ + 1) > 3 * cells_.size()) grow();
    Cell& cell = cells_[place(key)];
    if (cell.value == kAbsent) ++size_;
    cell = {key, value};
  }

  void erase(Key key) {
    std::size_t hole = place(key);
    if (cells_[hole].value == kAbsent) return;
    --size_;
    // Moves a later entry into the hole unless its home is after the hole.
    for (std::size_t i = next(hole); cells_[i].value != kAbsent; i = next(i)) {
      const std::size_t from_home = (i - home(cells_[i].key)) & (cells_.size() - 1);
      const std::size_t from_hole = (i - hole) & (cells_.size() - 1);
      if (from_home < from_hole) continue;
      cells_[hole] = cells_[i];
      hole = i;
    }
    cells_[hole].value = kAbsent;
  }

 private:
  static constexpr std::size_t kLeast = 16;
  struct Cell {
    Key key = 0;
    Value value = kAbsent;
  };

  // Multiplies and folds, so that neighbouring keys and multiples of powers of two spread evenly.
  std::size_t home(Key key) const {
    const uint64_t mixed = (key ^ (key >> 32)) * 0x9E3779B97F4A7C15U;
    return (mixed ^ (mixed >> 32)) & (cells_.size() - 1);
  }
  std::size_t next(std::size_t i) const { return (i + 1) & (cells_.size() - 1); }
  // Returns the cell that holds `key` or that would hold it.
  std::size_t place(Key key) const {
    std::size_t i = home(key);
    while (cells_[i].value != kAbsent && cells_[i].key != key) i = next(i);
    return i;
  }
  void grow() {
    std::vector<Cell> old(2 * cells_.size());
    old.swap(cells_);
    for (const Cell& cell : old) {
      if (cell.value != kAbsent) cells_[place(cell.key)] = cell;
    }
  }

  std::vector<Cell> cells_;  // size: a power of two; at most three quarters full
  std::size_t size_ = 0;
};

class KeySet {
 public:
  std::size_t size() const { return keys_.size(); }
  bool contains(Key key) const { return keys_.find(key); }
  // Adds the key. Returns true iff it is new.
  bool insert(Key key) {
    if (contains(key)) return false;
    keys_.set(key, true);
    return true;
  }

 private:
  KeyMap<bool, false> keys_;
};

}  // namespace kvcap
