#include "policy/table.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include "base/check.h"
#include "base/input_error.h"
#include "base/text/joined.h"

namespace kvcap {
namespace {

constexpr auto kAsIs = [](PolicyOptions&) {};

template <class T>
void prefer(std::optional<T>& option, T value) {
  if (!option) option = value;
}

constexpr auto kChunksAnywhere = [](PolicyOptions& options) { prefer(options.match, Match::chunk); };
constexpr auto kFullReuse = [](PolicyOptions& options) {
  prefer(options.match, Match::chunk);
  prefer(options.preload, Preload::layerwise);
};
constexpr auto kPrefixCaching = [](PolicyOptions& options) {
  prefer(options.match, Match::prefix);
  prefer(options.ideal_load, true);
};
constexpr auto kMapReduce = [](PolicyOptions& options) {
  prefer(options.match, Match::prefix);
  prefer(options.calls, Calls::map_reduce);
  prefer(options.map_tokens, kPolicyDefaults.map_tokens);
};
constexpr auto kMapRerank = [](PolicyOptions& options) {
  prefer(options.match, Match::prefix);
  prefer(options.calls, Calls::map_rerank);
  prefer(options.map_tokens, int64_t{8});
};
// HyperInfer's store, shared with its baselines: chunks of prefixes, all on SSD, with copies in the tiers
// above.
void prefer_chunks(PolicyOptions& options, EvictionKind eviction) {
  prefer(options.match, Match::prefix);
  prefer(options.chunk_tokens, kChunkTokens);
  prefer(options.eviction, eviction);
}
// The baselines load everything that at least one head finds important.
void prefer_all_keys(PolicyOptions& options) {
  prefer(options.identification, false);
  prefer(options.reorder, false);
  prefer(options.prefetch, false);
}

template <int kPercent>
constexpr auto kReserve = [](PolicyOptions& options) { prefer(options.reserved_windows, kPercent / 100.0); };

// ---- production stacks: defaults of their options ----

constexpr TierOptions kAllOfDram[] = {{.kind = Tier::dram}};
constexpr TierOptions kLmcacheTiers[] = {{.kind = Tier::dram, .capacity_per_gpu_bytes = 5368709120}};
constexpr TierOptions kHicacheTiers[] = {{.kind = Tier::dram, .capacity_over_gpu = 2}};
// KVBM's SSD filters by frequency: kvbm-guide.md@04521f4.
constexpr TierOptions kKvbmTiers[] = {{.kind = Tier::dram}, {.kind = Tier::ssd, .after_uses = 2}};
// vLLM's secondary tiers never evict: docs/features/kv_offloading_usage.md@0078e9d.
constexpr TierOptions kVllmOtherTiers[] = {{.kind = Tier::ssd, .eviction = EvictionKind::none},
                                           {.kind = Tier::remote, .eviction = EvictionKind::none},
                                           mooncake_store()};
constexpr TierOptions kSsdAndRemote[] = {{.kind = Tier::ssd}, {.kind = Tier::remote}, mooncake_store()};
constexpr int64_t kLmcacheChunkTokens = 256;
constexpr int64_t kHicacheLoadMinTokens = 10;
constexpr double kHicacheTimeout_s_per_token = 0.25 / 1024;

// Uses blocks of all layers, unless layers are loaded separately.
void prefer_cross_layer(PolicyOptions& options) {
  const bool by_layer = options.load == LoadMode::layerwise || options.preload == Preload::layerwise;
  if (!by_layer) prefer(options.block_layout, BlockLayout::cross_layer);
}

constexpr auto kVllmOffload = [](PolicyOptions& options) {
  prefer(options.save_at, SaveAt::step);
  prefer(options.save_generated, false);
  prefer(options.load, LoadMode::parked);
  prefer_cross_layer(options);
  prefer(options.write, WriteMode::through);
};
constexpr auto kLmcache = [](PolicyOptions& options) {
  prefer(options.chunk_tokens, kLmcacheChunkTokens);
  prefer(options.save_at, SaveAt::step);
  prefer(options.save_generated, false);
  prefer(options.load, LoadMode::blocking);
  prefer_cross_layer(options);
  prefer(options.write, WriteMode::through);
  prefer(options.eviction_unit, EvictionUnit::block);
};
constexpr auto kHicache = [](PolicyOptions& options) {
  prefer(options.write_policy, WritePolicy::write_through);
  prefer(options.load, LoadMode::layerwise);
  if (options.load == LoadMode::layerwise) prefer(options.preload, Preload::layerwise);
  prefer(options.write, WriteMode::through);
  prefer(options.prefetch_on_arrival, PrefetchOnArrival::best_effort);
  prefer(options.prefetch_timeout_s, 1.0);
  prefer(options.prefetch_timeout_s_per_token, kHicacheTimeout_s_per_token);
  prefer(options.loads_first_tier_only, true);
  prefer(options.load_min_tokens, kHicacheLoadMinTokens);
};
constexpr auto kKvbm = [](PolicyOptions& options) {
  prefer(options.save_at, SaveAt::step);
  prefer(options.load, LoadMode::parked);
  prefer(options.write, WriteMode::through);
};
constexpr auto kTrtllmOffload = [](PolicyOptions& options) {
  prefer(options.save_at, SaveAt::eviction);
  prefer(options.inclusive, false);
  prefer(options.load, LoadMode::blocking);
  prefer_cross_layer(options);
};

// Sets the two options that HiCache's write_policy stands for.
void settle_write_policy(PolicyOptions& options) {
  if (!options.write_policy) return;
  const bool back = *options.write_policy == WritePolicy::write_back;
  prefer(options.save_at, back ? SaveAt::eviction : SaveAt::step);
  prefer(options.store_after_hits,
         int64_t{*options.write_policy == WritePolicy::write_through_selective ? 1 : 0});
}

constexpr std::array kPolicies = {
    PolicyRow{"recompute", "keep nothing below the GPU: the engine and its own prefix cache", "nothing",
              "prefill of history and new tokens together",
              "wins when turns are short, storage is slow or dear, or the GPU has nothing else to do; loses "
              "as histories "
              "grow, since its work grows with their length and more",
              Keep::none, Restore::recompute, kAsIs},
    PolicyRow{"ideal", "all history on the GPU at no cost: the lower bound",
              "everything, in memory that costs nothing",
              "nothing to restore; only the new tokens are prefilled",
              "cannot be built; no lossless policy beats it, so it shows what a policy still loses",
              Keep::all, Restore::none, kAsIs},
    PolicyRow{"kv_offload", "keep KV in host tiers, load it back", "keys and values of every layer",
              "all layers loaded, then the new tokens prefilled; or layer by layer with preload: layerwise",
              "wins with fast links, and where KV is small (grouped-query attention, MLA); loses to hcache "
              "when KV is "
              "twice the hidden state and the link is the bottleneck",
              Keep::kv, Restore::load, kAsIs},
    PolicyRow{
        "cached_attention",
        "keep the KV of sessions in DRAM and SSD, fetch and evict by what waits in the queue",
        "keys and values of every layer, without positions",
        "layer by layer under the prefill of the new tokens; from DRAM, where look-ahead has fetched it",
        "wins where turns queue, so that the queue says what is needed next, and where DRAM is much faster "
        "than "
        "SSD; with an empty queue it is LRU, and with grouped queries or short histories there is little to "
        "hide",
        Keep::kv, Restore::load,
        [](PolicyOptions& options) {
          prefer(options.preload, Preload::layerwise);
          prefer(options.look_ahead, true);
          prefer(options.write, WriteMode::back);
          prefer(options.decoupled_positions, true);
          prefer(options.eviction, EvictionKind::next_use);
          prefer(options.eviction_unit, EvictionUnit::context);
        }},
    PolicyRow{
        "hcache", "keep hidden states, project them back to KV while loading",
        "hidden states of most layers, KV or tokens of the rest",
        "loads of one layer overlap the projection of the layer before; the rest is loaded as KV or "
        "recomputed so "
        "that link and GPU finish together",
        "wins with multi-head attention when link and GPU are balanced: half the bytes of KV, a sixth of "
        "recomputation's work; loses with grouped-query attention, where hidden states are larger than KV",
        Keep::hidden, Restore::project, kAsIs},
    PolicyRow{
        "cacheblend", "load chunks wherever they stand, compute a share of their tokens again",
        "keys and values of chunks, without positions (or their hidden states)",
        "the first layer computes all tokens, each later one a share of those found and all others, while "
        "the "
        "next layer's are loaded; the whole prompt is one pass",
        "wins where prompts are put together from texts that others use in another order; loses to "
        "prefix_caching where the order is always the same, to full_reuse where the order does not matter",
        Keep::kv, Restore::blend, kChunksAnywhere},
    PolicyRow{
        "prefix_caching", "load the leading chunks that stand as they stood before",
        "keys and values of every chunk, once for each text that stood before it",
        "the chunks up to the first that is missing are loaded, the rest is prefilled",
        "wins where prompts begin alike; loses where only the first chunk is found, and keeps many versions "
        "of the same chunk. As CacheBlend compares it: loading is free",
        Keep::kv, Restore::load, kPrefixCaching},
    PolicyRow{"full_reuse", "load chunks wherever they stand and take them as they are",
              "keys and values of chunks, without positions",
              "layer by layer under the prefill of what was not found, nothing computed again",
              "answers first of all that load; its answers suffer, for no chunk knows of those before it",
              Keep::kv, Restore::load, kFullReuse},
    PolicyRow{"map_reduce", "one call a chunk for a summary, one more over the summaries",
              "keys and values of chunks, each at the beginning of its own call",
              "each call loads its chunk; all arrive together, the last when the others have been answered. "
              "A summary "
              "has map_tokens tokens, the last call the summaries and the question as its prompt",
              "hardly ever: it generates a summary of every chunk before the answer begins", Keep::kv,
              Restore::load, kMapReduce},
    PolicyRow{"map_rerank", "one call a chunk, each with an answer and its score",
              "keys and values of chunks, each at the beginning of its own call",
              "each call loads its chunk, answers and scores; all arrive together. Which answer is picked, "
              "and so its "
              "first token, is known when the last has ended",
              "wins where answers are short and stand in one chunk; its answers suffer elsewhere", Keep::kv,
              Restore::load, kMapRerank},
    PolicyRow{
        "hyperinfer", "load only what the request attends to most of a shared prefix",
        "keys and values of every layer in chunks, the most important tokens first, and three heads' keys "
        "once more",
        "layer by layer: three heads' keys, then the keys and values of the tokens that they find important "
        "(of all heads' keys where they disagree); the other tokens take no part",
        "wins where long prefixes are shared and their KV lies on slow storage; its answers differ a little, "
        "and short prefixes or fast links leave nothing to save",
        Keep::kv, Restore::important,
        [](PolicyOptions& options) {
          prefer_chunks(options, EvictionKind::score);
          prefer(options.score, Score::importance);
        },
        "sorting and rewriting chunks every 10 minutes, which the paper does aside in less than a minute in "
        "all (IV-D1, VI-E): tokens are in order from the start and stay so, nothing is written for it; the "
        "look-up in mapping lists, under 2 % of the TTFT"},
    PolicyRow{"as_like", "load all of a shared prefix: HyperInfer's AS-like, without look-ahead",
              "keys and values of every layer in chunks",
              "layer by layer under the prefill of the new tokens",
              "lossless; loses to hyperinfer where loading takes longer than the prefill", Keep::kv,
              Restore::important,
              [](PolicyOptions& options) {
                prefer_chunks(options, EvictionKind::lru);
                prefer_all_keys(options);
                prefer(options.retention, 1.0);
              }},
    PolicyRow{"h2o_lru", "load all keys of a shared prefix, and the values that each head finds important",
              "keys and values of every layer in chunks",
              "layer by layer: all keys, then every head's own important values; HyperInfer's AS+H2O+LRU",
              "as hyperinfer, but all keys are loaded", Keep::kv, Restore::important,
              [](PolicyOptions& options) {
                prefer_chunks(options, EvictionKind::lru);
                prefer_all_keys(options);
              }},
    PolicyRow{"h2o_lfu", "h2o_lru with caches that keep what is used most often",
              "keys and values of every layer in chunks",
              "layer by layer: all keys, then every head's own important values; HyperInfer's AS+H2O+LFU",
              "as h2o_lru; better where the same prefixes stay popular", Keep::kv, Restore::important,
              [](PolicyOptions& options) {
                prefer_chunks(options, EvictionKind::score);
                prefer_all_keys(options);
                prefer(options.score, Score::frequency);
              }},
    PolicyRow{
        "adaptive", "keep what hcache would, choose turn by turn how it comes back",
        "hidden states of most layers, KV of the rest; KV alone where it is smaller",
        "leading layers recomputed, hidden states projected, KV loaded, or the whole history prefilled with "
        "the new tokens: whatever gives the first token first behind what links and GPU have to do",
        "wins where lengths or load vary, as long as the machine keeps up; once turns queue for memory "
        "kv_offload is ahead, for projecting takes GPU time and what is kept as hidden states cannot come "
        "back "
        "otherwise; keeps more bytes than hcache where that recomputes layers",
        Keep::hidden, Restore::fastest, kAsIs},
    PolicyRow{"npu_copy", "static-graph NPU: KV windows in place, copied with every token",
              "KV, in host tiers; of running sequences max_model_len slots in one piece",
              "KV copied into the window, then the new tokens prefilled",
              "the least memory of the three; each decoded token reads and writes the whole window", Keep::kv,
              Restore::copy, kReserve<100>},
    PolicyRow{"npu_reserve_2x", "static-graph NPU: buffers of two windows, never copied within one",
              "KV, in host tiers; of running sequences 2 (max_model_len - 1) slots in one piece",
              "KV copied into the window, then the new tokens prefilled",
              "the fastest decode of the three, at twice the memory; impractical where models are large",
              Keep::kv, Restore::copy, kReserve<200>},
    PolicyRow{"npu_reserve_1_5x", "static-graph NPU: buffers of one and a half windows, seldom copied",
              "KV, in host tiers; of running sequences 1.5 (max_model_len - 1) slots in one piece",
              "KV copied into the window, then the new tokens prefilled",
              "the compromise: an answer longer than half a window pauses for one copy", Keep::kv,
              Restore::copy, kReserve<150>},
    PolicyRow{
        "vllm_offload", "vLLM's offloading connector: every full block of a prompt is copied to DRAM",
        "keys and values of prompts in blocks of the engine's, of all layers",
        "blocks beyond the GPU's own hits are loaded while the request is parked and others run",
        "wins where DRAM holds much more than the GPU's prefix cache; costs a little where nothing comes "
        "back, and answers are computed again (save_generated)",
        Keep::kv, Restore::load, kVllmOffload,
        "the eviction order arc, a load timeout, transfers between instances", kAllOfDram, kVllmOtherTiers},
    PolicyRow{
        "lmcache", "LMCache in vLLM's process: full chunks of 256 tokens of a prompt, 5 GiB a GPU",
        "keys and values of prompts in chunks, of all layers",
        "loaded before the step in which the request begins, for which all requests of it wait (load: "
        "parked is enable_async_loading)",
        "as vllm_offload, with farther tiers behind DRAM; its default of 5 GiB a GPU holds little, and "
        "what is beyond the last full chunk is computed again",
        Keep::kv, Restore::load, kLmcache,
        "CacheGen's compression, lazy offload, chunks that overlap what the GPU has (loaded as a whole), "
        "its multi-process mode",
        kLmcacheTiers, kSsdAndRemote},
    PolicyRow{
        "hicache", "SGLang's HiCache: a host cache of twice the GPU's behind the radix tree",
        "keys and values of every layer, answers included",
        "from DRAM layer by layer under the prefill; from farther tiers only what was prefetched to DRAM "
        "while the request was queued",
        "wins where contexts come back soon and the host cache holds them; as tiers are inclusive the "
        "largest alone counts. With best_effort and an empty queue nothing comes from farther tiers",
        Keep::kv, Restore::load, kHicache,
        "prefetches of less than 256 tokens (not made there), the half of the host cache that prefetches "
        "may take, host copies that stay while the GPU has its own, blocking copies of write_back",
        kHicacheTiers, kSsdAndRemote},
    PolicyRow{
        "kvbm", "Dynamo's KVBM: blocks go to DRAM when they are full, to SSD when they are used again",
        "keys and values of every layer, answers included",
        "loaded between two passes while others run; load: layerwise is its intra-pass onboarding",
        "wins where some contexts come back often: the filter spares the SSD what is used once. DRAM has "
        "to be larger than the GPU's cache and SSD larger than DRAM",
        Keep::kv, Restore::load, kKvbm, "the decay of its frequencies, four transfers of 16 blocks at a time",
        kKvbmTiers},
    PolicyRow{
        "trtllm_offload", "TensorRT-LLM's host cache: what the GPU evicts, until it is needed again",
        "keys and values that the GPU has evicted, which move back up",
        "copied back before the step that uses them, for which all wait",
        "wins where DRAM is not much larger than the GPU's cache: tiers exclude each other, so that their "
        "sizes add up",
        Keep::kv, Restore::load, kTrtllmOffload,
        "priorities in the host cache: all blocks have the default of 35, which is offloaded "
        "(serving.retain_first_tokens is a higher one in the GPU's cache)",
        kAllOfDram},
};

constexpr auto kNames = [] {
  std::array<std::string_view, kPolicies.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kPolicies[i].name;
  return names;
}();

constexpr Keep kNone[] = {Keep::none};
constexpr Keep kAll[] = {Keep::all};
constexpr Keep kKv[] = {Keep::kv};
constexpr Keep kHidden[] = {Keep::hidden};
constexpr Keep kKvOrHidden[] = {Keep::kv, Keep::hidden};

constexpr double kImportantShare = 0.25;  // HyperInfer VI-B; COPA 0.5
constexpr auto kImportant = [](PolicyOptions& options) {
  prefer(options.retention, kImportantShare);
  prefer(options.identification, true);
  prefer(options.reorder, true);
  prefer(options.prefetch, true);
};

constexpr std::array kRestorations = {
    RestoreRow{Restore::none, "nothing has to come back", kAll, kAsIs, make_ideal},
    RestoreRow{Restore::recompute, "the whole prompt is prefilled", kNone, kAsIs, make_recompute},
    RestoreRow{Restore::load, "KV of every layer is loaded, with preload: layerwise under the prefill", kKv,
               kAsIs, make_kv_offload},
    RestoreRow{Restore::copy, "KV is copied into the window of a static graph (npu_*)", kKv, kAsIs,
               make_npu_buffers},
    RestoreRow{Restore::project, "hidden states are loaded and projected, layers divided by split (hcache)",
               kHidden, kAsIs, make_hcache, true},
    RestoreRow{Restore::fastest, "turn by turn the first of recomputing, projecting and loading (adaptive)",
               kKvOrHidden, kAsIs, make_adaptive, true},
    RestoreRow{Restore::blend, "layers are loaded and a share of the tokens computed again (cacheblend)",
               kKvOrHidden, kAsIs, make_cacheblend, true},
    RestoreRow{Restore::important, "what the turn attends to most is loaded (hyperinfer)", kKv, kImportant,
               make_hyperinfer},
};
static_assert(kRestorations.size() == kRestoreNames.size());

// Returns the loss of quality from calls about single chunks, and from chunks that are used unchanged.
std::string reuse_note(const PolicyOptions& options) {
  switch (options.calls.value_or(Calls::single)) {
    case Calls::map_reduce:
      return "answers from summaries of single chunks: F1 below cacheblend's (CacheBlend 7.2)";
    case Calls::map_rerank:
      return "answers from single chunks: much worse than cacheblend's (CacheBlend 7.2)";
    case Calls::single:
      break;
  }
  const bool as_they_are = stores(options) && options.restore != Restore::blend;
  if (options.match != Match::chunk || !as_they_are) return "";
  return "chunks take no notice of what stands before them: F1 or Rouge-L 0.15 to 0.35 below "
         "cacheblend's (CacheBlend 7)";
}

constexpr Restore own_restoration(Keep keep) {
  switch (keep) {
    case Keep::none:
      return Restore::recompute;
    case Keep::kv:
      return Restore::load;
    case Keep::hidden:
      return Restore::project;
    case Keep::all:
      break;
  }
  return Restore::none;
}

}  // namespace

std::span<const PolicyRow> policy_table() { return kPolicies; }
std::span<const std::string_view> policy_names() { return kNames; }

const PolicyRow& policy_row(std::string_view name) {
  for (const PolicyRow& row : kPolicies) {
    if (row.name == name) return row;
  }
  KVCAP_BUG("a policy that is not in the table");
}

std::span<const RestoreRow> restore_table() { return kRestorations; }
const RestoreRow& restore_row(Restore restore) { return kRestorations[static_cast<std::size_t>(restore)]; }

PolicyOptions with_preset(PolicyOptions options) {
  const PolicyRow& row = policy_row(options.name);
  // Another form needs another restoration, so that setting keep is enough.
  if (options.keep && !goes_together(*options.keep, options.restore.value_or(row.restore))) {
    prefer(options.restore, own_restoration(*options.keep));
  }
  prefer(options.keep, row.keep);
  prefer(options.restore, row.restore);
  if (options.load == LoadMode::layerwise) prefer(options.preload, Preload::layerwise);
  settle_write_policy(options);  // options of the user take precedence over the preset
  row.preset(options);
  settle_write_policy(options);
  restore_row(*options.restore).preset(options);
  prefer(options.inclusive, kPolicyDefaults.inclusive);
  prefer(options.write, kPolicyDefaults.write);
  const bool keeps_chunks = options.chunk_tokens || options.match == Match::chunk;
  prefer(options.eviction_unit, keeps_chunks ? EvictionUnit::context : kPolicyDefaults.eviction_unit);
  return options;
}

bool goes_together(Keep keep, Restore restore) {
  const std::span<const Keep> keeps = restore_row(restore).keeps;
  return std::find(keeps.begin(), keeps.end(), keep) != keeps.end();
}

std::optional<std::vector<TierOptions>> preset_tiers(std::string_view name,
                                                     const std::function<bool(Tier)>& has) {
  const std::span<const TierOptions> tiers = policy_row(name).tiers;
  if (tiers.empty()) return {};
  std::vector<TierOptions> there;
  std::copy_if(tiers.begin(), tiers.end(), std::back_inserter(there),
               [&](const TierOptions& one) { return has(one.kind); });
  return there;
}

bool stores(const PolicyOptions& options) { return options.keep == Keep::kv || options.keep == Keep::hidden; }

std::string policy_summary(const PolicyOptions& options) {
  const PolicyRow& row = policy_row(options.name);
  std::string summary(row.summary);
  std::string instead;
  if (options.keep != row.keep) instead += "keep " + std::string(name(*options.keep));
  if (options.restore != row.restore) {
    instead += (instead.empty() ? "" : ", ") + ("restore " + std::string(name(*options.restore)));
  }
  return instead.empty() ? summary : summary + " (but " + instead + ")";
}

std::string quality_note(const PolicyOptions& options, const Policy& policy) {
  return joined_notes(reuse_note(options), policy.traits().quality_note);
}

std::unique_ptr<Policy> make_policy(const PolicyInputs& inputs) {
  const PolicyOptions& options = inputs.options;
  KVCAP_CHECK(goes_together(*options.keep, *options.restore));
  if (stores(options) && inputs.planned.empty()) {
    throw InputError("policy.tiers: found no host tier, but " + options.name + " needs one of " +
                     joined(kHostNames));
  }
  return restore_row(*options.restore).make(inputs);
}

}  // namespace kvcap
