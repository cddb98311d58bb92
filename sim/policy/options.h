// A policy as a scenario describes it: a name, which is a preset, and what the scenario sets otherwise.
// An absent field means the preset's value.
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
// background: off the critical path. direct_io: each step writes what it has produced. blocking: the GPU
// waits at the end of each turn until its state has been copied out (CachedAttention 4.3.2).
enum class SaveMode : uint8_t { background, direct_io, blocking };
inline constexpr std::string_view kSaveModeNames[] = {"background", "direct_io", "blocking"};
constexpr Names names_of(SaveMode) { return kSaveModeNames; }
// How HCache divides a context over restoration methods (HCache 4.1.2, 6.3.1, 6.3.2).
enum class Split : uint8_t { best, paper, hidden_only, naive_hybrid, token, token_rounded };
inline constexpr std::string_view kSplitNames[] = {"best",         "paper", "hidden_only",
                                                   "naive_hybrid", "token", "token_rounded"};
constexpr Names names_of(Split) { return kSplitNames; }

// Under what a stored part of a prompt is found again: all turns of a session, text at the same place after
// the same text, or text anywhere.
enum class Match : uint8_t { session, prefix, chunk };
inline constexpr std::string_view kMatchNames[] = {"session", "prefix", "chunk"};
constexpr Names names_of(Match) { return kMatchNames; }

// What is kept of a context: nothing, keys and values, hidden states (KV or tokens of layers that come back
// sooner so), or everything, on the GPU and at no cost.
enum class Keep : uint8_t { none, kv, hidden, all };
inline constexpr std::array<std::string_view, 4> kKeepNames = {"none", "kv", "hidden", "all"};
constexpr Names names_of(Keep) { return kKeepNames; }
constexpr std::string_view name(Keep keep) { return kKeepNames[static_cast<std::size_t>(keep)]; }
// How it comes back: nothing has to; the prompt is prefilled again; KV is loaded, or copied into the window
// of a static graph; hidden states are projected (HCache); whatever is fastest, turn by turn; a share of what
// is loaded is computed again (CacheBlend); what the turn attends to most is loaded (HyperInfer).
enum class Restore : uint8_t { none, recompute, load, copy, project, fastest, blend, important };
inline constexpr std::array<std::string_view, 8> kRestoreNames = {
    "none", "recompute", "load", "copy", "project", "fastest", "blend", "important"};
constexpr Names names_of(Restore) { return kRestoreNames; }
constexpr std::string_view name(Restore restore) { return kRestoreNames[static_cast<std::size_t>(restore)]; }
// Calls of the model that a turn takes: one, or one a chunk of its prompt (LangChain's MapReduce and
// MapRerank, CacheBlend 7.1). map_reduce: each sums its chunk up, and one more answers from the summaries;
// map_rerank: each answers and scores its answer.
enum class Calls : uint8_t { single, map_reduce, map_rerank };
inline constexpr std::string_view kCallsNames[] = {"single", "map_reduce", "map_rerank"};
constexpr Names names_of(Calls) { return kCallsNames; }
// What a use of a chunk counts for tiers that keep the highest score: 1, or the share of the chunk's tokens
// that were important (HyperInfer IV-D2).
enum class Score : uint8_t { frequency, importance };
inline constexpr std::string_view kScoreNames[] = {"frequency", "importance"};
constexpr Names names_of(Score) { return kScoreNames; }

// Who waits while a context is loaded: its own request alone, which is parked meanwhile (vLLM's offloading
// connector), or the whole engine (LMCache's default). layerwise: a layer is computed as soon as its KV is
// there (HiCache), which is preload: layerwise.
enum class LoadMode : uint8_t { parked, blocking, layerwise };
inline constexpr std::string_view kLoadModeNames[] = {"parked", "blocking", "layerwise"};
constexpr Names names_of(LoadMode) { return kLoadModeNames; }
// When what the engine computes is saved: as soon as blocks are full, at the end of the turn, or when the
// prefix cache evicts it (a victim cache).
enum class SaveAt : uint8_t { turn_end, step, eviction };
inline constexpr std::string_view kSaveAtNames[] = {"turn_end", "step", "eviction"};
constexpr Names names_of(SaveAt) { return kSaveAtNames; }
// How KV lies in host tiers, and so what is copied at once: blocks of one layer, or blocks of all layers.
enum class BlockLayout : uint8_t { layer, cross_layer };
inline constexpr std::string_view kBlockLayoutNames[] = {"layer", "cross_layer"};
constexpr Names names_of(BlockLayout) { return kBlockLayoutNames; }
// What leaves a full tier at once: blocks from the end of the context whose turn it is, or all of it.
enum class EvictionUnit : uint8_t { block, context };
inline constexpr std::string_view kEvictionUnitNames[] = {"block", "context"};
constexpr Names names_of(EvictionUnit) { return kEvictionUnitNames; }
// Whether a request's context is fetched from farther tiers while it waits, and who waits for that: nobody,
// the request, or the request for at most prefetch_timeout_s.
enum class PrefetchOnArrival : uint8_t { none, best_effort, wait, timeout };
inline constexpr std::string_view kPrefetchOnArrivalNames[] = {"none", "best_effort", "wait", "timeout"};
constexpr Names names_of(PrefetchOnArrival) { return kPrefetchOnArrivalNames; }

// SGLang HiCache's names of when a context is saved: when it is inserted, when it is used for the second
// time, or when the GPU evicts it. Each stands for save_at and store_after_hits.
enum class WritePolicy : uint8_t { write_through, write_through_selective, write_back };
inline constexpr std::string_view kWritePolicyNames[] = {"write_through", "write_through_selective",
                                                         "write_back"};
constexpr Names names_of(WritePolicy) { return kWritePolicyNames; }

inline constexpr int64_t kStoredBits[] = {16, 8, 4};

struct PolicyOptions {
  std::string name = "hcache";
  std::optional<Keep> keep;
  std::optional<Restore> restore;
  std::optional<std::vector<TierOptions>> tiers;  // absent: every tier of the profile at full size
  std::optional<EvictionKind> eviction;           // of tiers that name none
  std::optional<EvictionUnit> eviction_unit;
  std::optional<Match> match;
  std::optional<bool> look_ahead;  // fetch and evict by what waits in the queue (CachedAttention 3.3)
  std::optional<bool> inclusive;   // a tier below keeps a copy of what moves up
  std::optional<WriteMode> write;
  std::optional<double> ttl_s;  // what has not been used for so long is dropped
  // Stored keys carry no positions: what overflow leaves of a context stays valid (CachedAttention 3.4).
  std::optional<bool> decoupled_positions;
  std::optional<double> retention;  // share of a context's tokens that is kept or loaded
  // HyperInfer: pieces of prompts are kept in chunks of so many tokens; important tokens are identified with
  // probe heads instead of all keys, in layers whose similarity exceeds j^threshold_exponent; nodes are
  // stored in order of importance; the next layer's important tokens are guessed and loaded ahead.
  std::optional<int64_t> chunk_tokens;
  std::optional<bool> identification;
  std::optional<double> threshold_exponent;
  std::optional<bool> reorder;
  std::optional<bool> prefetch;
  std::optional<Score> score;
  std::optional<int64_t> stored_bits;  // of an element in host tiers: 16, 8 or 4
  bool unbounded = false;              // a bound: host tiers never fill; they cost what their capacity costs
  std::optional<bool> ideal_load;      // loads take no time
  // CacheBlend: share of the found tokens that every layer computes again (absent: the loading controller
  // chooses for each request), leading layers that compute all tokens, and the speed of the others' scattered
  // tokens relative to a whole prefill.
  std::optional<double> recompute_ratio;
  std::optional<int64_t> full_layers;
  std::optional<double> partial_efficiency;
  std::optional<Calls> calls;
  std::optional<int64_t> map_tokens;  // that a map call generates: a summary, or a score after the answer
  std::optional<Preload> preload;
  std::optional<int64_t> read_buffer_layers;  // how many layers loads may run ahead of computation
  std::optional<SaveMode> save;
  std::optional<LoadMode> load;
  // KV is copied in blocks of serving.block_size tokens; absent: in chunks of 64 tokens of a layer.
  std::optional<BlockLayout> block_layout;
  std::optional<SaveAt> save_at;
  std::optional<bool> save_generated;  // tokens of answers are saved as well
  std::optional<PrefetchOnArrival> prefetch_on_arrival;
  std::optional<double> prefetch_timeout_s;
  std::optional<double> prefetch_timeout_s_per_token;  // more of it for each token of the prompt
  // Only what lies in the first host tier is loaded; what lies farther has to be prefetched there first.
  std::optional<bool> loads_first_tier_only;
  std::optional<int64_t> load_min_tokens;  // fewer are computed
  std::optional<WritePolicy> write_policy;
  std::optional<int64_t> store_after_hits;   // lookups of a context before it is saved
  std::optional<bool> store_once;            // KV that several ranks hold is stored once
  std::optional<int64_t> checkpoint_tokens;  // of a context between stored states of recurrent layers
  std::optional<double> write_queue_s;       // of work that a tier's write queue holds at most
  std::optional<Split> split;
  // HCache, in place of split: leading layers that are recomputed and last layers that are kept as KV, the
  // others as hidden states.
  std::optional<int64_t> recomputed_layers, kv_layers;
  std::optional<int64_t> split_tokens;  // history length the stored form is chosen for; absent: the mean
  std::optional<bool> store_hidden_for_recomputed;
  std::optional<double> reserved_windows;  // npu_*: KV buffer of a sequence, in windows of max_model_len - 1
};

}  // namespace kvcap
