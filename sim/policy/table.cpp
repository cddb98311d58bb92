#include "policy/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include "base/check.h"
#include "base/input_error.h"
#include "base/text/joined.h"
#include "policy/blend.h"

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
// Options of HyperInfer's baselines, which load everything that is important to at least one head.
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
// The server's L1 (its DRAM) has no default size. When more than 80 % of it is full, it evicts 20 % of its
// keys: mp/configuration.rst@0039822.
constexpr TierOptions kLmcacheMpTiers[] = {{.kind = Tier::dram, .evict_at = 0.8, .evict_share = 0.16}};
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
// SGLang's defaults since April 2026: sglang#23309.
constexpr double kHicacheTimeout_s = 2;
constexpr double kHicacheTimeout_s_per_token = 0.1 / 1024;
constexpr double kHicacheTimeoutMax_s = 30;
// cache_controller.py (prefetch_threshold, prefetch_capacity_limit).
constexpr int64_t kHicachePrefetchMinTokens = 256;
constexpr double kHicachePrefetchShare = 0.8;

// Uses blocks of all layers, unless layers are loaded separately.
void prefer_cross_layer(PolicyOptions& options) {
  const bool by_layer = options.load == LoadMode::layerwise || options.preload == Preload::layerwise;
  if (!by_layer) prefer(options.block_layout, BlockLayout::cross_layer);
}

constexpr auto kVllmOffload = [](PolicyOptions& options) {
  prefer(options.save_at, SaveAt::step);
  prefer(options.save_generated, false);
  prefer(options.load, LoadMode::parked);
  prefer(options.polled_loads, true);
  prefer(options.prefetch_on_arrival, PrefetchOnArrival::at_lookup);
  prefer(options.loads_first_tier_only, options.prefetch_on_arrival == PrefetchOnArrival::at_lookup);
  prefer_cross_layer(options);
  prefer(options.write, WriteMode::through);
};
constexpr auto kLmcache = [](PolicyOptions& options) {
  prefer(options.chunk_tokens, kLmcacheChunkTokens);
  prefer(options.save_at, SaveAt::step);
  prefer(options.save_generated, false);
  prefer(options.load, LoadMode::blocking);
  prefer(options.polled_loads, true);
  prefer_cross_layer(options);
  prefer(options.write, WriteMode::through);
  prefer(options.eviction_unit, EvictionUnit::block);
};
// A lookup starts the prefetch from farther tiers and is polled by the scheduler; lmcache.mp.eager_prefetch
// starts it when the request arrives (prefetch_on_arrival: wait).
constexpr auto kLmcacheMp = [](PolicyOptions& options) {
  prefer(options.chunk_tokens, kLmcacheChunkTokens);
  prefer(options.save_at, SaveAt::step);
  prefer(options.save_generated, false);
  prefer(options.load, LoadMode::parked);
  prefer(options.polled_loads, true);
  prefer(options.prefetch_on_arrival, PrefetchOnArrival::at_lookup);
  prefer(options.loads_first_tier_only, true);
  prefer_cross_layer(options);
  prefer(options.write, WriteMode::through);
  prefer(options.eviction, EvictionKind::lru);
  prefer(options.eviction_unit, EvictionUnit::block);
};
constexpr auto kHicache = [](PolicyOptions& options) {
  prefer(options.write_policy, WritePolicy::write_through);
  // Copies that the scheduler itself enqueues have ended when the step begins.
  prefer(options.load, options.load_enqueue_s.value_or(0) > 0 ? LoadMode::blocking : LoadMode::layerwise);
  if (options.load == LoadMode::layerwise) prefer(options.preload, Preload::layerwise);
  prefer(options.write, WriteMode::through);
  prefer(options.prefetch_on_arrival, PrefetchOnArrival::timeout);
  prefer(options.prefetch_timeout_s, kHicacheTimeout_s);
  prefer(options.prefetch_timeout_s_per_token, kHicacheTimeout_s_per_token);
  prefer(options.prefetch_timeout_max_s, kHicacheTimeoutMax_s);
  prefer(options.prefetch_min_tokens, kHicachePrefetchMinTokens);
  prefer(options.prefetch_capacity_share, kHicachePrefetchShare);
  prefer(options.loads_first_tier_only, true);
  prefer(options.load_min_tokens, kHicacheLoadMinTokens);
};
constexpr auto kKvbm = [](PolicyOptions& options) {
  prefer(options.save_at, SaveAt::step);
  prefer(options.load, LoadMode::parked);
  prefer(options.polled_loads, true);
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
    PolicyRow{"recompute", "keep nothing below the GPU: only the engine's own prefix cache reuses state",
              "nothing", "prefill of history and new tokens together",
              "wins with short turns, slow or expensive storage, or an idle GPU; loses with long histories, "
              "because its work grows faster than their length",
              Keep::none, Restore::recompute, kAsIs},
    PolicyRow{
        "ideal", "all history on the GPU at no cost: a bound on the cost of loads",
        "everything, in memory without cost", "no restoration; only the new tokens are prefilled",
        "bounds loads under the engine's own schedule; a policy that computes restored prompts in steps of "
        "their own (preload: layerwise) may have a lower TTFT",
        Keep::all, Restore::none, kAsIs},
    PolicyRow{"kv_offload", "keep KV in host tiers and load it", "keys and values of every layer",
              "loads the KV of all layers, then prefills the new tokens; preload: layerwise overlaps the "
              "two, layer by layer",
              "wins with fast links, and where KV is small (grouped-query attention, MLA); loses to hcache "
              "when KV is twice the hidden state and the link is the bottleneck",
              Keep::kv, Restore::load, kAsIs},
    PolicyRow{
        "cached_attention",
        "keep the KV of sessions in DRAM and SSD; prefetch and evict by the waiting queue",
        "keys and values of every layer, without positions",
        "layer by layer during the prefill of the new tokens, from DRAM, into which "
        "look-ahead has prefetched it",
        "wins with a waiting queue, which reveals the next uses, and with DRAM much faster than SSD; with an "
        "empty queue it evicts by LRU, and with grouped queries or short histories loads are short anyway",
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
        "hcache", "keep hidden states and project them to KV while loading",
        "hidden states of most layers, KV or tokens of the rest",
        "loads a layer while the layer before is projected; other layers are loaded as KV or recomputed, so "
        "that link and GPU finish together",
        "wins with multi-head attention and a balance of link and GPU: half the bytes of KV, a sixth of the "
        "work of recomputation; loses with grouped-query attention, where hidden states are larger than KV",
        Keep::hidden, Restore::project, kAsIs},
    PolicyRow{"cacheblend", "load chunks at any position and recompute a share of their tokens",
              "keys and values of chunks, without positions (or their hidden states)",
              "the first layer computes all tokens, later layers compute a share of the hits and all other "
              "tokens, while the next layer is loaded; one pass over the whole prompt",
              "wins with prompts that combine shared texts in different orders; loses to prefix_caching if "
              "the order is always the same, and to full_reuse if quality does not depend on it",
              Keep::kv, Restore::blend, kChunksAnywhere},
    PolicyRow{"prefix_caching", "load the leading chunks with an unchanged prefix",
              "keys and values of every chunk, once per prefix",
              "loads the chunks up to the first miss and prefills the rest",
              "wins with common prefixes; loses if only the first chunk is a hit, and keeps many versions of "
              "a chunk. As in CacheBlend's comparison, loading is free",
              Keep::kv, Restore::load, kPrefixCaching},
    PolicyRow{"full_reuse", "load chunks at any position and use them unchanged",
              "keys and values of chunks, without positions",
              "layer by layer during the prefill of the other tokens, without recomputation",
              "the fastest policy that loads; answers are worse, because each chunk was computed without the "
              "chunks before it",
              Keep::kv, Restore::load, kFullReuse},
    PolicyRow{"map_reduce", "one call per chunk for a summary, and one over the summaries",
              "keys and values of chunks, each computed in a separate call without the chunks before it",
              "each call loads its chunk. The calls for the chunks arrive together, and the last call "
              "arrives after their answers. A summary has map_tokens tokens; the prompt of the last call "
              "consists of the summaries and the question",
              "rarely wins: it generates a summary of every chunk before the answer", Keep::kv, Restore::load,
              kMapReduce},
    PolicyRow{"map_rerank", "one call per chunk, each with an answer and its score",
              "keys and values of chunks, each computed in a separate call without the chunks before it",
              "each call loads its chunk, answers, and scores its answer. The calls arrive together; the "
              "chosen answer, and with it the first token, is known when the last call has ended",
              "wins with short answers that one chunk contains; other answers are worse", Keep::kv,
              Restore::load, kMapRerank},
    PolicyRow{"hyperinfer", "load only the tokens of a shared prefix that the request attends to most",
              "keys and values of every layer in chunks, the most important tokens first, and a copy of "
              "three heads' keys",
              "layer by layer: three heads' keys, then keys and values of the tokens that these identify as "
              "important (from all heads' keys if the three disagree); other tokens are not used",
              "wins with long shared prefixes on slow storage; answers differ slightly, and short prefixes "
              "or fast links leave nothing to save",
              Keep::kv, Restore::important,
              [](PolicyOptions& options) {
                prefer_chunks(options, EvictionKind::score);
                prefer(options.score, Score::importance);
              },
              "sorting and rewriting of chunks every 10 minutes, which takes less than a minute in the "
              "background in the paper (IV-D1, VI-E): tokens are always in order; the look-up in mapping "
              "lists, under 2 % of the TTFT"},
    PolicyRow{"as_like", "load all of a shared prefix: HyperInfer's AS-like, without look-ahead",
              "keys and values of every layer in chunks",
              "layer by layer during the prefill of the new tokens",
              "lossless; loses to hyperinfer if loading takes longer than the prefill", Keep::kv,
              Restore::important,
              [](PolicyOptions& options) {
                prefer_chunks(options, EvictionKind::lru);
                prefer_all_keys(options);
                prefer(options.retention, 1.0);
              }},
    PolicyRow{
        "h2o_lru", "load all keys of a shared prefix, and the values of each head's important tokens",
        "keys and values of every layer in chunks",
        "layer by layer: all keys, then the values of each head's important tokens; HyperInfer's AS+H2O+LRU",
        "as hyperinfer, but it loads all keys", Keep::kv, Restore::important,
        [](PolicyOptions& options) {
          prefer_chunks(options, EvictionKind::lru);
          prefer_all_keys(options);
        }},
    PolicyRow{
        "h2o_lfu", "h2o_lru with LFU caches", "keys and values of every layer in chunks",
        "layer by layer: all keys, then the values of each head's important tokens; HyperInfer's AS+H2O+LFU",
        "as h2o_lru; better if the same prefixes stay popular", Keep::kv, Restore::important,
        [](PolicyOptions& options) {
          prefer_chunks(options, EvictionKind::score);
          prefer_all_keys(options);
          prefer(options.score, Score::frequency);
        }},
    PolicyRow{"adaptive", "keep what hcache keeps, and choose the restoration of each turn",
              "hidden states of most layers, KV of the rest; only KV if it is smaller",
              "recomputes first layers, projects hidden states, loads KV, or prefills the whole history with "
              "the new tokens: the fastest, given the work that links and GPU already have",
              "wins with varying lengths or load on a stable machine; if turns queue for memory, kv_offload "
              "wins, because projection takes GPU time and hidden states have no other restoration; keeps "
              "more bytes than hcache if that recomputes layers",
              Keep::hidden, Restore::fastest, kAsIs},
    PolicyRow{"npu_copy", "static-graph NPU: KV windows without reserve, copied with every token",
              "KV in host tiers; running sequences have contiguous buffers of max_model_len slots",
              "copies KV into the window, then prefills the new tokens",
              "the least memory of the npu policies; each decoded token reads and writes the whole window",
              Keep::kv, Restore::copy, kReserve<100>},
    PolicyRow{"npu_reserve_2x", "static-graph NPU: buffers of two windows, without copies",
              "KV in host tiers; running sequences have contiguous buffers of 2 (max_model_len - 1) slots",
              "copies KV into the window, then prefills the new tokens",
              "the fastest decode of the npu policies, with twice the memory; impractical for large models",
              Keep::kv, Restore::copy, kReserve<200>},
    PolicyRow{"npu_reserve_1_5x", "static-graph NPU: buffers of one and a half windows, rarely copied",
              "KV in host tiers; running sequences have contiguous buffers of 1.5 (max_model_len - 1) slots",
              "copies KV into the window, then prefills the new tokens",
              "a compromise: an answer longer than half a window pauses for one copy", Keep::kv,
              Restore::copy, kReserve<150>},
    PolicyRow{
        "vllm_offload", "vLLM's offloading connector: every full block of a prompt is copied to DRAM",
        "keys and values of prompts in the engine's blocks, with all layers",
        "loads the blocks that the GPU does not have, while the request is parked and other requests run",
        "wins if DRAM holds much more than the GPU's prefix cache; costs little without hits; answers "
        "are recomputed (save_generated)",
        Keep::kv, Restore::load, kVllmOffload,
        "a load timeout, transfers between instances; SimpleCPUOffloadConnector's lazy_offload copies blocks "
        "some steps before the GPU evicts them, but save_at: eviction copies them when the GPU evicts them",
        kAllOfDram, kVllmOtherTiers,
        "vllm docs/features/kv_offloading_usage.md@0078e9d, v1/kv_offload/cpu/manager.py@0358cbb, "
        "tiering/manager.py@030ea52, offloading/scheduler.py@0072b0b, "
        "v1/simple_kv_offload/manager.py@0268d82",
        "loads of 10,000 to 100,000 tokens on an H100 (vLLM's blog): TTFT within 6 %; throughput 30 to 82 % "
        "too high at hit rates of 50 to 90 % (the order of hits is not published). llm-d on 16 H100s: mean "
        "TTFT of a DRAM tier 13 to 60 % off at 5 to 40 requests/s, throughput within 11 %. Secondary tiers, "
        "SimpleCPUOffloadConnector: no published runs",
        EngineVersion{0, 25}},  // the first known release with tiering/async_lookup.py
    PolicyRow{"lmcache", "LMCache in vLLM's process: full chunks of 256 prompt tokens, 5 GiB per GPU",
              "keys and values of prompts in chunks, with all layers",
              "loads before the step in which the request begins; all requests of the step wait "
              "(enable_async_loading corresponds to load: parked)",
              "as vllm_offload, with farther tiers below DRAM; its default of 5 GiB per GPU holds little, "
              "and tokens after the last full chunk are recomputed",
              Keep::kv, Restore::load, kLmcache,
              "CacheGen's compression, lazy offload, chunks that overlap the GPU's blocks (loaded as a "
              "whole)",
              kLmcacheTiers, kSsdAndRemote,
              "LMCache configurations.rst@0223da8, async_loading.rst@19e9790, vllm_v1_adapter.py@0043281",
              "two vLLM 0.13 servers with one store (LLMServingSim): token hit rates within 1.5 percentage "
              "points. Times are not compared, because no published run states its servers and arrivals"},
    PolicyRow{"lmcache_mp",
              "LMCache as a server of its own: chunks of 256 prompt tokens in its DRAM, asynchronous loads",
              "keys and values of prompts in chunks, with all layers",
              "loads from the server's DRAM while the request is parked and other requests run; farther "
              "tiers are prefetched to DRAM from the lookup on, or from the arrival (prefetch_on_arrival: "
              "wait is lmcache.mp.eager_prefetch)",
              "as lmcache, but loads stop no other request; a fifth of its DRAM stays free for new chunks. "
              "Tokens after the last full chunk are recomputed",
              Keep::kv, Restore::load, kLmcacheMp,
              "one L1 shared by several engines of a node: here each engine has its own share and finds only "
              "its own chunks (a remote tier with fleet.shared_remote is one store of all); the deletion of "
              "prefetched chunks after their use; the step that each lookup without a farther tier takes; "
              "lazy offload, P2P, compression",
              kLmcacheMpTiers, kSsdAndRemote,
              "LMCache docs/source/mp/configuration.rst@0039822, mp/architecture.rst@009ccdf, "
              "lmcache_mp_connector.py@0039822, eviction_controller.py@064b347; vLLM's default for "
              "--kv-offloading-backend lmcache since 0.23 (vllm#42865)",
              "not compared with any run"},
    PolicyRow{
        "hicache", "SGLang's HiCache: a host cache of twice the GPU's cache below the radix tree",
        "keys and values of every layer, answers included",
        "from DRAM layer by layer during the prefill; from farther tiers only if prefetched to DRAM "
        "while the request waits",
        "wins if contexts return soon and the host cache holds them; tiers are inclusive, so that only "
        "the largest counts. Requests wait for a prefetch; with best_effort and an empty queue, "
        "farther tiers have no hits",
        Keep::kv, Restore::load, kHicache,
        "host copies that stay while the GPU has its own, blocking copies of write_back", kHicacheTiers,
        kSsdAndRemote,
        "sglang server_arguments.md@004813e, hiradix_cache.py@263bc85, sglang#23309 (April 2026)",
        "tiers rank by TTFT as in the measurements. Qwen3-8B on an A100-40GB with Mooncake and SSDs: mean "
        "TTFT 2 to 13 % too short (its attention is fitted to the run without a host cache); Qwen3-14B on "
        "two A10 1 to 31 % too long, with a filled store 85 % too short (GPU from a data sheet)"},
    PolicyRow{"kvbm",
              "Dynamo's KVBM: full blocks go to DRAM, and to SSD at their second use",
              "keys and values of every layer, answers included",
              "loads between two passes while other requests run; load: layerwise corresponds to its "
              "intra-pass onboarding",
              "wins if some contexts return often: the SSD does not get contexts that are used once. DRAM "
              "has to be larger than the GPU's cache, and SSD larger than DRAM",
              Keep::kv,
              Restore::load,
              kKvbm,
              "the decay of its frequencies, four transfers of 16 blocks at a time",
              kKvbmTiers,
              {},
              "dynamo docs/components/kvbm/kvbm-guide.md@04521f4, block_manager/offload.rs@003b9e2",
              "Qwen3-8B on an H100 with 50 GiB of DRAM (dynamo#4774): TTFT 17 % too long without a disk; its "
              "disk is not comparable"},
    PolicyRow{"trtllm_offload",
              "TensorRT-LLM's host cache: blocks that the GPU evicts, until their next use",
              "keys and values that the GPU has evicted; a use moves them back",
              "copies them back before the step that uses them; all requests of the step wait",
              "wins if DRAM is not much larger than the GPU's cache: tiers are exclusive, so that their "
              "sizes add up",
              Keep::kv,
              Restore::load,
              kTrtllmOffload,
              "priorities in the host cache, whose blocks leave in LRU order (serving.retention sets those "
              "of the GPU's cache, and which blocks are offloaded)",
              kAllOfDram,
              {},
              "TensorRT-LLM docs/source/features/kvcache.md@0076e93, "
              "paged-attention-ifb-scheduler.md@0c6a62a",
              "the host cache is not compared, because NVIDIA's runs do not state their prompts; the engine "
              "alone: median TPOT error of 7 % over 346 closed-loop points"},
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
    RestoreRow{Restore::none, "no restoration; contexts stay on the GPU", kAll, kAsIs, make_ideal},
    RestoreRow{Restore::recompute, "prefills the whole prompt", kNone, kAsIs, make_recompute},
    RestoreRow{Restore::load, "loads KV of every layer; with preload: layerwise during the prefill", kKv,
               kAsIs, make_kv_offload},
    RestoreRow{Restore::copy, "copies KV into the window of a static graph (npu_*)", kKv, kAsIs,
               make_npu_buffers},
    RestoreRow{Restore::project, "loads and projects hidden states; split divides the layers (hcache)",
               kHidden, kAsIs, make_hcache, true},
    RestoreRow{Restore::fastest,
               "the fastest of recomputing, projecting and loading for each turn (adaptive)", kKvOrHidden,
               kAsIs, make_adaptive, true},
    RestoreRow{Restore::blend, "loads layers and recomputes a share of the tokens (cacheblend)", kKvOrHidden,
               kAsIs, make_cacheblend, true},
    RestoreRow{Restore::important, "loads the tokens that the turn attends to most (hyperinfer)", kKv,
               kImportant, make_hyperinfer},
};
static_assert(kRestorations.size() == kRestoreNames.size());

// Describes the loss of quality if this share is recomputed (absent: at least CacheBlend's minimum).
std::string blend_note(std::optional<double> recompute_ratio) {
  const double ratio = recompute_ratio.value_or(kLeastRecomputeRatio);
  if (ratio >= 1) return "";
  if (ratio < kLeastRecomputeRatio) {
    return fmt::format(
        "{:.3g} % recomputed: less than the minimum of 15 % in the paper, which does not support smaller "
        "shares (7.3 has 5 to 18 % for one model only)",
        100 * ratio);
  }
  return fmt::format(
      "{}{:.3g} % recomputed: F1 and Rouge-L within 0.02 of full recomputation (CacheBlend 7.2)",
      recompute_ratio ? "" : "at least ", 100 * ratio);
}

// Describes the loss of quality from calls about single chunks, and from chunks at other positions. A
// session's own history stays at its position.
std::string reuse_note(const PolicyOptions& options) {
  switch (options.calls.value_or(Calls::single)) {
    case Calls::map_reduce:
      return "answers from summaries of single chunks: lower F1 than cacheblend (CacheBlend 7.2)";
    case Calls::map_rerank:
      return "answers from single chunks: much lower F1 than cacheblend (CacheBlend 7.2)";
    case Calls::single:
      break;
  }
  if (options.restore == Restore::blend)
    return options.match.value_or(Match::chunk) == Match::chunk ? blend_note(options.recompute_ratio) : "";
  const bool as_they_are = stores(options);
  if (options.match != Match::chunk || !as_they_are) return "";
  return "chunks do not attend to the chunks before them: F1 or Rouge-L 0.15 to 0.35 below cacheblend "
         "(CacheBlend 7)";
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
  // A different stored form needs a different restoration. It is chosen here, so that users need to set only
  // `keep`.
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

std::string older_preset_text(const PolicyRow& row, EngineVersion version) {
  if (!row.read_version || version <= *row.read_version) return "";
  return fmt::format("{} works in vLLM {}.{} as in {}.{}, the version that it was read from", row.name,
                     version.major, version.minor, row.read_version->major, row.read_version->minor);
}

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
