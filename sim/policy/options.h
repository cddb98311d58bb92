// PolicyOptions: a policy as a scenario describes it. It consists of a name, which selects a preset, and of
// the options that the scenario sets. An absent field has the preset's value.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/names.h"
#include "state/options.h"

namespace kvcap {

enum class Preload : uint8_t { none, layerwise };
inline constexpr std::string_view kPreloadNames[] = {"none", "layerwise"};
constexpr Names names_of(Preload) { return kPreloadNames; }
// background: off the critical path. direct_io: each step writes its state. blocking: the GPU waits at the
// end of each turn until its state has been copied out (CachedAttention 4.3.2).
enum class SaveMode : uint8_t { background, direct_io, blocking };
inline constexpr std::string_view kSaveModeNames[] = {"background", "direct_io", "blocking"};
constexpr Names names_of(SaveMode) { return kSaveModeNames; }
// HCache's division of a context over restoration methods (HCache 4.1.2, 6.3.1, 6.3.2).
enum class Split : uint8_t { best, paper, hidden_only, naive_hybrid, token, token_rounded };
inline constexpr std::string_view kSplitNames[] = {"best",         "paper", "hidden_only",
                                                   "naive_hybrid", "token", "token_rounded"};
constexpr Names names_of(Split) { return kSplitNames; }

// Condition for a hit on a stored part of a prompt: the same session, the same text after the same text, or
// the same text anywhere.
enum class Match : uint8_t { session, prefix, chunk };
inline constexpr std::string_view kMatchNames[] = {"session", "prefix", "chunk"};
constexpr Names names_of(Match) { return kMatchNames; }

// Form in which a context is kept: nothing, keys and values, hidden states (with KV or tokens of layers that
// restore faster from them), or everything, on the GPU and at no cost.
enum class Keep : uint8_t { none, kv, hidden, all };
inline constexpr std::array<std::string_view, 4> kKeepNames = {"none", "kv", "hidden", "all"};
constexpr Names names_of(Keep) { return kKeepNames; }
constexpr std::string_view name(Keep keep) { return kKeepNames[static_cast<std::size_t>(keep)]; }
// Restoration of a context: none; prefill of the prompt; loading KV, or copying it into the window of a
// static graph; projection of hidden states (HCache); the fastest method per turn; recomputing a share of the
// loaded tokens (CacheBlend); loading the tokens to which the turn attends most (HyperInfer).
enum class Restore : uint8_t { none, recompute, load, copy, project, fastest, blend, important };
inline constexpr std::array<std::string_view, 8> kRestoreNames = {
    "none", "recompute", "load", "copy", "project", "fastest", "blend", "important"};
constexpr Names names_of(Restore) { return kRestoreNames; }
constexpr std::string_view name(Restore restore) { return kRestoreNames[static_cast<std::size_t>(restore)]; }
// Model calls per turn: one, or one per chunk of its prompt (LangChain's MapReduce and MapRerank, CacheBlend
// 7.1). map_reduce: each call summarises its chunk, and one more answers from the summaries; map_rerank: each
// call answers and scores its answer.
enum class Calls : uint8_t { single, map_reduce, map_rerank };
inline constexpr std::string_view kCallsNames[] = {"single", "map_reduce", "map_rerank"};
constexpr Names names_of(Calls) { return kCallsNames; }
// Value of one use of a chunk in tiers that evict by score: 1, or the share of the chunk's tokens that were
// important (HyperInfer IV-D2).
enum class Score : uint8_t { frequency, importance };
inline constexpr std::string_view kScoreNames[] = {"frequency", "importance"};
constexpr Names names_of(Score) { return kScoreNames; }

// Which work waits while a context is loaded. parked: only its own request (vLLM's offloading connector).
// blocking: the whole engine (LMCache's default). layerwise: a layer is computed as soon as its KV has
// arrived (HiCache), as with preload: layerwise.
enum class LoadMode : uint8_t { parked, blocking, layerwise };
inline constexpr std::string_view kLoadModeNames[] = {"parked", "blocking", "layerwise"};
constexpr Names names_of(LoadMode) { return kLoadModeNames; }
// When computed state is saved: at the end of the turn, as soon as blocks are full, or when the prefix cache
// evicts it (a victim cache).
enum class SaveAt : uint8_t { turn_end, step, eviction };
inline constexpr std::string_view kSaveAtNames[] = {"turn_end", "step", "eviction"};
constexpr Names names_of(SaveAt) { return kSaveAtNames; }
// Layout of KV in host tiers, which determines the unit of a copy: blocks of one layer, or blocks of all
// layers.
enum class BlockLayout : uint8_t { layer, cross_layer };
inline constexpr std::string_view kBlockLayoutNames[] = {"layer", "cross_layer"};
constexpr Names names_of(BlockLayout) { return kBlockLayoutNames; }
// Unit of eviction from a full tier: blocks from the end of the victim context, or the whole context.
enum class EvictionUnit : uint8_t { block, context };
inline constexpr std::string_view kEvictionUnitNames[] = {"block", "context"};
constexpr Names names_of(EvictionUnit) { return kEvictionUnitNames; }
// Prefetch of a context from farther tiers while its request is in the queue. none: no prefetch; best_effort:
// the request does not wait for it; wait: the request waits for all of it; timeout: for at most
// prefetch_timeout_s; at_lookup: the request waits, and the prefetch begins one step after the scheduler has
// first looked the request up (vLLM's secondary tiers: kv_offload/tiering/manager.py,
// async_lookup.py@030ea52).
enum class PrefetchOnArrival : uint8_t { none, best_effort, wait, timeout, at_lookup };
inline constexpr std::string_view kPrefetchOnArrivalNames[] = {"none", "best_effort", "wait", "timeout",
                                                               "at_lookup"};
constexpr Names names_of(PrefetchOnArrival) { return kPrefetchOnArrivalNames; }

// SGLang HiCache's names for when a context is saved: when it is inserted, when it is used for the second
// time, or when the GPU evicts it. Each sets save_at and store_after_hits.
enum class WritePolicy : uint8_t { write_through, write_through_selective, write_back };
inline constexpr std::string_view kWritePolicyNames[] = {"write_through", "write_through_selective",
                                                         "write_back"};
constexpr Names names_of(WritePolicy) { return kWritePolicyNames; }

inline constexpr int64_t kStoredBits[] = {16, 8, 4};

struct PolicyOptions {
  std::string name = "recompute";
  std::optional<Keep> keep;
  std::optional<Restore> restore;
  std::optional<std::vector<TierOptions>> tiers;  // absent: every tier of the profile at full size
  std::optional<EvictionKind> eviction;           // default of tiers without their own
  std::optional<EvictionUnit> eviction_unit;
  std::optional<Match> match;
  std::optional<bool> look_ahead;  // fetch and evict by the waiting queue (CachedAttention 3.3)
  std::optional<bool> inclusive;   // a lower tier keeps a copy of contexts that move up
  std::optional<WriteMode> write;
  std::optional<double> ttl_s;  // drop contexts unused for `ttl_s`
  // Stored keys carry no positions: the rest of a context stays valid after overflow (CachedAttention 3.4).
  std::optional<bool> decoupled_positions;
  std::optional<double> retention;  // share of a context's tokens that is kept or loaded
  // HyperInfer: pieces of prompts are kept in chunks of `chunk_tokens` tokens; important tokens are
  // identified with probe heads instead of all keys, in layers whose similarity exceeds j^threshold_exponent;
  // nodes are stored in order of importance; the next layer's important tokens are guessed and prefetched.
  std::optional<int64_t> chunk_tokens;
  std::optional<bool> identification;
  std::optional<double> threshold_exponent;
  std::optional<bool> reorder;
  std::optional<bool> prefetch;
  std::optional<Score> score;
  std::optional<int64_t> stored_bits;  // bits per element in host tiers: 16, 8 or 4
  bool unbounded = false;              // a bound: host tiers never fill, at the cost of their real capacity
  std::optional<bool> ideal_load;      // loads take no time
  // CacheBlend: share of the found tokens that every layer recomputes (absent: the loading controller chooses
  // for each request), leading layers that compute all tokens, and the speed of scattered tokens in other
  // layers relative to a whole prefill.
  std::optional<double> recompute_ratio;
  std::optional<int64_t> full_layers;
  std::optional<double> partial_efficiency;
  std::optional<Calls> calls;
  std::optional<int64_t> map_tokens;  // generated per map call: a summary, or a score after the answer
  std::optional<Preload> preload;
  std::optional<int64_t> read_buffer_layers;  // layers by which loads may run ahead of computation
  std::optional<SaveMode> save;
  std::optional<LoadMode> load;
  // Unit in which KV is copied: blocks of serving.block_size tokens; absent: chunks of 64 tokens of a layer.
  std::optional<BlockLayout> block_layout;
  std::optional<SaveAt> save_at;
  std::optional<bool> save_generated;  // also save tokens of answers
  std::optional<PrefetchOnArrival> prefetch_on_arrival;
  std::optional<double> prefetch_timeout_s;
  std::optional<double> prefetch_timeout_s_per_token;  // additional timeout per token of the prompt
  std::optional<double> prefetch_timeout_max_s;        // limit of the total timeout
  std::optional<int64_t> prefetch_min_tokens;          // fewer tokens in farther tiers are not prefetched
  // No prefetch begins while waiting requests prefetch this share of the tokens that DRAM holds beyond the
  // GPU's cache; absent: no limit.
  std::optional<double> prefetch_capacity_share;
  // Load only from the first host tier; state in farther tiers must first be prefetched to that tier.
  std::optional<bool> loads_first_tier_only;
  std::optional<int64_t> load_min_tokens;  // fewer tokens are computed instead
  // Blocking loads: time per layer in which the scheduler enqueues the copies of a load (HiCache with
  // page_first_direct: sglang#38472).
  std::optional<double> load_enqueue_s;
  // The worker asks only once per step, while it launches the step, which loads have ended, and reports these
  // with the step's result (vLLM's KV connectors: kv_connector_model_runner_mixin.py@00f4240).
  std::optional<bool> polled_loads;
  std::optional<WritePolicy> write_policy;
  std::optional<int64_t> store_after_hits;   // lookups of a context before it is saved
  std::optional<bool> store_once;            // store only one copy of KV that several ranks hold
  std::optional<int64_t> checkpoint_tokens;  // tokens between stored states of recurrent layers
  std::optional<double> write_queue_s;       // maximum seconds of work in a tier's write queue
  std::optional<Split> split;
  // HCache, instead of split: leading layers that are recomputed and last layers that are kept as KV; the
  // other layers are kept as hidden states.
  std::optional<int64_t> recomputed_layers, kv_layers;
  std::optional<int64_t> split_tokens;  // history length for which stored forms are chosen; absent: mean
  std::optional<bool> store_hidden_for_recomputed;
  std::optional<double> reserved_windows;  // npu_*: KV buffer per sequence, in windows of max_model_len - 1
};

// Default values of options that neither the scenario nor the preset sets.
struct PolicyDefaults {
  EvictionKind eviction = EvictionKind::lru;
  EvictionUnit eviction_unit = EvictionUnit::block;
  Match match = Match::session;
  bool inclusive = true;
  WriteMode write = WriteMode::eager;
  double threshold_exponent = 0.6;
  Score score = Score::frequency;
  int64_t stored_bits = 16;
  int64_t full_layers = 1;
  double partial_efficiency = 0.5;
  int64_t map_tokens = 64;
  bool store_once = false;
  SaveAt save_at = SaveAt::turn_end;
  bool save_generated = true;
  int64_t store_after_hits = 0;
  double write_queue_s = 1;
  LoadMode load = LoadMode::parked;
  PrefetchOnArrival prefetch_on_arrival = PrefetchOnArrival::none;
  double prefetch_timeout_s = 1;
  double prefetch_timeout_s_per_token = 0;
  int64_t prefetch_min_tokens = 1;
  bool loads_first_tier_only = false;
  int64_t load_min_tokens = 1;
  double load_enqueue_s = 0;
  bool polled_loads = false;
};
inline constexpr PolicyDefaults kPolicyDefaults;

}  // namespace kvcap
