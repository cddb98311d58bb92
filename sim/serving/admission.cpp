// How an Instance lets turns in: what the GPU and the tiers have for them, and how it comes back.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "serving/instance.h"

namespace kvcap {

// ---- looking up ----

Lookup Instance::look_up(Request& request, Found& found) {
  if (forecast_.fetches(request.text.prompt)) {
    waits_for_fetch_ = true;
    return Lookup::waits;
  }
  if (waits_for_index(request) || waits_for_prefetch(request)) {
    somebody_passed_ = true;
    return Lookup::passes;
  }
  const int64_t size = parts_.serving.block_size;
  if (parts_.serving.prefix_caching)
    found.gpu = pool_.find(request.chain, (request.known_tokens() - 1) / size);
  const int64_t resident = found.gpu.blocks * size;
  found_ = find_below(request, resident);
  request.free_tokens = 0;
  request.named = parts_.serving.prefix_caching;
  if (found_.on_gpu() > 0) {
    // In a part of GPU memory of their own: what blocks hold of the prompt is of no further use.
    if (resident > 0) found_ = find_below(request, 0);
    found.gpu = {};
    request.free_tokens = found_.on_gpu();
    request.named = false;
  }
  const bool asks = parts_.policy->traits().restores_resident && found_.on_gpu() > 0;
  if (found_.below() == 0 && !asks) return Lookup::computes;
  // Blocks that are on their way for somebody else are not loaded a second time, if others will find them.
  if (request.named && parts_.keeping.exact) {
    for (const Hit& hit : found_.hits) {
      if (hit.tier == Tier::hbm || loading_.find(hit.key) == 0) continue;
      somebody_passed_ = true;
      return Lookup::passes;
    }
  }
  found.load_tokens = std::max(resident, request.free_tokens) + found_.below();
  return Lookup::computes;
}

FoundParts Instance::find_below(const Request& request, int64_t resident) const {
  if (parts_.policy->traits().reuse != Reuse::everything) {
    const int64_t block_size = parts_.serving.prefix_caching ? parts_.serving.block_size : 1;
    FoundParts found =
        find_parts(*parts_.store, request.text.prompt, parts_.keeping.match, resident, block_size);
    // A last part that ends with the prompt is found whole, and its last token computed again.
    const int64_t beyond = resident + found.all_tokens() - std::max(request.history_tokens, resident);
    if (beyond > 0 && !found.hits.empty()) {
      Hit& last = found.hits.back();
      last.tokens -= beyond;
      found.tokens[index(last.tier)] -= beyond;
    }
    return found;
  }
  // What was never seen is no history: a session's context is new to its first turn.
  FoundParts found;
  int64_t& tokens = found.tokens[index(Tier::hbm)];
  for (const Item& part : request.text.prompt) {
    if (!parts_.workload->warm_start && !parts_.sessions->seen.contains(part.key)) {
      if (parts_.keeping.match == Match::chunk) continue;
      break;
    }
    tokens += part.tokens;
  }
  tokens = std::min(tokens, request.history_tokens);
  return found;
}

// ---- prefetches ----

// Whether the index of a remote tier has not answered yet.
bool Instance::waits_for_index(Request& request) {
  if (parts_.keeping.lookup_s <= 0) return false;
  const double now_s = parts_.node->now_s();
  if (request.looked_up_s < 0) {
    request.looked_up_s = now_s;
    request.record.lookup_s = static_cast<float>(parts_.keeping.lookup_s);
  }
  const double answered_s = request.looked_up_s + parts_.keeping.lookup_s;
  if (now_s >= answered_s - kResolution_s) return false;
  passed_until_s_ = std::min(passed_until_s_, answered_s);
  return true;
}

// Whether the request waits for what is fetched into the first host tier for it.
bool Instance::waits_for_prefetch(const Request& request) {
  const PrefetchOnArrival how = parts_.keeping.prefetch_on_arrival;
  if (how == PrefetchOnArrival::none || how == PrefetchOnArrival::best_effort) return false;
  const bool may_give_up = how == PrefetchOnArrival::timeout;
  if (may_give_up && parts_.node->now_s() >= request.waits_until_s - kResolution_s) return false;
  const bool fetches = std::any_of(request.text.prompt.begin(), request.text.prompt.end(),
                                   [&](const Part& part) { return parts_.store->fetching(part.key); });
  if (fetches && may_give_up) passed_until_s_ = std::min(passed_until_s_, request.waits_until_s);
  return fetches;
}

void Instance::prefetch(const Request& request, double now_s) {
  for (const Part& part : request.text.prompt) {
    const std::optional<Hit> hit = parts_.store->find(part.key);
    if (!hit && parts_.keeping.match != Match::chunk) return;
    if (!hit || hit->tier <= Tier::dram || parts_.store->fetching(part.key)) continue;
    perform(parts_.store->prefetch(part.key, now_s));
  }
}

// ---- admission ----

Lookup Instance::admit(Request& request) {
  const double now_s = parts_.node->now_s();
  const FoundParts found = std::move(found_);
  const int64_t resident = request.planned;
  const bool first = request.admitted_s < 0;
  if (first) {
    request.admitted_s = request.looked_up_s >= 0 ? request.looked_up_s : now_s;
    TurnRecord& record = request.record;
    record.hit_tokens = static_cast<uint32_t>(resident + found.below());
    for (Tier tier : kTiers) {
      const int64_t tokens = tier == Tier::hbm ? resident : found.tokens[index(tier)];
      record.tier_hit_tokens[index(tier)] = static_cast<uint32_t>(tokens);
    }
    record.tier_used_tokens = record.tier_hit_tokens;
    if (record.hit_tokens > record.history_tokens) {
      record.input_tokens -= record.hit_tokens - record.history_tokens;
      record.history_tokens = record.hit_tokens;
    }
    weigh(request);
  }
  pin(request);
  forecast_.served(request.number);
  for (const Part& part : request.text.prompt) parts_.store->touch(part.key, now_s);
  const bool asks = parts_.policy->traits().restores_resident && found.on_gpu() > 0;
  if (found.below() > 0 || asks) return restore(request, found, resident, first);
  count_reuse(request, resident, {});
  return Lookup::computes;
}

// One more use of every part, before anybody looks for room.
void Instance::weigh(const Request& request) {
  if (!parts_.keeping.weighs) return;
  for (const Part& part : request.text.prompt) {
    if (part.tokens == 0) continue;
    ChunkScore& score = parts_.sessions->scores[part.key];
    const PartUse use = parts_.policy->use({part.node_tokens, part.first_token, part.tokens});
    score.use(parts_.policy->weight(use));
    parts_.store->weigh(part.key, score.value());
  }
}

Context Instance::context_of(const Request& request, const FoundParts& found, int64_t resident) const {
  Context context{
      .history_tokens = std::max(request.history_tokens, resident + found.below()),
      .new_tokens = 0,
      .resident_tokens = resident,
      .turn = parts_.workload->sessions[request.arrival.session].first_turn + request.arrival.turn};
  context.new_tokens = request.known_tokens() - context.history_tokens;
  if (found.on_gpu() == 0) {
    // What the prefix cache has of a context takes part as a whole.
    const auto cached = static_cast<double>(resident);
    context.use[index(Tier::hbm)] = {.tokens = cached, .important_tokens = cached, .touched_tokens = cached};
  }
  auto part = request.text.prompt.begin();
  for (const Hit& hit : found.hits) {
    while (part->key != hit.key) ++part;
    if (hit.tokens == 0) continue;
    context.use[index(hit.tier)] += parts_.policy->use({part->node_tokens, part->first_token, hit.tokens});
  }
  return context;
}

Lookup Instance::restore(Request& request, const FoundParts& found, int64_t resident, bool first) {
  const double now_s = parts_.node->now_s();
  const std::vector<Hit> hits = found.by_tier();
  Context context = context_of(request, found, resident);
  if (parts_.policy->traits().heeds_engine) context.engine = engine_load();
  Restoration restoration = parts_.policy->restore(context, hits, parts_.restorer->current_rates());
  request.fused = restoration.fused;
  if (parts_.check_invariants) check_found(found);
  for (const Hit& hit : found.hits) {
    if (hit.tier != Tier::hbm && !restoration.empty()) perform(parts_.store->promote(hit.key, now_s));
  }
  if (restoration.empty()) {
    count_reuse(request, resident, restoration);
    return Lookup::computes;
  }
  leave_out(request, restoration, first);
  if (!parts_.keeping.exact) request.named = false;
  const int64_t tokens = resident + found.below();
  count_reuse(request, tokens, restoration);
  const PerTier bytes = restoration.total_bytes();
  for (const Hit& hit : hits) {
    double requests = 0;
    for (const LayerWork& work : restoration.work) {
      requests += static_cast<double>(work.layers) * work.load_requests[index(hit.tier)];
    }
    if (first) {
      parts_.recorder->read(hit.tier, bytes[index(hit.tier)], requests);
    } else {
      parts_.recorder->reloaded(hit.tier, hit.tokens, bytes[index(hit.tier)], requests);
    }
  }
  const int64_t there = request.fused ? request.known_tokens() : tokens - request.unused_tokens;
  scheduler_.take_blocks(request, there);
  request.planned = request.computed = there;

  for (const Hit& hit : found.hits) {
    if (hit.tier == Tier::hbm) continue;
    request.loads.push_back(hit.key);
    loading_.set(hit.key, loading_.find(hit.key) + 1);
  }
  const bool blocks = parts_.keeping.load == LoadMode::blocking && !request.fused;
  if (blocks) ++blocking_loads_;
  parts_.restorer->start(std::move(restoration), [this, &request, now_s, first, blocks](RestoreTimes times) {
    request.restored_s = times.restored_s;
    if (first) {
      // Fused computation is the new tokens' prefill and no part of the restoration.
      request.record.restore_s =
          static_cast<float>((request.fused ? times.loaded_s : times.restored_s) - now_s);
      request.record.load_s = static_cast<float>(times.loaded_s - now_s);
      if (!request.fused) {
        request.record.restore_compute_s = static_cast<float>(times.restored_s - times.loaded_s);
      }
    }
    restored_.push_back({times.restored_s, restorations_++, &request, blocks});
    std::push_heap(restored_.begin(), restored_.end());
    // A step that ends before is soon enough to see it.
    if (!step_.running || in_long_run()) parts_.wake();
  });
  return request.fused ? Lookup::computes_beside : Lookup::loads;
}

// As it stands before the turn that is being admitted.
EngineLoad Instance::engine_load() {
  scheduler_.outlook(outlook_);
  const auto prefilling = static_cast<int64_t>(outlook_.slices.size()) - outlook_.decoding;
  EngineLoad load{
      .decode_rows = outlook_.decoding,
      .waiting_turns = waiting() + prefilling + static_cast<int64_t>(scheduler_.loading().size())};
  // Those that have only just arrived may be admitted with it.
  const double now_s = parts_.node->now_s();
  const auto& queue = scheduler_.waiting();
  for (auto last = queue.rbegin(); last != queue.rend(); ++last) {
    if (!*last || (*last)->arrival.time_s < now_s - kResolution_s) break;
    --load.waiting_turns;
  }
  load.waiting_turns = std::max<int64_t>(0, load.waiting_turns);
  if (load.decode_rows > 0) {
    load.decode_step_s = step_time_.decode(load.decode_rows, outlook_.context_tokens).sum_s(1);
  }
  load.next_rows = 0;
  for (const Slice& slice : outlook_.slices) load.next_rows += slice.tokens;
  load.next_step_s = outlook_.decodes_only() ? load.decode_step_s : mixed_step_s(outlook_);
  return load;
}

// What finding `tokens` spared the GPUs, and what bringing them back cost them.
void Instance::count_reuse(const Request& request, int64_t tokens, const Restoration& restoration) {
  if (tokens == 0) return;
  const CostModel& cost = *parts_.cost;
  const auto layers = static_cast<double>(cost.model().num_hidden_layers);
  double compute_s = restoration.total_compute_s();
  if (restoration.fused) {
    const int64_t cached = tokens - request.unused_tokens;
    compute_s -= layers * cost.prefill_layer_s({request.known_tokens() - cached, cached}) + cost.head_s(1);
  }
  parts_.recorder->reused(layers * cost.prefill_layer_s({tokens, 0}), compute_s);
}

// What takes no part in the turn needs no room.
void Instance::leave_out(Request& request, const Restoration& restoration, bool first) {
  for (Tier tier : kTiers) {
    const int64_t unused = restoration.unused_tokens[index(tier)];
    request.unused_tokens += unused;
    if (tier == Tier::hbm) request.free_tokens -= std::min(unused, request.free_tokens);
    if (first) request.record.tier_used_tokens[index(tier)] -= static_cast<uint32_t>(unused);
  }
}

// ---- the way back ----

void Instance::take_restored(double now_s) {
  while (!restored_.empty() && restored_.front().time_s <= now_s + kResolution_s) {
    std::pop_heap(restored_.begin(), restored_.end());
    const Restored restored = restored_.back();
    restored_.pop_back();
    Request& request = *restored.request;
    for (Key key : std::exchange(request.loads, {})) {
      const uint32_t left = loading_.find(key) - 1;
      left > 0 ? loading_.set(key, left) : loading_.erase(key);
    }
    if (restored.blocks) --blocking_loads_;
    if (!request.fused) {
      scheduler_.loaded(request);
      continue;
    }
    scheduler_.computed_beside(request);
    token(request, request.restored_s, true);
    if (Scheduler::ended(request)) complete(request, request.restored_s);
  }
}

// The request has lost its blocks, and starts over at the head of the queue.
void Instance::preempted(Request& request) {
  unpin(request);
  parts_.recorder->preempted();
  forecast_.comes_back(request.text.prompt, request.number);
}

}  // namespace kvcap
