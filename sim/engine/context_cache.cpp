#include "engine/context_cache.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace kvcap {

namespace {

// Returns the retention priorities of cached blocks. If retain_first_tokens is set, those tokens of each
// prompt have the highest priority and other ranges are ignored.
Retention retention_of(const ServingOptions& serving) {
  Retention retention = serving.retention.value_or(Retention());
  const int64_t first = serving.retain_first_tokens;
  if (first > 0) retention.ranges = {{.to_token = first, .priority = kMaxPriority}};
  return retention;
}

KvPoolOptions pool_options(const EngineModel& engine, std::function<double()> now_s) {
  const ServingOptions& serving = *engine.serving;
  KvPoolOptions options;
  options.step_tokens = serving.max_num_batched_tokens;
  // A step also needs room for drafts that may be rejected, for the drafts of the next step, and for the
  // slots that a drafter writes ahead.
  if (serving.speculative) options.step_tokens += 3 * serving.speculative->draft_tokens;
  options.checkpoints = serving.recurrent_checkpoints;
  options.retention = retention_of(serving);
  options.now_s = std::move(now_s);
  options.caching = serving.prefix_caching && engine.policy->traits().reuse != Reuse::everything;
  options.layout = *engine.kv_layout;
  options.blocks = options.layout.blocks_of(engine.kv_capacity_tokens);
  return options;
}

// A chunk's key depends on all tokens up to its end, so a chunk is found as a whole or not at all.
FoundEnds found_ends(const EngineModel& engine, int64_t hit_tokens) {
  const int64_t chunk = engine.keeping->save_at == SaveAt::step ? engine.keeping->chunk_tokens : 0;
  const int64_t block = engine.serving->prefix_caching ? hit_tokens : 1;
  return {.block_tokens = std::lcm(block, std::max<int64_t>(1, chunk)),
          .checkpoint_tokens = engine.policy->traits().checkpoint_tokens};
}

// Returns the farthest tier from which contexts are loaded.
Tier farthest_tier(const KeepingOptions& keeping, const Store& store) {
  if (!keeping.loads_first_tier_only) return Tier::remote;
  const auto* first =
      std::find_if(kHostTiers.begin(), kHostTiers.end(), [&](Tier tier) { return store.has(tier); });
  return first != kHostTiers.end() ? *first : Tier::remote;
}

}  // namespace

ContextCache::ContextCache(const ContextCacheParts& parts)
    : parts_(parts),
      engine_(*parts.engine),
      serving_(*engine_.serving),
      keeping_(*engine_.keeping),
      pool_(pool_options(engine_, parts.now_s)),
      save_unit_(keeping_.chunk_tokens > 0 ? keeping_.chunk_tokens : pool_.hit_tokens()),
      ends_(found_ends(engine_, pool_.hit_tokens())),
      farthest_(farthest_tier(keeping_, *parts.store)) {
  const bool saves = keeping_.save_at == SaveAt::eviction && engine_.policy->traits().reuse == Reuse::stored;
  if (!saves && !parts.evicted) return;
  const int64_t least = serving_.retention ? serving_.retention->offload_min_priority : 0;
  pool_.on_eviction([this, saves, least](std::size_t group, const BlockRun& run, int64_t priority) {
    if (group > 0) return;  // the first layer group stands for all groups
    if (saves && priority >= least) note_evicted(run);
    if (parts_.evicted) report_evicted(run);
  });
}

// Reports an eviction under the keys of the prompt's parts; a piece stored in chunks has one key per chunk.
// If a part loses its first whole block, the tokens before that block are unusable, too.
void ContextCache::report_evicted(const BlockRun& run) const {
  const int64_t first = run.part_first < pool_.unit_tokens() ? 0 : run.part_first;
  parts_.evicted(run.part, first);
  const int64_t chunk = keeping_.chunk_tokens;
  if (chunk == 0) return;
  const int64_t end = run.part_first + run.blocks * pool_.unit_tokens();
  for (int64_t begin = std::max(chunk, first / chunk * chunk); begin < end; begin += chunk) {
    const int64_t left = first - begin < pool_.unit_tokens() ? 0 : first - begin;
    parts_.evicted(chained(run.part, static_cast<Key>(begin)), left);
  }
}

// ---- lookups ----

std::vector<BlockRun> ContextCache::chain_of(const TurnText& text) const {
  if (!serving_.prefix_caching) return {};
  const std::vector<TextRun> texts(text.runs.begin(), text.runs.end());
  return block_runs(texts, pool_.unit_tokens());
}

FoundContext ContextCache::find(const Request& request) const {
  FoundContext found;
  if (serving_.prefix_caching) found.blocks = pool_.find(request.chain, request.known_tokens() - 1);
  if (engine_.speculation && engine_.speculation->drops_last_block() && found.blocks.tokens > 0) {
    found.blocks = pool_.find(request.chain, found.blocks.tokens - 1);
  }
  found.resident = found.blocks.tokens;
  found.parts = find_below(request, found.resident);
  if (found.parts.on_gpu() > 0 && found.resident > 0) {
    // Contexts in an hbm tier have their own GPU memory, so the prompt's cached blocks are not used in
    // addition.
    found = {.parts = find_below(request, 0)};
  }
  return found;
}

FoundParts ContextCache::find_below(const Request& request, int64_t resident) const {
  if (engine_.policy->traits().reuse == Reuse::everything) return find_seen(request);
  FoundParts found = find_parts(*parts_.store, request.text.prompt, keeping_.match, resident, ends_);
  found.keep_within(farthest_);
  // Even if the last part is found completely, the last token of the prompt is computed again.
  const int64_t beyond = resident + found.all_tokens() - std::max(request.history_tokens, resident);
  if (beyond > 0 && !found.hits.empty()) {
    Hit& last = found.hits.back();
    last.tokens -= beyond;
    found.tokens[index(last.tier)] -= beyond;
  }
  if (found.below() < keeping_.load_min_tokens) found.keep_within(Tier::hbm);
  return found;
}

// Tokens that no turn has computed are not reusable history: a session's context is new to its first turn.
FoundParts ContextCache::find_seen(const Request& request) const {
  FoundParts found;
  int64_t& tokens = found.tokens[index(Tier::hbm)];
  for (const Item& part : request.text.prompt) {
    if (!parts_.workload->warm_start && !parts_.sessions->seen.contains(part.key)) {
      if (keeping_.match == Match::chunk) continue;
      break;
    }
    tokens += part.tokens;
  }
  tokens = std::min(tokens, request.history_tokens);
  return found;
}

bool ContextCache::is_loading(const FoundParts& found) const {
  return keeping_.exact && std::any_of(found.hits.begin(), found.hits.end(), [&](const Hit& hit) {
           return hit.tier != Tier::hbm && loading_.find(hit.key) > 0;
         });
}

std::array<int64_t, kTiers.size()> ContextCache::found_tokens(const TurnText& text) const {
  FoundParts found = find_parts(*parts_.store, text.prompt, keeping_.match, 0, {}, Reach::own);
  if (!serving_.prefix_caching) return found.tokens;
  const int64_t most = text.history_tokens + text.input_tokens - 1;
  int64_t& on_gpu = found.tokens[index(Tier::hbm)];
  int64_t twice = std::max<int64_t>(0, pool_.find(chain_of(text), most).tokens - on_gpu);
  on_gpu += twice;
  // Tokens that are cached on the GPU and also stored in lower tiers count as GPU tokens only. They are the
  // first tokens of the hits.
  for (const Hit& hit : found.hits) {
    if (hit.tier == Tier::hbm) continue;
    const int64_t both = std::min(twice, hit.tokens);
    found.tokens[index(hit.tier)] -= both;
    twice -= both;
  }
  return found.tokens;
}

// ---- uses ----

// Touches the parts from last to first. The last part of a prompt is then evicted before the others, which
// stay usable without it.
void ContextCache::use(Request& request, Order now) {
  for (const Part& part : request.text.prompt) parts_.store->pin(part.key);
  const bool again = std::exchange(request.used_tiers, true);
  for (auto part = request.text.prompt.rbegin(); part != request.text.prompt.rend(); ++part) {
    parts_.store->touch(part->key, now, again);
  }
}

void ContextCache::release(const Request& request) {
  for (const Part& part : request.text.prompt) parts_.store->unpin(part.key);
}

void ContextCache::weigh(const Request& request) {
  if (!keeping_.weighs) return;
  for (const Part& part : request.text.prompt) {
    if (part.tokens == 0) continue;
    ChunkScore& score = parts_.sessions->scores[part.key];
    const PartUse use = engine_.policy->use({part.node_tokens, part.first_token, part.tokens});
    score.use(engine_.policy->weight(use));
    parts_.store->weigh(part.key, score.value());
  }
}

void ContextCache::load(Request& request, const FoundParts& found) {
  for (const Hit& hit : found.hits) {
    if (hit.tier == Tier::hbm) continue;
    request.loads.push_back(hit.key);
    loading_.set(hit.key, loading_.find(hit.key) + 1);
  }
}

void ContextCache::loaded(Request& request) {
  for (Key key : std::exchange(request.loads, {})) {
    const uint32_t left = loading_.find(key) - 1;
    left > 0 ? loading_.set(key, left) : loading_.erase(key);
  }
}

std::vector<Move> ContextCache::promote(const FoundParts& found, Order now) {
  std::vector<Move> moves;
  for (const Hit& hit : found.hits) {
    if (hit.tier == Tier::hbm) continue;
    for (Move& move : parts_.store->promote(hit.key, now)) moves.push_back(std::move(move));
  }
  return moves;
}

// Returns whether the request's prefetch may begin, and counts its tokens toward the prefetch capacity. As in
// HiCache (prefetch_from_storage), these are all prompt tokens that neither the GPU nor DRAM holds, even
// those that no farther tier holds.
bool ContextCache::begin_prefetch(Request& request) {
  const std::optional<int64_t>& capacity = keeping_.prefetch_capacity_tokens;
  if (keeping_.prefetch_min_tokens <= 1 && !capacity) return true;
  if (capacity && prefetching_tokens_ >= *capacity) return false;
  const int64_t resident = find(request).resident;
  const FoundParts found = find_parts(*parts_.store, request.text.prompt, keeping_.match, resident, ends_);
  int64_t near = resident, farther = 0;
  for (const Hit& hit : found.hits) {
    farther += hit.tier > Tier::dram ? hit.tokens : 0;
    near += farther == 0 ? hit.tokens : 0;
  }
  if (farther < keeping_.prefetch_min_tokens) return false;
  request.prefetching_tokens = request.prompt_tokens() - near;
  prefetching_tokens_ += request.prefetching_tokens;
  return true;
}

std::vector<Move> ContextCache::prefetch(Request& request, Order now) {
  std::vector<Move> moves;
  // Parts that are stored already are needed together with the prefetched ones, so they are pinned and become
  // equally recent.
  for (const Part& part : request.text.prompt) parts_.store->pin(part.key);
  for (auto part = request.text.prompt.rbegin(); part != request.text.prompt.rend(); ++part) {
    parts_.store->touch(part->key, now, true);
  }
  const bool begins = begin_prefetch(request);
  for (const Part& part : request.text.prompt) {
    if (!begins) break;
    const std::optional<Hit> hit = parts_.store->find(part.key);
    if (!hit && keeping_.match != Match::chunk) break;
    if (!hit || hit->tier <= Tier::dram || parts_.store->fetching(part.key)) continue;
    for (Move& move : parts_.store->prefetch(part.key, now)) moves.push_back(std::move(move));
  }
  for (const Part& part : request.text.prompt) parts_.store->unpin(part.key);
  return moves;
}

bool ContextCache::lies_farther(const Request& request) const {
  const FoundParts found =
      find_parts(*parts_.store, request.text.prompt, keeping_.match, find(request).resident, ends_);
  return std::any_of(found.hits.begin(), found.hits.end(),
                     [](const Hit& hit) { return hit.tier > Tier::dram && hit.tokens > 0; });
}

bool ContextCache::prefetches(const Request& request) const {
  return std::any_of(request.text.prompt.begin(), request.text.prompt.end(),
                     [&](const Part& part) { return parts_.store->fetching(part.key); });
}

void ContextCache::cut(const Cut& cut, bool moved) {
  // This node does not know which tokens another node has added to the context.
  if (moved) parts_.store->erase(cut.key, Reach::own);
  if (cut.tokens > 0) {
    parts_.store->shrink(cut.key, cut.tokens);
  } else {
    parts_.store->erase(cut.key);
  }
}

// ---- saves ----

std::vector<Move> ContextCache::keep(const std::vector<Part>& parts, const Request& request, Order now) {
  for (const Part& part : parts) parts_.sessions->seen.insert(part.key);
  if (engine_.policy->traits().reuse == Reuse::everything) return {};
  if (keeping_.store_after_hits > 0) {
    for (const Part& part : parts) count_turn(part.key, request);
  }
  // With SaveAt::eviction, blocks are saved when the GPU evicts them.
  if (keeping_.save_at == SaveAt::eviction) {
    for (const Part& part : parts) {
      if (keeping_.soft_pins && part.shared) shared_.insert(part.key);
    }
    return {};
  }
  // Stores the last part first, as in use().
  std::vector<Item> last_first(parts.rbegin(), parts.rend());
  if (keeping_.store_after_hits > 0) {
    std::erase_if(last_first, [&](const Item& item) { return !is_worth_saving(item.key); });
  }
  return parts_.store->put(last_first, now);
}

void ContextCache::count_turn(Key key, const Request& request) {
  Left& left = left_[key];
  if (std::exchange(left.last, request.arrival.number) != request.arrival.number) ++left.turns;
}

// True iff more than store_after_hits turns have used the part, or it is already stored.
bool ContextCache::is_worth_saving(Key key) const {
  if (keeping_.store_after_hits == 0) return true;
  const auto left = left_.find(key);
  const int64_t turns = left == left_.end() ? 0 : left->second.turns;
  return turns > keeping_.store_after_hits || parts_.store->find(key);
}

int64_t ContextCache::tokens_before_save(const Request& request) const {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  if (keeping_.save_at != SaveAt::step || engine_.policy->traits().reuse != Reuse::stored) return kNone;
  if (request.unused_tokens > 0) return kNone;
  const int64_t next = next_save_tokens(request);
  if (!keeping_.save_generated && next > request.prompt_tokens()) return kNone;
  return std::max<int64_t>(1, next - request.computed);
}

std::vector<Move> ContextCache::save_progress(Request& request, Order now) {
  if (engine_.policy->traits().reuse != Reuse::stored || request.phase != RequestPhase::running) return {};
  int64_t tokens = request.computed;
  if (!keeping_.save_generated) tokens = std::min(tokens, request.prompt_tokens());
  tokens = tokens / save_unit_ * save_unit_;
  if (tokens <= request.saved_tokens || request.unused_tokens > 0) return {};
  request.saved_tokens = tokens;
  return keep(first_parts(request.text.runs, tokens), request, now);
}

// Returns the parts to store of the first `tokens` tokens of a sequence. With Match::chunk only whole pieces
// are stored, so a piece that extends beyond these tokens is left out.
std::vector<Part> ContextCache::first_parts(std::span<const SequenceRun> all, int64_t tokens) const {
  std::vector<SequenceRun> runs = first_tokens(all, tokens);
  if (keeping_.match == Match::chunk && !runs.empty() && runs.back().owner == TextOwner::piece &&
      runs.back().tokens < all[runs.size() - 1].tokens) {
    runs.pop_back();
  }
  return parts_of(runs, keeping_.chunk_tokens);
}

// Returns the parts that Sessions::close() would return, but without those of the answer.
std::vector<Part> ContextCache::prompt_parts(const Request& request) const {
  const Session& session = parts_.workload->sessions[request.arrival.session];
  if (!parts_.sessions->stores_own_text(request.arrival.session)) return {};
  std::span<const SequenceRun> runs = request.text.runs;
  if (!session.history_grows) runs = runs.first(request.text.history_runs);
  return first_parts(runs, request.prompt_tokens());
}

// Schedules a save of the part from its beginning to the end of the evicted blocks. The part's later blocks
// were evicted before, and its earlier blocks are still cached.
void ContextCache::note_evicted(const BlockRun& run) {
  const int64_t tokens = run.part_first + run.blocks * pool_.unit_tokens();
  if (is_worth_saving(run.part)) evicted_.push_back({run.part, tokens, shared_.contains(run.part)});
}

std::vector<Move> ContextCache::save_evicted(Order now) {
  if (evicted_.empty()) return {};
  return parts_.store->put(std::exchange(evicted_, {}), now);
}

}  // namespace kvcap
