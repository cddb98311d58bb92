// The table of policy keys: one row for each option except `name`, with its meaning, allowed values, default,
// and the condition under which it has an effect. The loader, the help, the schema and the notes on unused
// keys read the table. A new key needs a member of PolicyOptions and a row here.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "base/field_spec.h"
#include "policy/keys.h"

namespace kvcap {

// Decides whether a key has an effect, from the options completed by their preset and from where the policy
// runs.
struct KeyUse {
  const PolicyOptions& options;
  const KeySurroundings& where;

  bool restores(std::initializer_list<Restore> ways) const {
    return std::find(ways.begin(), ways.end(), *options.restore) != ways.end();
  }
  bool finds() const { return where.keeps || options.keep == Keep::all; }
  bool selects() const { return restores({Restore::important}) && options.retention.value_or(1) < 1; }
  bool identifies() const { return selects() && options.identification.value_or(false); }
};

using IsUsed = bool (*)(const KeyUse&);

template <class Value>
struct PolicyKey {
  std::string_view name;
  Value PolicyOptions::*value;
  FieldSpec spec;
  IsUsed used;

  bool is_given(const PolicyOptions& options) const {
    if constexpr (std::is_same_v<Value, bool>) {
      return options.*value;
    } else {
      return (options.*value).has_value();
    }
  }
};

namespace keys {

template <class Value>
constexpr PolicyKey<Value> policy_key(std::string_view name, Value PolicyOptions::*value,
                                      const FieldSpec& spec, IsUsed used) {
  return {name, value, spec, used};
}

inline constexpr IsUsed always = [](const KeyUse&) { return true; };
inline constexpr IsUsed where_kept = [](const KeyUse& use) { return use.where.keeps; };
inline constexpr IsUsed in_host_tiers = [](const KeyUse& use) { return use.where.host_tiers; };
template <Restore... kWays>
inline constexpr IsUsed restoring = [](const KeyUse& use) { return use.restores({kWays...}); };
inline constexpr IsUsed prefetching = [](const KeyUse& use) {
  const auto how = use.options.prefetch_on_arrival.value_or(PrefetchOnArrival::none);
  return use.where.host_tiers && how != PrefetchOnArrival::none;
};
inline constexpr IsUsed identifying = [](const KeyUse& use) { return use.identifies(); };

using O = PolicyOptions;
inline constexpr const PolicyDefaults& kDefaults = kPolicyDefaults;

inline constexpr std::tuple kTable{
    policy_key("keep", &O::keep, {.meaning = "form in which a context is kept", .absent = "the preset's"},
               always),
    policy_key("restore", &O::restore, {.meaning = "restoration of a context", .absent = "the preset's"},
               always),
    policy_key("tiers", &O::tiers,
               {.meaning = "tiers that keep state, from near to far", .absent = "every tier of the profile"},
               always),
    policy_key("eviction", &O::eviction,
               {.meaning = "eviction order of tiers without their own",
                .absent = "the preset's",
                .fallback = name_of(kDefaults.eviction)},
               where_kept),
    policy_key("eviction_unit", &O::eviction_unit,
               {.meaning = "unit of eviction: blocks from the end of a context, or the whole context",
                .absent = "context for chunks and for cached_attention",
                .fallback = name_of(kDefaults.eviction_unit)},
               [](const KeyUse& use) { return use.where.host_tiers && !use.where.pieces; }),
    policy_key("match", &O::match,
               {.meaning = "condition for a hit: same session, same prefix, or same chunk at any position",
                .absent = "the preset's; prefix if prompts have pieces",
                .fallback = name_of(kDefaults.match)},
               [](const KeyUse& use) { return use.finds(); }),
    policy_key("look_ahead", &O::look_ahead,
               {.meaning = "prefetches and evicts by the waiting queue", .absent = "the preset's"},
               in_host_tiers),
    policy_key("inclusive", &O::inclusive,
               {.meaning = "a tier keeps a copy of contexts that move to a nearer tier",
                .fallback = kDefaults.inclusive},
               in_host_tiers),
    policy_key(
        "write", &O::write,
        {.meaning = "back: evicted state moves to the next tier; through: every save goes to all tiers; "
                    "eager: through while the tier below DRAM has room for a copy of it, else back",
         .absent = "the preset's",
         .fallback = name_of(kDefaults.write)},
        [](const KeyUse& use) { return use.where.host_tiers && *use.options.inclusive; }),
    policy_key("ttl_s", &O::ttl_s,
               {.meaning = "time after which unused state is dropped",
                .unit = "s",
                .min = 1e-12,
                .max = 1e10,
                .absent = "never"},
               where_kept),
    policy_key(
        "decoupled_positions", &O::decoupled_positions,
        {.meaning = "after truncation the rest of a stored context stays valid (keys without positions)",
         .absent = "the preset's"},
        [](const KeyUse& use) { return use.where.keeps && !use.where.pieces; }),
    policy_key("retention", &O::retention,
               {.meaning = "restore important: share of the hits that is loaded; other restorations: share "
                           "of a history that is kept after a turn",
                .min = kMinShare,
                .max = 1,
                .absent = "the preset's"},
               [](const KeyUse& use) { return !use.where.pieces || use.restores({Restore::important}); }),
    policy_key("chunk_tokens", &O::chunk_tokens,
               {.meaning = "size of the chunks in which pieces of prompts are kept; with save_at step, of "
                           "the chunks that are saved",
                .unit = "tokens",
                .min = 1,
                .max = 65536,
                .absent = "the preset's; else whole pieces"},
               [](const KeyUse& use) {
                 return use.restores({Restore::important}) || (use.finds() && use.where.pieces) ||
                        (use.where.host_tiers && use.options.save_at == SaveAt::step);
               }),
    policy_key(
        "identification", &O::identification,
        {.meaning = "important tokens are identified with the keys of a few heads", .absent = "the preset's"},
        [](const KeyUse& use) { return use.selects(); }),
    policy_key("threshold_exponent", &O::threshold_exponent,
               {.meaning = "exponent of the similarity threshold below which a layer loads all keys; smaller "
                           "values load all keys in more layers",
                .min = 0,
                .max = 100,
                .fallback = kDefaults.threshold_exponent},
               identifying),
    policy_key("reorder", &O::reorder,
               {.meaning = "tokens are stored in order of importance", .absent = "the preset's"},
               identifying),
    policy_key(
        "prefetch", &O::prefetch,
        {.meaning = "predicts and loads the important tokens of the next layer", .absent = "the preset's"},
        identifying),
    policy_key("score", &O::score,
               {.meaning = "score of a use, for eviction \"score\"",
                .absent = "the preset's",
                .fallback = name_of(kDefaults.score)},
               [](const KeyUse& use) { return use.where.scores; }),
    policy_key("stored_bits", &O::stored_bits,
               {.meaning = "maximum bits per element in host tiers",
                .fallback = kDefaults.stored_bits,
                .integers = kStoredBits},
               in_host_tiers),
    policy_key("unbounded", &O::unbounded, {.meaning = "host tiers never fill (an upper bound)"}, where_kept),
    policy_key("ideal_load", &O::ideal_load, {.meaning = "loads take no time", .absent = "the preset's"},
               in_host_tiers),
    policy_key("recompute_ratio", &O::recompute_ratio,
               {.meaning = "cacheblend: share of the hits that every layer recomputes",
                .min = 0,
                .max = 1,
                .absent = "the share that loading hides, with CacheBlend's minimum"},
               restoring<Restore::blend>),
    policy_key("full_layers", &O::full_layers,
               {.meaning = "cacheblend: first layers, which compute all tokens",
                .unit = "layers",
                .min = 0,
                .max = kMaxCount,
                .fallback = kDefaults.full_layers},
               restoring<Restore::blend>),
    policy_key("partial_efficiency", &O::partial_efficiency,
               {.meaning = "cacheblend: speed of recomputing scattered tokens, relative to prefill",
                .min = kMinShare,
                .max = 1,
                .fallback = kDefaults.partial_efficiency},
               restoring<Restore::blend>),
    policy_key(
        "calls", &O::calls,
        {.meaning = "model calls of a turn: one, or one per chunk of its prompt", .absent = "the preset's"},
        [](const KeyUse& use) { return use.where.texts; }),
    policy_key("map_tokens", &O::map_tokens,
               {.meaning = "tokens that a map call generates: a summary, or an answer with its score",
                .unit = "tokens",
                .min = 1,
                .max = kMaxCount,
                .absent = "the preset's",
                .fallback = kDefaults.map_tokens},
               [](const KeyUse& use) {
                 return use.where.texts && use.options.calls.value_or(Calls::single) != Calls::single;
               }),
    policy_key("preload", &O::preload,
               {.meaning = "layerwise: layers are loaded during the computation of earlier layers",
                .absent = "the preset's"},
               restoring<Restore::load>),
    policy_key("read_buffer_layers", &O::read_buffer_layers,
               {.meaning = "layers that may be loaded ahead of the computation",
                .unit = "layers",
                .min = 1,
                .max = kMaxCount,
                .absent = "the preset's"},
               restoring<Restore::load, Restore::blend>),
    policy_key("save", &O::save, {.meaning = "how new state is saved", .absent = "the preset's"},
               [](const KeyUse& use) {
                 return use.where.host_tiers &&
                        (use.options.save != SaveMode::direct_io || use.restores({Restore::project}));
               }),
    policy_key("store_once", &O::store_once,
               {.meaning = "KV that several tensor-parallel ranks hold (MLA, few KV heads) is stored once, "
                           "not once per rank",
                .fallback = kDefaults.store_once},
               in_host_tiers),
    policy_key("checkpoint_tokens", &O::checkpoint_tokens,
               {.meaning = "distance between stored states of recurrent layers",
                .unit = "tokens",
                .min = 1,
                .max = kMaxCount,
                .absent = "serving.max_num_batched_tokens, rounded down to whole blocks"},
               in_host_tiers),
    policy_key("save_at", &O::save_at,
               {.meaning = "when computed state is saved: at the end of its turn, when a block is full, or "
                           "when the GPU evicts it",
                .fallback = name_of(kDefaults.save_at)},
               in_host_tiers),
    policy_key(
        "save_generated", &O::save_generated,
        {.meaning = "save_at step: also saves tokens of answers", .fallback = kDefaults.save_generated},
        [](const KeyUse& use) { return use.where.host_tiers && use.options.save_at == SaveAt::step; }),
    policy_key("store_after_hits", &O::store_after_hits,
               {.meaning = "hits of a context before it is saved; 0: the turn that computes it saves it",
                .unit = "turns",
                .min = 0,
                .max = kMaxCount,
                .fallback = kDefaults.store_after_hits},
               in_host_tiers),
    policy_key("write_queue_s", &O::write_queue_s,
               {.meaning = "maximum work in a tier's write queue; further saves are dropped; 0: no limit",
                .unit = "s",
                .min = 0,
                .max = 1e10,
                .fallback = kDefaults.write_queue_s},
               in_host_tiers),
    policy_key("load", &O::load,
               {.meaning = "while a context is loaded, its request waits (parked), the engine waits "
                           "(blocking), or each layer waits for its own load (layerwise)",
                .fallback = name_of(kDefaults.load)},
               in_host_tiers),
    policy_key("block_layout", &O::block_layout,
               {.meaning = "unit of copies: blocks of block_size tokens, of one layer (layer) or of all "
                           "layers (cross_layer)",
                .absent = "chunks of 64 tokens of one layer"},
               [](const KeyUse& use) { return use.where.host_tiers && use.restores({Restore::load}); }),
    policy_key(
        "prefetch_on_arrival", &O::prefetch_on_arrival,
        {.meaning =
             "prefetches contexts to the first host tier while their requests wait. best_effort: requests do "
             "not wait for it; wait: they wait; timeout: they wait for at most prefetch_timeout_s; "
             "at_lookup: they wait, and it begins a step after the scheduler has found the context",
         .fallback = name_of(kDefaults.prefetch_on_arrival)},
        in_host_tiers),
    policy_key("prefetch_timeout_s", &O::prefetch_timeout_s,
               {.meaning = "maximum wait for a prefetch",
                .unit = "s",
                .min = 0,
                .max = 1e6,
                .fallback = kDefaults.prefetch_timeout_s},
               [](const KeyUse& use) {
                 return use.where.host_tiers && use.options.prefetch_on_arrival == PrefetchOnArrival::timeout;
               }),
    policy_key("prefetch_timeout_s_per_token", &O::prefetch_timeout_s_per_token,
               {.meaning = "additional timeout per prompt token",
                .unit = "s",
                .min = 0,
                .max = 1e6,
                .absent = "the preset's",
                .fallback = kDefaults.prefetch_timeout_s_per_token},
               [](const KeyUse& use) {
                 return use.where.host_tiers && use.options.prefetch_on_arrival == PrefetchOnArrival::timeout;
               }),
    policy_key("prefetch_timeout_max_s", &O::prefetch_timeout_max_s,
               {.meaning = "maximum of the total prefetch timeout",
                .unit = "s",
                .min = 0,
                .max = 1e6,
                .absent = "the preset's, else no limit"},
               [](const KeyUse& use) {
                 return use.where.host_tiers && use.options.prefetch_on_arrival == PrefetchOnArrival::timeout;
               }),
    policy_key("prefetch_min_tokens", &O::prefetch_min_tokens,
               {.meaning = "minimal number of tokens to prefetch; fewer are computed",
                .unit = "tokens",
                .min = 1,
                .max = kMaxCount,
                .absent = "the preset's",
                .fallback = kDefaults.prefetch_min_tokens},
               prefetching),
    policy_key("prefetch_capacity_share", &O::prefetch_capacity_share,
               {.meaning = "no prefetch begins while waiting requests prefetch this share of the tokens that "
                           "DRAM holds beyond the GPU's cache",
                .min = 0,
                .max = 1,
                .absent = "the preset's, else no limit"},
               prefetching),
    policy_key("loads_first_tier_only", &O::loads_first_tier_only,
               {.meaning = "loads only from the first host tier; state in farther tiers has to be prefetched",
                .absent = "the preset's",
                .fallback = kDefaults.loads_first_tier_only},
               in_host_tiers),
    policy_key("load_min_tokens", &O::load_min_tokens,
               {.meaning = "minimal number of tokens to load; fewer are computed",
                .unit = "tokens",
                .min = 1,
                .max = kMaxCount,
                .absent = "the preset's",
                .fallback = kDefaults.load_min_tokens},
               in_host_tiers),
    policy_key(
        "load_enqueue_s", &O::load_enqueue_s,
        {.meaning = "load blocking: time per layer in which the scheduler enqueues the copies of a load; "
                    "the load ends no sooner",
         .unit = "s",
         .min = 0,
         .max = 10,
         .absent = "0",
         .fallback = kDefaults.load_enqueue_s},
        [](const KeyUse& use) { return use.where.host_tiers && use.options.load == LoadMode::blocking; }),
    policy_key(
        "polled_loads", &O::polled_loads,
        {.meaning = "load parked: the end of a load is reported with the result of the next step, or of "
                    "the one after it with async_scheduling",
         .absent = "the preset's",
         .fallback = kDefaults.polled_loads},
        in_host_tiers),
    policy_key("write_policy", &O::write_policy,
               {.meaning = "HiCache's name for save_at and store_after_hits: saves state when it is "
                           "computed, when it is used again, or when the GPU evicts it",
                .absent = "the preset's"},
               in_host_tiers),
    policy_key("split", &O::split,
               {.meaning = "division of the layers over hidden states, KV and recomputation",
                .absent = "the preset's"},
               restoring<Restore::project>),
    policy_key("recomputed_layers", &O::recomputed_layers,
               {.meaning = "hcache: first layers, which are recomputed, in place of split",
                .unit = "layers",
                .min = 0,
                .max = kMaxCount,
                .absent = "from split; 0 with kv_layers"},
               restoring<Restore::project>),
    policy_key("kv_layers", &O::kv_layers,
               {.meaning = "hcache: last layers, which are kept as KV, in place of split",
                .unit = "layers",
                .min = 0,
                .max = kMaxCount,
                .absent = "from split; 0 with recomputed_layers"},
               restoring<Restore::project>),
    policy_key("split_tokens", &O::split_tokens,
               {.meaning = "history length for which split is computed",
                .unit = "tokens",
                .min = 1,
                .max = 1e9,
                .absent = "the workload's mean"},
               restoring<Restore::project, Restore::fastest, Restore::blend>),
    policy_key("store_hidden_for_recomputed", &O::store_hidden_for_recomputed,
               {.meaning = "hidden states of recomputed layers are also stored", .absent = "the preset's"},
               restoring<Restore::project>),
    policy_key("reserved_windows", &O::reserved_windows,
               {.meaning = "npu_*: KV buffer of a sequence, in windows of max_model_len - 1 tokens; 1: every "
                           "token copies the window",
                .min = 1,
                .max = 100,
                .absent = "the preset's"},
               restoring<Restore::copy>)};

}  // namespace keys

void for_each_policy_key(const auto& call) {
  std::apply([&](const auto&... key) { (call(key), ...); }, keys::kTable);
}

}  // namespace kvcap
