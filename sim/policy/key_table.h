// The table of policy keys: one row for each option except `name`, with its meaning, allowed values, default,
// and the condition under which it has an effect. Loader, help, schema and the notes on unused keys read the
// table; a new key needs a member of PolicyOptions and a row here.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "base/field_spec.h"
#include "policy/keys.h"

namespace kvcap {

// Decides whether a key has an effect: from the options with their preset, and where the policy runs.
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
inline constexpr IsUsed identifying = [](const KeyUse& use) { return use.identifies(); };

using O = PolicyOptions;
inline constexpr const PolicyDefaults& kDefaults = kPolicyDefaults;

inline constexpr std::tuple kTable{
    policy_key("keep", &O::keep, {.meaning = "what is kept of a context", .absent = "the preset's"}, always),
    policy_key("restore", &O::restore, {.meaning = "how it comes back", .absent = "the preset's"}, always),
    policy_key("tiers", &O::tiers,
               {.meaning = "where state may lie, near to far", .absent = "every tier of the profile"},
               always),
    policy_key("eviction", &O::eviction,
               {.meaning = "what goes first in tiers that do not say",
                .absent = "the preset's",
                .fallback = name_of(kDefaults.eviction)},
               where_kept),
    policy_key("eviction_unit", &O::eviction_unit,
               {.meaning = "what leaves a full tier: blocks from a context's end, or all of it",
                .absent = "context where chunks are kept, and for cached_attention",
                .fallback = name_of(kDefaults.eviction_unit)},
               [](const KeyUse& use) { return use.where.host_tiers && !use.where.pieces; }),
    policy_key("match", &O::match,
               {.meaning = "under what stored text is found again",
                .absent = "the preset's; prefix where prompts have pieces",
                .fallback = name_of(kDefaults.match)},
               [](const KeyUse& use) { return use.finds(); }),
    policy_key("look_ahead", &O::look_ahead,
               {.meaning = "the waiting queue decides what is fetched and evicted", .absent = "the preset's"},
               in_host_tiers),
    policy_key("inclusive", &O::inclusive,
               {.meaning = "a tier keeps a copy of what moves up", .fallback = kDefaults.inclusive},
               in_host_tiers),
    policy_key(
        "write", &O::write,
        {.meaning = "back: lower tiers get what is evicted above them; through: all tiers get what is saved; "
                    "eager: through while the tier below DRAM has room for a copy, else back",
         .absent = "the preset's",
         .fallback = name_of(kDefaults.write)},
        [](const KeyUse& use) { return use.where.host_tiers && *use.options.inclusive; }),
    policy_key("ttl_s", &O::ttl_s,
               {.meaning = "what is unused for so long is dropped",
                .unit = "s",
                .min = 1e-12,
                .max = 1e10,
                .absent = "never"},
               where_kept),
    policy_key("decoupled_positions", &O::decoupled_positions,
               {.meaning = "what overflow leaves of a context stays valid", .absent = "the preset's"},
               [](const KeyUse& use) { return use.where.keeps && !use.where.pieces; }),
    policy_key(
        "retention", &O::retention,
        {.meaning = "restore important: share of the tokens found that is loaded; else of a history, kept "
                    "after a turn",
         .min = kMinShare,
         .max = 1,
         .absent = "the preset's"},
        [](const KeyUse& use) { return !use.where.pieces || use.restores({Restore::important}); }),
    policy_key(
        "chunk_tokens", &O::chunk_tokens,
        {.meaning = "pieces of prompts are kept in chunks of so many; save_at step: full chunks are saved",
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
        {.meaning = "important tokens are found with the keys of a few heads", .absent = "the preset's"},
        [](const KeyUse& use) { return use.selects(); }),
    policy_key("threshold_exponent", &O::threshold_exponent,
               {.meaning = "of the similarity below which all keys are loaded; smaller: more layers",
                .min = 0,
                .max = 100,
                .fallback = kDefaults.threshold_exponent},
               identifying),
    policy_key("reorder", &O::reorder,
               {.meaning = "tokens are stored in order of importance", .absent = "the preset's"},
               identifying),
    policy_key(
        "prefetch", &O::prefetch,
        {.meaning = "the next layer's important tokens are guessed and loaded", .absent = "the preset's"},
        identifying),
    policy_key("score", &O::score,
               {.meaning = "what a use counts for eviction \"score\"",
                .absent = "the preset's",
                .fallback = name_of(kDefaults.score)},
               [](const KeyUse& use) { return use.where.scores; }),
    policy_key("stored_bits", &O::stored_bits,
               {.meaning = "of an element in host tiers, where the model has more",
                .fallback = kDefaults.stored_bits,
                .integers = kStoredBits},
               in_host_tiers),
    policy_key("unbounded", &O::unbounded,
               {.meaning = "a bound: host tiers never fill, whatever their capacity"}, where_kept),
    policy_key("ideal_load", &O::ideal_load, {.meaning = "loads take no time", .absent = "the preset's"},
               in_host_tiers),
    policy_key("recompute_ratio", &O::recompute_ratio,
               {.meaning = "cacheblend: share of the found tokens that a layer computes again",
                .min = 0,
                .max = 1,
                .absent = "as much as loading hides, at least 0.15"},
               restoring<Restore::blend>),
    policy_key("full_layers", &O::full_layers,
               {.meaning = "cacheblend: leading layers that compute all tokens",
                .unit = "layers",
                .min = 0,
                .max = kMaxCount,
                .fallback = kDefaults.full_layers},
               restoring<Restore::blend>),
    policy_key("partial_efficiency", &O::partial_efficiency,
               {.meaning = "cacheblend: speed of scattered tokens relative to a whole prefill",
                .min = kMinShare,
                .max = 1,
                .fallback = kDefaults.partial_efficiency},
               restoring<Restore::blend>),
    policy_key("calls", &O::calls, {.meaning = "of the model that a turn takes", .absent = "the preset's"},
               [](const KeyUse& use) { return use.where.texts; }),
    policy_key("map_tokens", &O::map_tokens,
               {.meaning = "that a map call generates: a summary, or a score after the answer",
                .unit = "tokens",
                .min = 1,
                .max = kMaxCount,
                .absent = "the preset's",
                .fallback = kDefaults.map_tokens},
               [](const KeyUse& use) {
                 return use.where.texts && use.options.calls.value_or(Calls::single) != Calls::single;
               }),
    policy_key("preload", &O::preload,
               {.meaning = "loads that run ahead of computation", .absent = "the preset's"},
               restoring<Restore::load>),
    policy_key(
        "read_buffer_layers", &O::read_buffer_layers,
        {.meaning = "how far ahead", .unit = "layers", .min = 1, .max = kMaxCount, .absent = "the preset's"},
        restoring<Restore::load, Restore::blend>),
    policy_key("save", &O::save, {.meaning = "how new state is written", .absent = "the preset's"},
               [](const KeyUse& use) {
                 return use.where.host_tiers &&
                        (use.options.save != SaveMode::direct_io || use.restores({Restore::project}));
               }),
    policy_key(
        "store_once", &O::store_once,
        {.meaning = "KV that several tensor-parallel ranks hold (MLA, few KV heads) is stored once, not "
                    "by each",
         .fallback = kDefaults.store_once},
        in_host_tiers),
    policy_key("checkpoint_tokens", &O::checkpoint_tokens,
               {.meaning = "between stored states of recurrent layers",
                .unit = "tokens",
                .min = 1,
                .max = kMaxCount,
                .absent = "serving.max_num_batched_tokens, down to whole blocks"},
               in_host_tiers),
    policy_key(
        "save_at", &O::save_at,
        {.meaning = "what is computed is saved when its turn ends, when blocks are full, or when the GPU "
                    "evicts it",
         .fallback = name_of(kDefaults.save_at)},
        in_host_tiers),
    policy_key(
        "save_generated", &O::save_generated,
        {.meaning = "save_at step: tokens of answers are saved too", .fallback = kDefaults.save_generated},
        [](const KeyUse& use) { return use.where.host_tiers && use.options.save_at == SaveAt::step; }),
    policy_key("store_after_hits", &O::store_after_hits,
               {.meaning = "hits of a context before it is saved; 0: the turn that computes it saves it",
                .unit = "turns",
                .min = 0,
                .max = kMaxCount,
                .fallback = kDefaults.store_after_hits},
               in_host_tiers),
    policy_key(
        "write_queue_s", &O::write_queue_s,
        {.meaning =
             "work that waits before a tier is written to; what comes beyond is not saved; 0: no limit",
         .unit = "s",
         .min = 0,
         .max = 1e10,
         .fallback = kDefaults.write_queue_s},
        in_host_tiers),
    policy_key(
        "load", &O::load,
        {.meaning = "who waits for a context that is loaded: its request, all, or nobody but each layer",
         .fallback = name_of(kDefaults.load)},
        in_host_tiers),
    policy_key("block_layout", &O::block_layout,
               {.meaning = "KV is copied in blocks of block_size tokens: of one layer, or of all layers",
                .absent = "chunks of 64 tokens of one layer"},
               [](const KeyUse& use) { return use.where.host_tiers && use.restores({Restore::load}); }),
    policy_key("prefetch_on_arrival", &O::prefetch_on_arrival,
               {.meaning = "contexts come to the first host tier while their requests queue, and who waits",
                .fallback = name_of(kDefaults.prefetch_on_arrival)},
               in_host_tiers),
    policy_key("prefetch_timeout_s", &O::prefetch_timeout_s,
               {.meaning = "that a request waits at most",
                .unit = "s",
                .min = 0,
                .max = 1e6,
                .fallback = kDefaults.prefetch_timeout_s},
               [](const KeyUse& use) {
                 return use.where.host_tiers && use.options.prefetch_on_arrival == PrefetchOnArrival::timeout;
               }),
    policy_key("prefetch_timeout_s_per_token", &O::prefetch_timeout_s_per_token,
               {.meaning = "more of it for each token of the prompt",
                .unit = "s",
                .min = 0,
                .max = 1e6,
                .absent = "the preset's",
                .fallback = kDefaults.prefetch_timeout_s_per_token},
               [](const KeyUse& use) {
                 return use.where.host_tiers && use.options.prefetch_on_arrival == PrefetchOnArrival::timeout;
               }),
    policy_key(
        "loads_first_tier_only", &O::loads_first_tier_only,
        {.meaning = "what lies beyond the first host tier is not loaded, unless it was prefetched there",
         .absent = "the preset's",
         .fallback = kDefaults.loads_first_tier_only},
        in_host_tiers),
    policy_key("load_min_tokens", &O::load_min_tokens,
               {.meaning = "fewer are computed rather than loaded",
                .unit = "tokens",
                .min = 1,
                .max = kMaxCount,
                .absent = "the preset's",
                .fallback = kDefaults.load_min_tokens},
               in_host_tiers),
    policy_key("write_policy", &O::write_policy,
               {.meaning = "HiCache's name for save_at and store_after_hits: saved when computed, when used "
                           "again, or when the GPU evicts it",
                .absent = "the preset's"},
               in_host_tiers),
    policy_key("split", &O::split, {.meaning = "how layers are divided over forms", .absent = "the preset's"},
               restoring<Restore::project>),
    policy_key("recomputed_layers", &O::recomputed_layers,
               {.meaning = "hcache: leading layers that are recomputed, in place of split",
                .unit = "layers",
                .min = 0,
                .max = kMaxCount,
                .absent = "split decides; with kv_layers 0"},
               restoring<Restore::project>),
    policy_key("kv_layers", &O::kv_layers,
               {.meaning = "hcache: last layers that are kept as KV, in place of split",
                .unit = "layers",
                .min = 0,
                .max = kMaxCount,
                .absent = "split decides; with recomputed_layers 0"},
               restoring<Restore::project>),
    policy_key("split_tokens", &O::split_tokens,
               {.meaning = "history length the division is chosen for",
                .unit = "tokens",
                .min = 1,
                .max = 1e9,
                .absent = "the workload's mean"},
               restoring<Restore::project, Restore::fastest, Restore::blend>),
    policy_key("store_hidden_for_recomputed", &O::store_hidden_for_recomputed,
               {.meaning = "recomputed layers are stored too", .absent = "the preset's"},
               restoring<Restore::project>),
    policy_key(
        "reserved_windows", &O::reserved_windows,
        {.meaning =
             "npu_*: KV buffer of a sequence, in windows of max_model_len - 1 tokens; 1: copy every token",
         .min = 1,
         .max = 100,
         .absent = "the preset's"},
        restoring<Restore::copy>)};

}  // namespace keys

void for_each_policy_key(const auto& call) {
  std::apply([&](const auto&... key) { (call(key), ...); }, keys::kTable);
}

}  // namespace kvcap
