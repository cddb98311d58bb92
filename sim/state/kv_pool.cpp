#include "state/kv_pool.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "base/check.h"

namespace kvcap {

KvPool::KvPool(const GroupPoolOptions& options)
    : unit_tokens_(options.layout.unit_tokens),
      runs_(options.layout.is_plain() ? options.blocks : 0, unit_tokens_, options.caching, 1,
            (options.retained_tokens + unit_tokens_ - 1) / unit_tokens_) {
  if (options.layout.is_plain()) return;
  groups_.emplace(options);
  for (const KvGroup& group : options.layout.groups) {
    const bool aligns = options.caching && options.checkpoints == Checkpoints::align;
    if (group.rule == KvRule::checkpoint && aligns) checkpoint_tokens_ = group.block_tokens;
  }
}

void KvPool::on_eviction(BlockPool::Evicted evicted) {
  if (!groups_) {
    runs_.on_eviction(std::move(evicted));
    return;
  }
  groups_->on_eviction([evicted = std::move(evicted)](std::size_t group, const BlockRun& unit) {
    if (group == 0) evicted(unit);
  });
}

KvHits KvPool::find(std::span<const BlockRun> chain, int64_t most_tokens) const {
  if (groups_) {
    const GroupPool::Hits hits = groups_->find(chain, most_tokens);
    return {hits.tokens, hits.unheld, hits.shared};
  }
  const BlockPool::Hits hits = runs_.find(chain, most_tokens / unit_tokens_);
  return {hits.blocks * unit_tokens_, hits.unheld, 0};
}

void KvPool::hold(std::span<const BlockRun> chain, int64_t tokens, KvHolding& holding) {
  if (groups_) {
    groups_->hold(chain, tokens, holding.groups_);
  } else {
    runs_.hold(chain, tokens / unit_tokens_, holding.runs_);
  }
}

// Requests that take or drop blocks in the same step do so in their order, and earlier steps come first, so
// that the eviction order equals that of single steps.
void KvPool::grow_by_steps(std::span<const KvGrowth> requests, int64_t steps,
                           const std::function<void(int64_t)>& begins) {
  if (!groups_ && !begins) {
    for (const KvGrowth& one : requests) {
      KVCAP_CHECK(grow(one.computed, one.computed + steps, *one.holding));
    }
    return;
  }
  using Event = std::pair<int64_t, std::size_t>;  // step, request
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  const auto expect = [&](std::size_t i, int64_t done) {
    const KvGrowth& one = requests[i];
    const int64_t step = next_change(*one.holding, one.computed + done) - one.computed;
    if (step <= steps) events.emplace(step, i);
  };
  for (std::size_t i = 0; i < requests.size(); ++i) expect(i, 0);
  while (!events.empty()) {
    const auto [step, i] = events.top();
    events.pop();
    const int64_t tokens = requests[i].computed + step;
    if (begins) begins(step);
    if (groups_ && !requests[i].chain.empty()) {
      groups_->name(requests[i].chain, std::min(tokens - 1, requests[i].nameable),
                    requests[i].holding->groups_);
    }
    KVCAP_CHECK(grow(tokens - 1, tokens, *requests[i].holding));
    expect(i, step);
  }
}

void KvPool::take_loaded(int64_t tokens, KvHolding& holding) {
  if (groups_) {
    groups_->take_loaded(tokens, holding.groups_);
    return;
  }
  const int64_t needed = missing_blocks(holding, tokens);
  if (needed > 0) runs_.take(needed, holding.runs_);
}

void KvPool::name(std::span<const BlockRun> chain, int64_t tokens, KvHolding& holding) {
  if (groups_) {
    groups_->name(chain, tokens, holding.groups_);
    return;
  }
  BlockPool::Holding& runs = holding.runs_;
  if (runs.blocks() == runs.named() || tokens < (runs.named() + 1) * unit_tokens_) return;
  runs_.name(chain, std::min(tokens / unit_tokens_, runs.blocks()), runs);
}

int64_t KvPool::named_tokens(const KvHolding& holding) const {
  return groups_ ? groups_->named_tokens(holding.groups_) : holding.runs_.named() * unit_tokens_;
}

void KvPool::give_back(KvHolding& holding) {
  if (groups_) {
    groups_->give_back(holding.groups_);
  } else {
    runs_.give_back(holding.runs_);
  }
}

int64_t KvPool::cut_slice(int64_t computed, int64_t known, int64_t tokens) const {
  if (checkpoint_tokens_ == 0) return tokens;
  const int64_t last = known - known % checkpoint_tokens_;
  if (computed + tokens < last) return tokens / checkpoint_tokens_ * checkpoint_tokens_;
  if (computed < last && last < computed + tokens) return last - computed;
  return tokens;
}

void KvPool::check(std::span<const KvHolding* const> holdings) const {
  if (groups_) {
    std::vector<const GroupPool::Holding*> all;
    for (const KvHolding* holding : holdings) all.push_back(&holding->groups_);
    groups_->check(all);
    return;
  }
  std::vector<const BlockPool::Holding*> all;
  for (const KvHolding* holding : holdings) all.push_back(&holding->runs_);
  runs_.check(all);
}

}  // namespace kvcap
