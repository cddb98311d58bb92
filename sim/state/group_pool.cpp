#include "state/group_pool.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace kvcap {
namespace {

constexpr Key kFirstKey = 0x67726f757073ULL;
constexpr int64_t kEndless = int64_t{1}
                             << 50;  // block size of a group that keeps only a sequence's last state

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

Key next_key(Key before, const BlockRun& run, int64_t first) {
  return chained(chained(before, run.text), static_cast<Key>(first));
}

}  // namespace

GroupPool::GroupPool(const GroupPoolOptions& options)
    : total_(options.blocks),
      unit_tokens_(options.layout.unit_tokens),
      hit_tokens_(options.layout.hit_tokens()),
      retained_tokens_(options.retained_tokens),
      caching_(options.caching),
      blocks_(static_cast<std::size_t>(options.blocks)) {
  for (KvGroup is : options.layout.groups) {
    Group group;
    group.units = is.block_tokens / unit_tokens_;
    group.most_blocks = is.most_blocks(kEndless, options.step_tokens, options.checkpoints);
    if (is.rule == KvRule::checkpoint) {
      group.sparse = options.checkpoints == Checkpoints::align;
      if (options.checkpoints == Checkpoints::none) {
        caching_ = false;
        is.block_tokens = kEndless;
      }
    }
    group.is = is;
    groups_.push_back(std::move(group));
  }
  for (uint32_t block = static_cast<uint32_t>(options.blocks); block-- > 0;) nameless_.push_back(block);
}

void GroupPool::on_eviction(Evicted evicted) {
  evicted_ = std::move(evicted);
  last_units_.resize(blocks_.size());
}

// ---- the order of eviction ----

void GroupPool::link_last(uint32_t block) {
  Ends& ends = out_[blocks_[block].retained];
  blocks_[block].before = ends.last;
  blocks_[block].behind = kNone;
  (ends.last == kNone ? ends.first : blocks_[ends.last].behind) = block;
  ends.last = block;
}

void GroupPool::unlink(uint32_t block) {
  const Block& one = blocks_[block];
  Ends& ends = out_[one.retained];
  (one.before == kNone ? ends.first : blocks_[one.before].behind) = one.behind;
  (one.behind == kNone ? ends.last : blocks_[one.behind].before) = one.before;
}

void GroupPool::add_holder(const Group& group, uint32_t block) {
  if (blocks_[block].holders++ > 0) {
    shared_ += group.is.rule != KvRule::all;
    return;
  }
  unlink(block);
  --cached_;
}

void GroupPool::drop_holder(const Group& group, uint32_t block) {
  KVCAP_CHECK(blocks_[block].holders > 0);
  if (--blocks_[block].holders > 0) {
    shared_ -= group.is.rule != KvRule::all;
    return;
  }
  if (blocks_[block].group == kNone) {
    nameless_.push_back(block);
    return;
  }
  link_last(block);
  ++cached_;
}

uint32_t GroupPool::take() {
  uint32_t block = first_out();
  if (!nameless_.empty()) {
    block = nameless_.back();
    nameless_.pop_back();
  } else {
    KVCAP_CHECK(block != kNone);
    if (evicted_) evicted_(blocks_[block].group, last_units_[block]);
    unlink(block);
    --cached_;
    forget_name(block);
  }
  blocks_[block] = {.holders = 1};
  return block;
}

// ---- names ----

void GroupPool::set_name(std::size_t group, uint32_t block, Key name, const BlockRun& unit, bool retained) {
  blocks_[block].retained = retained;
  blocks_[block].name = name;
  blocks_[block].group = static_cast<uint32_t>(group);
  if (evicted_) last_units_[block] = unit;
  uint32_t same = groups_[group].named.find(name);
  if (same == kNone) {
    groups_[group].named.set(name, block);
    return;
  }
  while (blocks_[same].newer != kNone) same = blocks_[same].newer;
  blocks_[same].newer = block;
}

void GroupPool::forget_name(uint32_t block) {
  const Block& gone = blocks_[block];
  KeyMap<uint32_t, kNone>& named = groups_[gone.group].named;
  uint32_t same = named.find(gone.name);
  if (same == block) {
    gone.newer == kNone ? named.erase(gone.name) : named.set(gone.name, gone.newer);
    return;
  }
  while (blocks_[same].newer != block) same = blocks_[same].newer;
  blocks_[same].newer = gone.newer;
}

void GroupPool::name(std::span<const BlockRun> chain, int64_t tokens, Holding& holding) {
  if (!caching_) return;
  const int64_t units = std::min(tokens, holding.tokens()) / unit_tokens_;
  while (holding.named_ < units) {
    // A completed run is left only now, because the chain may have extended it.
    if (holding.in_run_ == chain[holding.run_].blocks) {
      ++holding.run_;
      holding.in_run_ = 0;
    }
    KVCAP_CHECK(holding.run_ < chain.size());
    const BlockRun& run = chain[holding.run_];
    const int64_t before = holding.in_run_++ * unit_tokens_;
    const BlockRun unit{run.text, run.first + before, 1, run.part, run.part_first + before};
    holding.key_ = next_key(holding.key_, run, unit.first);
    ++holding.named_;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (holding.named_ % groups_[g].units != 0) continue;
      const auto position = static_cast<std::size_t>(holding.named_ / groups_[g].units - 1);
      const uint32_t block = holding.groups_[g].blocks[position];
      if (block == kNone || blocks_[block].passed || blocks_[block].group != kNone) continue;
      const int64_t begin = static_cast<int64_t>(position) * groups_[g].is.block_tokens;
      set_name(g, block, holding.key_, unit, begin < retained_tokens_);
    }
  }
}

// ---- lookups ----

void GroupPool::read_keys(std::span<const BlockRun> chain, int64_t units) const {
  keys_.clear();
  Key key = kFirstKey;
  for (const BlockRun& run : chain) {
    for (int64_t i = 0; i < run.blocks && std::ssize(keys_) < units; ++i) {
      key = next_key(key, run, run.first + i * unit_tokens_);
      keys_.push_back(key);
    }
  }
}

uint32_t GroupPool::named_block(const Group& group, int64_t position) const {
  return group.named.find(keys_[static_cast<std::size_t>((position + 1) * group.units - 1)]);
}

// Returns the longest prefix of at most `tokens` tokens for which the group has all needed blocks. If a block
// that is needed for `tokens` is missing, every shorter prefix that ends after this block needs it as well:
// except at its end, a rule never needs fewer blocks for a shorter prefix.
int64_t GroupPool::longest(const Group& group, int64_t tokens) const {
  const int64_t size = group.is.block_tokens;
  if (group.is.rule == KvRule::all) {
    int64_t there = 0;
    while (there < tokens / size && named_block(group, there) != kNone) ++there;
    return there * size / hit_tokens_ * hit_tokens_;
  }
  while (tokens > 0) {
    int64_t position = tokens / size;
    const int64_t needed = group.is.unneeded_blocks(tokens);
    while (position > needed && named_block(group, position - 1) != kNone) --position;
    if (position == needed) break;
    tokens = (position - 1) * size / hit_tokens_ * hit_tokens_;
  }
  return tokens;
}

GroupPool::Hits GroupPool::find(std::span<const BlockRun> chain, int64_t most_tokens) const {
  Hits hits;
  if (!caching_) return hits;
  read_keys(chain, std::max<int64_t>(most_tokens, 0) / unit_tokens_);
  int64_t tokens = std::ssize(keys_) * unit_tokens_ / hit_tokens_ * hit_tokens_;
  for (std::size_t agreed = 0, g = 0; agreed < groups_.size() && tokens > 0; g = (g + 1) % groups_.size()) {
    const int64_t there = longest(groups_[g], tokens);
    agreed = there < tokens ? 1 : agreed + 1;
    tokens = there;
  }
  hits.tokens = tokens;
  for (const Group& group : groups_) {
    for (int64_t at = group.is.unneeded_blocks(tokens); at < tokens / group.is.block_tokens; ++at) {
      const bool unheld = blocks_[named_block(group, at)].holders == 0;
      ++hits.blocks;
      hits.unheld += unheld;
      hits.shared += !unheld && group.is.rule != KvRule::all;
    }
  }
  return hits;
}

// ---- requests ----

void GroupPool::open(Holding& holding) const {
  if (!holding.groups_.empty()) return;
  holding.groups_.resize(groups_.size());
  holding.key_ = kFirstKey;
}

// Updates the numbers of computed tokens at which the holding next changes.
void GroupPool::settle(int64_t computed, Holding& holding) const {
  holding.until_ = kEndless;
  holding.drops_at_ = kEndless;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const KvGroup& is = groups_[g].is;
    const Holding::OfGroup& of = holding.groups_[g];
    const int64_t next = (of.front + 1) * is.block_tokens;
    holding.until_ = std::min(holding.until_, std::ssize(of.blocks) * is.block_tokens);
    int64_t drops_at = kEndless;
    if (is.rule == KvRule::window) drops_at = next + is.tokens - 1;
    if (is.rule == KvRule::chunk) drops_at = (computed / is.tokens + 1) * is.tokens;
    if (is.rule == KvRule::checkpoint) drops_at = next + 1;
    holding.drops_at_ = std::min(holding.drops_at_, drops_at);
  }
}

void GroupPool::hold(std::span<const BlockRun> chain, int64_t tokens, Holding& holding) {
  KVCAP_CHECK(holding.blocks() == 0);
  holding = Holding();
  open(holding);
  const int64_t units = tokens / unit_tokens_;
  read_keys(chain, units);
  KVCAP_CHECK(std::ssize(keys_) == units);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    Group& group = groups_[g];
    Holding::OfGroup& of = holding.groups_[g];
    of.front = group.is.unneeded_blocks(tokens);
    of.blocks.assign(static_cast<std::size_t>(tokens / group.is.block_tokens), kNone);
    for (int64_t at = of.front; at < std::ssize(of.blocks); ++at) {
      const uint32_t block = named_block(group, at);
      KVCAP_CHECK(block != kNone);
      add_holder(group, block);
      of.blocks[static_cast<std::size_t>(at)] = block;
      ++of.held;
    }
    holding.blocks_ += of.held;
  }
  holding.named_ = units;
  if (units > 0) holding.key_ = keys_.back();
  for (int64_t left = units; left > 0;) {
    holding.in_run_ = std::min(left, chain[holding.run_].blocks);
    left -= holding.in_run_;
    if (left > 0) ++holding.run_;
  }
  settle(tokens, holding);
}

int64_t GroupPool::most_blocks(int64_t tokens) const {
  int64_t blocks = 0;
  for (const Group& group : groups_) {
    blocks += std::min(divide_up(tokens, group.is.block_tokens), group.most_blocks);
  }
  return blocks;
}

int64_t GroupPool::owed_blocks(const Holding& holding, int64_t found_tokens, int64_t tokens) const {
  int64_t owed = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const KvGroup& is = groups_[g].is;
    int64_t front = is.unneeded_blocks(found_tokens);
    int64_t held = found_tokens / is.block_tokens - front;
    if (!holding.groups_.empty()) {
      front = holding.groups_[g].front;
      held = holding.groups_[g].held;
    }
    const int64_t most = std::min(divide_up(tokens, is.block_tokens) - front, groups_[g].most_blocks);
    owed += std::max<int64_t>(0, most - held);
  }
  return owed;
}

// Returns how many blocks the group takes to grow to `tokens`.
int64_t GroupPool::growth(const Group& group, const Holding::OfGroup& of, int64_t tokens) const {
  const int64_t more = divide_up(tokens, group.is.block_tokens) - std::ssize(of.blocks);
  return std::clamp<int64_t>(more, 0, group.sparse ? 1 : kEndless);
}

int64_t GroupPool::missing_blocks(const Holding& holding, int64_t tokens) const {
  if (tokens <= holding.tokens()) return 0;
  int64_t missing = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const KvGroup& is = groups_[g].is;
    const int64_t there = holding.groups_.empty() ? 0 : std::ssize(holding.groups_[g].blocks);
    missing += std::max<int64_t>(0, divide_up(tokens, is.block_tokens) - there);
  }
  return missing;
}

int64_t GroupPool::next_change(const Holding& holding, int64_t computed) const {
  return std::max(computed, std::min(holding.tokens(), holding.drops_at_)) + 1;
}

void GroupPool::drop(int64_t computed, Holding& holding) {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    Holding::OfGroup& of = holding.groups_[g];
    const int64_t front = std::min(groups_[g].is.unneeded_blocks(computed), std::ssize(of.blocks));
    for (int64_t at = front; at-- > of.front;) {
      uint32_t& block = of.blocks[static_cast<std::size_t>(at)];
      if (block == kNone) continue;
      drop_holder(groups_[g], block);
      block = kNone;
      --of.held;
      --holding.blocks_;
    }
    of.front = std::max(of.front, front);
  }
}

// Extends the positions up to `tokens`. Positions from `from` on get blocks; with `only_last`, only the last
// one does.
void GroupPool::take_up_to(int64_t from, int64_t tokens, bool only_last, const Group& group,
                           Holding::OfGroup& of) {
  const int64_t end = divide_up(tokens, group.is.block_tokens);
  while (std::ssize(of.blocks) < end) {
    const int64_t at = std::ssize(of.blocks);
    const bool is_gap = at < from || (only_last && at + 1 < end);
    of.blocks.push_back(is_gap ? kNone : take());
    of.held += !is_gap;
  }
}

bool GroupPool::grow(int64_t computed, int64_t tokens, Holding& holding) {
  open(holding);
  const bool drops = computed >= holding.drops_at_;
  if (!drops && tokens <= holding.until_) return true;
  drop(computed, holding);
  int64_t needed = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) needed += growth(groups_[g], holding.groups_[g], tokens);
  const bool fits = needed <= free();
  for (std::size_t g = 0; fits && g < groups_.size(); ++g) {
    const Group& group = groups_[g];
    Holding::OfGroup& of = holding.groups_[g];
    const bool is_carried = growth(group, of, tokens) > 0 && computed % group.is.block_tokens != 0;
    if (group.sparse && is_carried && !of.blocks.empty()) blocks_[of.blocks.back()].passed = true;
    take_up_to(0, tokens, group.sparse, group, of);
  }
  if (fits) holding.blocks_ += needed;
  settle(computed, holding);
  return fits;
}

void GroupPool::take_loaded(int64_t tokens, Holding& holding) {
  open(holding);
  drop(tokens, holding);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    Holding::OfGroup& of = holding.groups_[g];
    const int64_t held = of.held;
    const int64_t front = groups_[g].is.unneeded_blocks(tokens);
    take_up_to(front, tokens, groups_[g].sparse, groups_[g], of);
    of.front = std::max(of.front, front);
    holding.blocks_ += of.held - held;
  }
  settle(tokens, holding);
}

void GroupPool::give_back(Holding& holding) {
  for (std::size_t g = 0; g < holding.groups_.size(); ++g) {
    const std::vector<uint32_t>& blocks = holding.groups_[g].blocks;
    for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
      if (*block != kNone) drop_holder(groups_[g], *block);
    }
  }
  holding = Holding();
}

}  // namespace kvcap
