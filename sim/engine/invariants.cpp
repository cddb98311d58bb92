// Structural invariants of an engine, recomputed after every event if InstanceParts::check_invariants is set.
// The sums of a large store are checked in rotation, so that the time of a check does not grow with the
// store.
#include "base/invariants.h"

#include <algorithm>
#include <unordered_map>

#include "engine/instance.h"

namespace kvcap {
namespace {

// Returns the rounding error of sums of seconds in doubles.
double rounding_s(double now_s) { return 1e-7 + 1e-14 * now_s; }

template <typename Pointers>
bool contains(const Pointers& pointers, const void* request) {
  return std::any_of(pointers.begin(), pointers.end(),
                     [&](const auto& one) { return std::to_address(one) == request; });
}

}  // namespace

// ---- an instance ----

int64_t Instance::pins() const {
  int64_t pins = 0;
  for (const auto* list : {&scheduler_.running(), &scheduler_.loading()}) {
    for (const RequestPtr& request : *list) pins += std::ssize(request->text.prompt);
  }
  for (const RequestPtr& request : scheduler_.waiting()) {
    if (request->restored) pins += std::ssize(request->text.prompt);
  }
  return pins;
}

void Instance::check(double now_s) {
  KVCAP_INVARIANT("INV-CLOCK", now_s >= checked_s_);
  checked_s_ = now_s;
  // The GPU time available to steps never decreases and never grows faster than the clock.
  const double progress_s = parts_.restorer->progress_s(now_s);
  const double tolerance_s = rounding_s(now_s);
  KVCAP_INVARIANT("INV-GPU-TIME",
                  progress_s >= checked_progress_s_ - tolerance_s && progress_s <= now_s + tolerance_s);
  KVCAP_INVARIANT("INV-GPU-TIME", parts_.restorer->pending_compute_s() >= 0);
  checked_progress_s_ = progress_s;
  for (Tier tier : kTiers) {
    if (tier == Tier::hbm || !parts_.store->has(tier)) continue;
    KVCAP_INVARIANT("INV-GPU-TIME", parts_.node->lane(Tier::hbm, tier).pending_s() >= -tolerance_s);
    KVCAP_INVARIANT("INV-GPU-TIME", parts_.node->lane(tier, Tier::hbm).pending_s() >= -tolerance_s);
  }
  KVCAP_INVARIANT("INV-TURNS", arrived_ == completed_ + refused_ + dropped_ + turns());
  check_requests();
  for (const RequestPtr& request : api_server_.requests())
    KVCAP_INVARIANT("INV-ROOM", request->holding.blocks() == 0);
  std::vector<const KvHolding*> holdings = scheduler_.holdings();
  const std::vector<const KvHolding*> kept = saves_.kept_blocks();
  holdings.insert(holdings.end(), kept.begin(), kept.end());
  cache_.check_pool(holdings);
  steps_.check(now_s);
  cache_.check_loads(scheduler_.loading());
  admissions_.check();
  forecast_.check();
  KVCAP_INVARIANT("INV-FORECAST",
                  !keeping_.look_ahead || forecast_.waiting() == static_cast<std::size_t>(waiting()));
  KVCAP_INVARIANT("INV-PINS", parts_.store->pins() == pins());
  parts_.store->check_in_turn();
}

// Checks the requests in every list.
void Instance::check_requests() const {
  scheduler_.check();
  KVCAP_INVARIANT("INV-LIMITS", !serving_.most_turns() || turns() <= *serving_.most_turns());
  // An abandoned request that is still present waits for running work.
  for (const Request* request : leaving_) KVCAP_INVARIANT("INV-PHASES", !may_leave(*request));
  KVCAP_INVARIANT("INV-PHASES", steps_.is_running() || deadlines_.next_s() > checked_s_);
}

void Instance::check_ended() const {
  KVCAP_INVARIANT("INV-EMPTY", turns() == 0 && !steps_.is_running() && leaving_.empty());
  KVCAP_INVARIANT("INV-TURNS", arrived_ == completed_ + refused_ + dropped_);
  cache_.check_ended();
  admissions_.check_ended();
  saves_.check_ended();
  forecast_.check();
  KVCAP_INVARIANT("INV-EMPTY", parts_.store->pins() == 0);
  parts_.store->check();
}

// ---- admissions ----

void Admissions::check() const {
  const std::vector<RequestPtr>& loading = scheduler_.loading();
  KVCAP_INVARIANT("INV-LOADS", blocking_loads_ <= static_cast<int64_t>(loading.size()));
  KVCAP_INVARIANT("INV-LOADS", restored_.size() + unreported_.size() <= loading.size());
  for (const Restored& restored : restored_) {
    KVCAP_INVARIANT("INV-LOADS", contains(loading, restored.request));
  }
  for (const Restored& restored : unreported_) {
    KVCAP_INVARIANT("INV-LOADS", contains(loading, restored.request));
    KVCAP_INVARIANT("INV-LOADS", restored.reported >= rounds_);
  }
}

void Admissions::check_ended() const {
  KVCAP_INVARIANT("INV-EMPTY", restored_.empty() && unreported_.empty());
}

// ---- steps ----

void Steps::check(double now_s) const {
  if (!step_.running) return;
  const double tolerance_s = rounding_s(now_s);
  KVCAP_INVARIANT("INV-GPU-TIME",
                  step_.start_s <= now_s && step_.work_s >= 0 && step_.gpu_s <= step_.work_s + tolerance_s);
  KVCAP_INVARIANT("INV-GPU-TIME", step_.steps >= 1 && step_.steps <= step_.most_steps);
  KVCAP_INVARIANT("INV-GPU-TIME", step_.steps == 1 || current_.decodes_only());
  int64_t tokens = 0;
  for (const Slice& slice : current_.slices) {
    KVCAP_INVARIANT("INV-TOKENS", slice.tokens > 0);
    tokens += slice.tokens;
  }
  // A rank without work runs empty steps together with the other ranks.
  const bool alone = engine_.cost->placement().ranks == 1;
  KVCAP_INVARIANT("INV-TOKENS", (tokens > 0 || !alone) && tokens <= serving_.max_num_batched_tokens);
}

// ---- saves ----

void Saves::check_ended() const {
  KVCAP_INVARIANT("INV-EMPTY", !kept_.empty() || cache_.pool().free() == cache_.pool().total());
}

// ---- a cache ----

// Checks that every block is free, cached or held, and that holdings refer to existing blocks. A large pool
// is not checked at every call.
void ContextCache::check_pool(const std::vector<const KvHolding*>& holdings) {
  if (++pool_checks_ * 64 < pool_.records()) return;
  pool_checks_ = 0;
  pool_.check(holdings);
}

// Checks that each part being loaded has requests that wait for it.
void ContextCache::check_loads(const std::vector<RequestPtr>& loading) const {
  std::unordered_map<Key, uint32_t> loads;
  for (const RequestPtr& request : loading) {
    for (Key key : request->loads) ++loads[key];
  }
  KVCAP_INVARIANT("INV-LOADS", loading_.size() == loads.size());
  for (const auto& [key, count] : loads) KVCAP_INVARIANT("INV-LOADS", loading_.find(key) == count);
}

// Checks that the parts to load are stored where they were found.
void ContextCache::check_found(const FoundParts& found) const {
  for (const Hit& hit : found.hits) {
    const std::optional<Hit> there = parts_.store->find(hit.key);
    KVCAP_INVARIANT("INV-FOUND",
                    hit.tokens >= 0 && there && there->tier == hit.tier && there->tokens >= hit.tokens);
  }
}

void ContextCache::check_ended() const {
  KVCAP_INVARIANT("INV-EMPTY", loading_.size() == 0 && prefetching_tokens_ == 0);
}

// ---- a forecast ----

void Forecast::check() const {
  KVCAP_INVARIANT("INV-FORECAST", fetched_ <= expected_ && expected_ <= waiting_.size());
  std::unordered_map<Key, std::set<Order>> numbers;
  for (std::size_t i = 0; i < expected_; ++i) {
    for (const Item& item : *waiting_[i].prompt) numbers[item.key].insert(waiting_[i].number);
  }
  KVCAP_INVARIANT("INV-FORECAST", numbers == numbers_);
}

}  // namespace kvcap
