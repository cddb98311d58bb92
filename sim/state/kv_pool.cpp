#include "state/kv_pool.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/check.h"

namespace kvcap {
namespace {

// Tokens per block of a group that keeps only a sequence's last state.
constexpr int64_t kEndless = int64_t{1} << 50;

bool are_alike(const KvGroup& a, const KvGroup& b) {
  return a.rule == b.rule && a.tokens == b.tokens && a.block_tokens == b.block_tokens;
}

std::vector<bool> which_drop(const KvLayout& layout) {
  std::vector<bool> drop;
  for (const KvGroup& group : layout.groups) drop.push_back(group.rule != KvRule::all);
  return drop;
}

}  // namespace

KvPool::KvPool(const KvPoolOptions& options)
    : total_(options.blocks),
      nameless_free_(options.blocks),
      unit_tokens_(options.layout.unit_tokens),
      hit_tokens_(options.layout.hit_tokens()),
      caching_(options.caching),
      retention_(options.retention),
      tree_(unit_tokens_),
      named_(tree_, which_drop(options.layout), options.now_s) {
  for (const KvGroup& group : options.layout.groups) add_group(group, options);
}

void KvPool::add_group(KvGroup is, const KvPoolOptions& options) {
  Group group{.units = is.block_tokens / unit_tokens_};
  group.most_blocks = is.most_blocks(kEndless, options.step_tokens, options.checkpoints);
  if (is.rule == KvRule::checkpoint) {
    group.sparse = options.checkpoints == Checkpoints::align;
    if (options.checkpoints == Checkpoints::none) {
      caching_ = false;
      is.block_tokens = kEndless;
    }
    if (group.sparse && options.caching) checkpoint_tokens_ = is.block_tokens;
  }
  group.is = is;
  group.alike = !groups_.empty() && are_alike(groups_.back().is, is);
  drops_ = drops_ || is.rule != KvRule::all;
  groups_.push_back(group);
}

void KvPool::on_eviction(Evicted evicted) {
  named_.on_eviction(
      [this, evicted = std::move(evicted)](const NamedBlocks::Cell& cell, int64_t begin, int64_t priority) {
        const int64_t units = groups_[cell.group].units;
        if (units == 1) {
          evicted(cell.group, tree_.run(cell.node, begin, cell.end - begin), priority);
          return;
        }
        for (int64_t end = cell.end; end > begin; --end) {
          evicted(cell.group, tree_.run(cell.node, end * units - 1, 1), priority);
        }
      });
}

// ---- lookups ----

// Sets path_ to the names of the chain's first `units` units, as far as the tree contains them.
void KvPool::walk(std::span<const BlockRun> chain, int64_t units) const {
  path_.clear();
  Stretch at;
  for (const BlockRun& run : chain) {
    for (int64_t in_run = 0; in_run < run.blocks && at.end < units;) {
      at = tree_.next(at.node, at.end, run, in_run, units - at.end);
      if (at.node == kNone) return;
      path_.push_back(at);
      in_run += at.end - at.begin;
    }
  }
}

// Returns the end of the run of named blocks that begins at block 0, at most `end`.
int64_t KvPool::named_from_start(uint32_t g, int64_t end) const {
  int64_t at = 0;
  for (const Stretch& stretch : path_) {
    const int64_t last = std::min(end, groups_[g].last_in(stretch));
    while (at < last) {
      const uint32_t cell = named_.find(stretch.node, g, at);
      if (cell == kNone) return at;
      at = std::min<int64_t>(last, named_.cell(cell).end);
    }
  }
  return at;
}

// Returns the beginning of the run of named blocks that ends at block `end`, at least `begin`.
int64_t KvPool::named_down_to(uint32_t g, int64_t begin, int64_t end) const {
  for (std::size_t i = path_.size(); i-- > 0 && end > begin;) {
    const Stretch& stretch = path_[i];
    while (end > begin && groups_[g].first_in(stretch) < end) {
      const bool is_here = end <= groups_[g].last_in(stretch);
      const uint32_t cell = is_here ? named_.find(stretch.node, g, end - 1) : kNone;
      if (cell == kNone) return end;
      end = std::max<int64_t>(begin, named_.cell(cell).begin);
    }
  }
  return end;
}

// Returns the largest position, at most `at`, at which a named block ends; 0 if there is none.
int64_t KvPool::next_named_end(uint32_t g, int64_t at) const {
  for (auto stretch = path_.rbegin(); stretch != path_.rend(); ++stretch) {
    const int64_t last = std::min(at, groups_[g].last_in(*stretch));
    const int64_t end = last > 0 ? named_.end_before(stretch->node, g, last) : 0;
    if (end > 0) return end;
  }
  return 0;
}

// Returns the longest prefix of at most `tokens` tokens for which the group has all needed blocks. If a block
// that is needed for `tokens` is missing, every shorter prefix that ends after this block needs it as well:
// except at its end, a rule never needs fewer blocks for a shorter prefix. A prefix whose last block has no
// name is found only if it needs no block, which is the case at the end of a chunk.
int64_t KvPool::longest(uint32_t g, int64_t tokens) const {
  const KvGroup& is = groups_[g].is;
  if (is.rule == KvRule::all) {
    return named_from_start(g, tokens / is.block_tokens) * is.block_tokens / hit_tokens_ * hit_tokens_;
  }
  while (tokens > 0) {
    const int64_t needed = is.unneeded_blocks(tokens);
    const int64_t from = named_down_to(g, needed, tokens / is.block_tokens);
    if (from == needed) break;
    tokens = next_named_end(g, from - 1) * is.block_tokens;
    if (is.rule == KvRule::chunk) {
      tokens = std::max(tokens, (from - 1) * is.block_tokens / is.tokens * is.tokens);
    }
    tokens = tokens / hit_tokens_ * hit_tokens_;
  }
  return tokens;
}

void KvPool::count(uint32_t g, KvHits& hits) const {
  const KvGroup& is = groups_[g].is;
  const int64_t end = hits.tokens / is.block_tokens;
  int64_t at = is.unneeded_blocks(hits.tokens);
  for (const Stretch& stretch : path_) {
    const int64_t last = std::min(end, groups_[g].last_in(stretch));
    while (at < last) {
      const uint32_t cell = named_.find(stretch.node, g, at);
      const int64_t until = std::min<int64_t>(last, named_.cell(cell).end);
      if (!named_.is_held(cell)) {
        hits.unheld += until - at;
      } else if (is.rule != KvRule::all) {
        hits.shared += until - at;
      }
      at = until;
    }
  }
}

KvHits KvPool::find(std::span<const BlockRun> chain, int64_t most_tokens) const {
  KvHits hits;
  if (!caching_) return hits;
  const int64_t most = std::max<int64_t>(most_tokens, 0) / unit_tokens_;
  walk(chain, most);
  int64_t units = 0;
  for (const BlockRun& run : chain) units += run.blocks;
  int64_t tokens = std::min(units, most) * unit_tokens_ / hit_tokens_ * hit_tokens_;
  const auto groups = static_cast<uint32_t>(groups_.size());
  uint32_t agreed = 0;
  for (uint32_t g = 0; agreed < groups && tokens > 0; g = (g + 1) % groups) {
    const int64_t there = longest(g, tokens);
    agreed = there < tokens ? 1 : agreed + 1;
    tokens = there;
  }
  hits.tokens = tokens;
  for (uint32_t g = 0; g < groups && tokens > 0; ++g) count(g, hits);
  return hits;
}

// ---- names ----

// Advances the naming by at most `most` units of the chain, within one node.
KvPool::Stretch KvPool::advance(std::span<const BlockRun> chain, int64_t most, KvHolding& holding) {
  // A completed run is left only here, because the chain may have been extended since the last call.
  if (holding.in_run_ == chain[holding.run_].blocks) {
    ++holding.run_;
    holding.in_run_ = 0;
  }
  KVCAP_CHECK(holding.run_ < chain.size());
  const Stretch next =
      tree_.add_next(holding.node_, holding.named_units_, chain[holding.run_], holding.in_run_, most);
  if (next.node != holding.node_) {
    tree_.hold(next.node);
    leave_node(std::exchange(holding.node_, next.node));
  }
  holding.named_units_ = next.end;
  holding.in_run_ += next.end - next.begin;
  return next;
}

void KvPool::hold_stretch(const Stretch& stretch, KvHolding& holding) {
  for (uint32_t g = 0; g < groups_.size(); ++g) {
    OfGroup& of = holding.groups_[g];
    const int64_t last = std::min(of.end, groups_[g].last_in(stretch));
    for (int64_t at = std::max(of.front, groups_[g].first_in(stretch)); at < last;) {
      const uint32_t cell = named_.find(stretch.node, g, at);
      KVCAP_CHECK(cell != kNone);
      const LevelUntil level = prompt_level(groups_[g], at);
      const int64_t until = std::min({last, int64_t{named_.cell(cell).end}, level.until});
      of.pieces.push_back({at, until, named_.hold(cell, at, until, level.level)});
      of.held += until - at;
      holding.blocks_ += until - at;
      at = until;
    }
  }
}

void KvPool::hold(std::span<const BlockRun> chain, int64_t tokens, KvHolding& holding) {
  KVCAP_CHECK(holding.blocks() == 0);
  give_back(holding);
  open(holding);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    holding.groups_[g].front = groups_[g].is.unneeded_blocks(tokens);
    holding.groups_[g].end = tokens / groups_[g].is.block_tokens;
  }
  for (const int64_t units = tokens / unit_tokens_; holding.named_units_ < units;) {
    hold_stretch(advance(chain, units - holding.named_units_, holding), holding);
  }
  settle(tokens, holding);
}

void KvPool::name_full(std::span<const BlockRun> chain, int64_t tokens, KvHolding& holding,
                       int64_t prompt_tokens) {
  const int64_t units = std::min(tokens, holding.until_) / unit_tokens_;
  while (holding.named_units_ < units) {
    const Stretch stretch = advance(chain, units - holding.named_units_, holding);
    for (uint32_t g = 0; g < groups_.size(); ++g) {
      name_stretch(stretch, g, prompt_tokens, holding.groups_[g].pieces);
    }
  }
}

// A retention range applies to the blocks that begin in it.
KvPool::LevelUntil KvPool::prompt_level(const Group& group, int64_t block) const {
  const int64_t token = block * group.is.block_tokens;
  for (const RetentionRange& range : retention_.ranges) {
    if (token < range.from_token) return {{}, group.blocks_of(range.from_token)};
    if (range.to_token && token >= *range.to_token) continue;
    return {RetentionLevel{static_cast<int32_t>(range.priority), range.duration_s.value_or(kForever)},
            range.to_token ? group.blocks_of(*range.to_token) : kEndless};
  }
  return {{}, kEndless};
}

KvPool::LevelUntil KvPool::level_of(const Group& group, int64_t block, int64_t prompt_tokens) const {
  if (retention_.ranges.empty() && retention_.decode_priority == kDefaultPriority) return {{}, kEndless};
  if (block * group.is.block_tokens >= prompt_tokens) {
    return {RetentionLevel{static_cast<int32_t>(retention_.decode_priority),
                           retention_.decode_duration_s.value_or(kForever)},
            kEndless};
  }
  LevelUntil level = prompt_level(group, block);
  if (prompt_tokens < kEndless) level.until = std::min(level.until, group.blocks_of(prompt_tokens));
  return level;
}

void KvPool::name_stretch(const Stretch& stretch, uint32_t g, int64_t prompt_tokens,
                          std::vector<Piece>& pieces) {
  const int64_t begin = groups_[g].first_in(stretch), end = groups_[g].last_in(stretch);
  std::size_t i = pieces.size();
  while (i > 0 && pieces[i - 1].end > begin) --i;
  while (i < pieces.size() && pieces[i].begin < end) {
    const bool is_named = pieces[i].copy != kNone || pieces[i].passed;
    i = is_named ? i + 1 : name_piece(stretch.node, g, end, prompt_tokens, pieces, i);
  }
}

// Names the blocks of a nameless piece before `end`. Returns the index of the first piece after them.
std::size_t KvPool::name_piece(uint32_t node, uint32_t g, int64_t end, int64_t prompt_tokens,
                               std::vector<Piece>& pieces, std::size_t i) {
  const int64_t stop = std::min(end, pieces[i].end);
  while (pieces[i].begin < stop) {
    const int64_t begin = pieces[i].begin;
    const LevelUntil of_range = level_of(groups_[g], begin, prompt_tokens);
    const RetentionLevel level = of_range.level.value_or(RetentionLevel());
    const int64_t until = std::min(stop, of_range.until);
    const bool follows = i > 0 && pieces[i - 1].copy != kNone && pieces[i - 1].end == begin;
    int64_t named = follows ? named_.extend(pieces[i - 1].copy, node, begin, until, level) : begin;
    if (named > begin) {
      pieces[i - 1].end = named;
    } else {
      const NamedBlocks::Added added = named_.add(node, g, begin, until, level);
      named = added.end;
      pieces.insert(pieces.begin() + static_cast<std::ptrdiff_t>(i++), {begin, named, added.copy});
    }
    pieces[i].begin = named;
  }
  if (pieces[i].begin < pieces[i].end) return i + 1;
  pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(i));
  return i;
}

// ---- requests ----

void KvPool::open(KvHolding& holding) const {
  if (holding.groups_.empty()) holding.groups_.resize(groups_.size());
}

// Updates the numbers of computed tokens at which the holding next changes.
void KvPool::settle(int64_t computed, KvHolding& holding) const {
  holding.until_ = kEndless;
  holding.drops_at_ = kEndless;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (groups_[g].alike) continue;
    const KvGroup& is = groups_[g].is;
    const OfGroup& of = holding.groups_[g];
    const int64_t next = (of.front + 1) * is.block_tokens;
    holding.until_ = std::min(holding.until_, of.end * is.block_tokens);
    int64_t drops_at = kEndless;
    if (is.rule == KvRule::window) drops_at = next + is.tokens - 1;
    if (is.rule == KvRule::chunk) drops_at = (computed / is.tokens + 1) * is.tokens;
    if (is.rule == KvRule::checkpoint) drops_at = next + 1;
    holding.drops_at_ = std::min(holding.drops_at_, drops_at);
  }
}

int64_t KvPool::most_blocks(int64_t tokens) const {
  int64_t blocks = 0;
  for (const Group& group : groups_) blocks += std::min(group.blocks_of(tokens), group.most_blocks);
  return blocks;
}

int64_t KvPool::owed_blocks(const KvHolding& holding, int64_t found_tokens, int64_t tokens) const {
  int64_t owed = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Group& group = groups_[g];
    int64_t front = group.is.unneeded_blocks(found_tokens);
    int64_t held = found_tokens / group.is.block_tokens - front;
    if (!holding.groups_.empty()) {
      front = holding.groups_[g].front;
      held = holding.groups_[g].held;
    }
    const int64_t most = std::min(group.blocks_of(tokens) - front, group.most_blocks);
    owed += std::max<int64_t>(0, most - held);
  }
  return owed;
}

// Returns how many blocks the group needs to grow to `tokens`.
int64_t KvPool::growth(const Group& group, const OfGroup& of, int64_t tokens) const {
  if (tokens <= of.end * group.is.block_tokens) return 0;  // the common case needs no division
  return std::clamp<int64_t>(group.blocks_of(tokens) - of.end, 0, group.sparse ? 1 : kEndless);
}

int64_t KvPool::missing_after(const KvHolding& holding, int64_t tokens) const {
  int64_t missing = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const int64_t there = holding.groups_.empty() ? 0 : holding.groups_[g].end;
    missing += std::max<int64_t>(0, groups_[g].blocks_of(tokens) - there);
  }
  return missing;
}

void KvPool::take(int64_t blocks) {
  KVCAP_CHECK(blocks <= free());
  const int64_t nameless = std::min(blocks, nameless_free_);
  nameless_free_ -= nameless;
  named_.evict(blocks - nameless);
}

// Adds nameless blocks up to `tokens` tokens, from block `begin` on. Returns how many.
int64_t KvPool::add_blocks(int64_t begin, int64_t tokens, const Group& group, OfGroup& of) {
  if (tokens <= of.end * group.is.block_tokens) return 0;  // the common case needs no division
  const int64_t end = group.blocks_of(tokens);
  begin = std::max({begin, of.end, group.sparse ? end - 1 : 0});
  of.end = end;
  if (begin >= end) return 0;
  of.held += end - begin;
  const bool joins =
      !group.sparse && !of.pieces.empty() && of.pieces.back().copy == kNone && of.pieces.back().end == begin;
  if (joins) {
    of.pieces.back().end = end;
  } else {
    of.pieces.push_back({begin, end});
  }
  return end - begin;
}

void KvPool::release(const Piece& piece, int64_t begin, int64_t end) {
  if (piece.copy == kNone) {
    nameless_free_ += end - begin;
  } else {
    named_.release(piece.copy, begin, end);
  }
}

void KvPool::drop(int64_t computed, KvHolding& holding) {
  int64_t unneeded = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    OfGroup& of = holding.groups_[g];
    if (!groups_[g].alike) unneeded = groups_[g].is.unneeded_blocks(computed);
    const int64_t front = std::min(unneeded, of.end);
    if (front <= of.front) continue;
    of.front = front;
    std::vector<Piece>& pieces = of.pieces;
    std::size_t gone = 0;
    while (gone < pieces.size() && pieces[gone].end <= front) ++gone;
    int64_t dropped = 0;
    if (gone < pieces.size() && pieces[gone].begin < front) {
      release(pieces[gone], pieces[gone].begin, front);
      dropped = front - std::exchange(pieces[gone].begin, front);
    }
    for (std::size_t i = gone; i-- > 0;) {
      release(pieces[i], pieces[i].begin, pieces[i].end);
      dropped += pieces[i].end - pieces[i].begin;
    }
    pieces.erase(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(gone));
    of.held -= dropped;
    holding.blocks_ -= dropped;
  }
}

bool KvPool::drop_and_take(int64_t computed, int64_t tokens, KvHolding& holding) {
  open(holding);
  if (drops_ && computed >= holding.drops_at_) drop(computed, holding);
  const bool fits = tokens <= holding.until_ || take_up_to(computed, tokens, holding);
  settle(computed, holding);
  return fits;
}

bool KvPool::take_up_to(int64_t computed, int64_t tokens, KvHolding& holding) {
  int64_t needed = 0, more = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (!groups_[g].alike) more = growth(groups_[g], holding.groups_[g], tokens);
    needed += more;
  }
  if (needed > free()) return false;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Group& group = groups_[g];
    OfGroup& of = holding.groups_[g];
    const bool is_carried =
        group.sparse && growth(group, of, tokens) > 0 && computed % group.is.block_tokens != 0;
    if (is_carried && !of.pieces.empty()) of.pieces.back().passed = true;
    holding.blocks_ += add_blocks(0, tokens, group, of);
  }
  take(needed);
  return true;
}

// Steps are processed in order. Requests that take or drop blocks in the same step are processed in the order
// of `requests`. So evictions happen in the same order as with single steps.
void KvPool::grow_by_steps(std::span<const KvGrowth> requests, int64_t steps,
                           const std::function<void(int64_t)>& begins) {
  if (!drops_ && !begins) {
    for (const KvGrowth& one : requests) {
      KVCAP_CHECK(grow(one.computed, one.computed + steps, *one.holding));
    }
    return;
  }
  events_.clear();
  const auto expect = [&](std::size_t i, int64_t done) {
    const KvGrowth& one = requests[i];
    const int64_t step = next_change(*one.holding, one.computed + done) - one.computed;
    if (step > steps) return false;
    events_.emplace_back(step, i);
    return true;
  };
  for (std::size_t i = 0; i < requests.size(); ++i) expect(i, 0);
  std::make_heap(events_.begin(), events_.end(), std::greater<>());
  int64_t begun = 0;
  while (!events_.empty()) {
    std::pop_heap(events_.begin(), events_.end(), std::greater<>());
    const auto [step, i] = events_.back();
    events_.pop_back();
    const KvGrowth& one = requests[i];
    const int64_t tokens = one.computed + step;
    if (begins) begins(step);
    if (std::exchange(begun, step) != step) expire();
    if (drops_ && !one.chain.empty()) {
      name(one.chain, std::min(tokens - 1, one.nameable), *one.holding, one.prompt_tokens);
    }
    KVCAP_CHECK(grow(tokens - 1, tokens, *one.holding));
    if (expect(i, step)) std::push_heap(events_.begin(), events_.end(), std::greater<>());
  }
}

void KvPool::take_loaded(int64_t tokens, KvHolding& holding) {
  open(holding);
  drop(tokens, holding);
  int64_t taken = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    OfGroup& of = holding.groups_[g];
    const int64_t front = groups_[g].is.unneeded_blocks(tokens);
    taken += add_blocks(front, tokens, groups_[g], of);
    of.front = std::max(of.front, front);
  }
  holding.blocks_ += taken;
  take(taken);
  settle(tokens, holding);
}

void KvPool::give_back(KvHolding& holding) {
  if (holding.groups_.empty()) return;
  for (const OfGroup& of : holding.groups_) {
    for (auto piece = of.pieces.rbegin(); piece != of.pieces.rend(); ++piece) {
      release(*piece, piece->begin, piece->end);
    }
  }
  leave_node(holding.node_);
  holding = KvHolding();
}

int64_t KvPool::cut_at_checkpoint(int64_t computed, int64_t known, int64_t tokens) const {
  const int64_t last = known - known % checkpoint_tokens_;
  if (computed + tokens < last) return tokens / checkpoint_tokens_ * checkpoint_tokens_;
  if (computed < last && last < computed + tokens) return last - computed;
  return tokens;
}

}  // namespace kvcap
