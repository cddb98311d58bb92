// How an Instance lets turns in: what the store has for them, the memory they take, and their restoration.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "serving/instance.h"

namespace kvcap {

void Instance::admit(double now_s) {
  waits_for_fetch_ = false;
  fetched_s_ = std::numeric_limits<double>::infinity();
  while (!waiting_.empty() && try_admit(now_s)) {
  }
}

bool Instance::try_admit(double now_s) {
  if (static_cast<int64_t>(admitted_.size()) >= parts_.serving.max_num_seqs) return false;
  Request& request = *waiting_.front();
  // An empty machine admits what fits at all.
  const int64_t reserve = admitted_.empty() ? 0 : watermark_blocks_;
  const bool fits = blocks_needed(request.prompt_tokens()) + reserve <= blocks_.free();
  // Only what lies on the GPU at no cost can make it fit; else there is nothing to look up.
  const bool may_be_free = parts_.policy->traits().reuse == Reuse::everything || parts_.store->has(Tier::hbm);
  if (!fits && !may_be_free) return false;
  waits_for_fetch_ = forecast_.fetches(request.prompt);
  if (waits_for_fetch_) return false;
  const Found found = find(request);
  const int64_t free_tokens = found.on_gpu();
  const int64_t blocks = blocks_needed(request.prompt_tokens() - free_tokens);
  if (blocks + reserve > blocks_.free()) return false;

  blocks_.take(blocks);
  request.blocks = blocks;
  request.free_tokens = free_tokens;
  request.cached_tokens = free_tokens;
  if (request.admitted_s < 0) {
    request.admitted_s = now_s;
    request.record.hit_tokens = static_cast<uint32_t>(found.all_tokens());
    for (Tier tier : kTiers) {
      request.record.tier_hit_tokens[index(tier)] = static_cast<uint32_t>(found.tokens[index(tier)]);
    }
    request.record.tier_used_tokens = request.record.tier_hit_tokens;
    weigh(request);
  }
  pin(request);
  admitted_.push_back(std::move(waiting_.front()));
  waiting_.pop_front();
  forecast_.served();
  const bool asks = parts_.policy->traits().restores_resident && found.on_gpu() > 0;
  if (found.all_tokens() > found.on_gpu() || asks) {
    restore(request, found, now_s);
  } else {
    for (const Hit& hit : found.hits) parts_.store->touch(hit.key, now_s);
    count_reuse(request, request.cached_tokens, {});
    prefilling_.push_back(&request);
  }
  return true;
}

Found Instance::find(const Request& request) const {
  if (parts_.policy->traits().reuse != Reuse::everything) {
    Found found = find_parts(*parts_.store, request.prompt, parts_.keeping.match);
    // A last piece that ends with the prompt is found whole, and its last token computed again.
    const int64_t beyond = found.all_tokens() - request.history_tokens;
    if (beyond > 0) {
      Hit& last = found.hits.back();
      last.tokens -= beyond;
      found.tokens[index(last.tier)] -= beyond;
    }
    return found;
  }
  // What was never seen is no history: a session's context is new to its first turn.
  Found found;
  int64_t& tokens = found.tokens[index(Tier::hbm)];
  for (const Item& part : request.prompt) {
    if (!parts_.workload->warm_start && !parts_.sessions->seen.contains(part.key)) {
      if (parts_.keeping.match == Match::chunk) continue;
      break;
    }
    tokens += part.tokens;
  }
  tokens = std::min(tokens, request.history_tokens);
  return found;
}

// One more use of every part, before anybody looks for room.
void Instance::weigh(const Request& request) {
  if (!parts_.keeping.weighs) return;
  for (const Part& part : request.prompt) {
    if (part.tokens == 0) continue;
    ChunkScore& score = parts_.sessions->scores[part.key];
    const PartUse use = parts_.policy->use({part.node_tokens, part.first_token, part.tokens});
    score.use(parts_.policy->weight(use));
    parts_.store->weigh(part.key, score.value());
  }
}

Context Instance::context_of(const Request& request, const Found& found) const {
  Context context{
      .history_tokens = request.history_tokens,
      .new_tokens = request.input_tokens + request.generated,
      .resident_tokens = found.on_gpu(),
      .turn = parts_.workload->sessions[request.arrival.session].first_turn + request.arrival.turn};
  auto part = request.prompt.begin();
  for (const Hit& hit : found.hits) {
    while (part->key != hit.key) ++part;
    if (hit.tokens == 0) continue;
    context.use[index(hit.tier)] += parts_.policy->use({part->node_tokens, part->first_token, hit.tokens});
  }
  return context;
}

void Instance::restore(Request& request, const Found& found, double now_s) {
  const std::vector<Hit> hits = found.by_tier();
  Context context = context_of(request, found);
  if (parts_.policy->traits().heeds_engine) context.engine = engine_load();
  Restoration restoration = parts_.policy->restore(context, hits, parts_.restorer->current_rates());
  request.fused = restoration.fused;
  const PerTier bytes = restoration.total_bytes();
  for (const Hit& hit : found.hits) {
    parts_.store->touch(hit.key, now_s);
    if (hit.tier != Tier::hbm && !restoration.empty()) perform(parts_.store->promote(hit.key, now_s));
  }
  if (restoration.empty()) {
    count_reuse(request, request.cached_tokens, restoration);
    prefilling_.push_back(&request);
    return;
  }
  const bool first = request.generated == 0 && request.admitted_s == now_s;
  leave_out(request, restoration, first);
  count_reuse(request, found.all_tokens(), restoration);
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

  parts_.restorer->start(
      std::move(restoration), [this, &request, tokens = found.all_tokens(), now_s](RestoreTimes times) {
        request.cached_tokens = request.fused ? request.prompt_tokens() : tokens - request.unused_tokens;
        request.restored_s = times.restored_s;
        if (request.record.ttft_s == 0 && request.admitted_s == now_s) {
          // Fused computation is the new tokens' prefill and no part of the restoration.
          request.record.restore_s =
              static_cast<float>((request.fused ? times.loaded_s : times.restored_s) - now_s);
          request.record.load_s = static_cast<float>(times.loaded_s - now_s);
          if (!request.fused) {
            request.record.restore_compute_s = static_cast<float>(times.restored_s - times.loaded_s);
          }
        }
        restored_.push_back({times.restored_s, restorations_++, &request});
        std::push_heap(restored_.begin(), restored_.end());
        // A step that ends before is soon enough to see it.
        if (!step_.running || in_long_run()) parts_.wake();
      });
}

// As it stands before the turn that is being admitted.
EngineLoad Instance::engine_load() {
  const std::size_t others = waiting_.size() + admitted_.size() - decoding_.size() - 1;
  EngineLoad load{.decode_rows = static_cast<int64_t>(decoding_.size()),
                  .waiting_turns = static_cast<int64_t>(others)};
  // Those that have only just arrived may be admitted with it.
  const double now_s = parts_.node->now_s();
  for (auto last = waiting_.rbegin(); last != waiting_.rend(); ++last) {
    if ((*last)->arrival.time_s < now_s - kResolution_s) break;
    --load.waiting_turns;
  }
  if (load.decode_rows > 0) {
    const int64_t context_tokens = decoding_context_tokens_ + load.decode_rows;
    load.decode_step_s = step_time_.decode(load.decode_rows, context_tokens).sum_s(1);
  }
  plan_chunks();
  load.next_rows = load.decode_rows;
  for (const Chunk& chunk : step_.chunks) load.next_rows += chunk.tokens;
  load.next_step_s = step_.chunks.empty() ? load.decode_step_s : mixed_step_s();
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
    compute_s -= layers * cost.prefill_layer_s({request.prompt_tokens() - cached, cached}) + cost.head_s(1);
  }
  parts_.recorder->reused(layers * cost.prefill_layer_s({tokens, 0}), compute_s);
}

// What takes no part in the turn needs no room.
void Instance::leave_out(Request& request, const Restoration& restoration, bool first) {
  for (Tier tier : kTiers) {
    const int64_t unused = restoration.unused_tokens[index(tier)];
    request.unused_tokens += unused;
    if (tier == Tier::hbm) request.free_tokens -= unused;
    if (first) request.record.tier_used_tokens[index(tier)] -= static_cast<uint32_t>(unused);
  }
  request.cached_tokens = request.free_tokens;
  const int64_t blocks = blocks_needed(request.prompt_tokens() - request.free_tokens);
  blocks_.give_back(request.blocks - blocks);
  request.blocks = blocks;
}

void Instance::take_restored(double now_s) {
  while (!restored_.empty() && restored_.front().time_s <= now_s + kResolution_s) {
    Request& request = *restored_.front().request;
    std::pop_heap(restored_.begin(), restored_.end());
    restored_.pop_back();
    if (!request.fused) {
      prefilling_.push_back(&request);
      continue;
    }
    request.gap_open = true;
    first_token(request, request.restored_s);
    if (request.generated == request.output_tokens) {
      complete(request, request.restored_s);
    } else {
      start_decoding(request);
    }
  }
}

}  // namespace kvcap
