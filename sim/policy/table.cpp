#include "policy/table.h"

#include <array>
#include <string>

#include "base/check.h"
#include "base/input_error.h"

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
  prefer(options.map_tokens, int64_t{64});
};
constexpr auto kMapRerank = [](PolicyOptions& options) {
  prefer(options.match, Match::prefix);
  prefer(options.calls, Calls::map_rerank);
  prefer(options.map_tokens, int64_t{8});
};
// HyperInfer's store, which its baselines share: chunks of prefixes, all of them on SSD, the tiers above
// copies.
void prefer_chunks(PolicyOptions& options, double retention, EvictionKind eviction) {
  prefer(options.match, Match::prefix);
  prefer(options.chunk_tokens, kChunkTokens);
  prefer(options.inclusive, true);
  prefer(options.retention, retention);
  prefer(options.eviction, eviction);
}

template <int kPercent>
constexpr auto kReserve = [](PolicyOptions& options) { prefer(options.reserved_windows, kPercent / 100.0); };

constexpr double kImportantShare = 0.25;  // HyperInfer VI-B; COPA 0.5

constexpr std::array kPolicies = {
    PolicyRow{"recompute", "keep nothing, prefill the whole prompt every turn", "nothing",
              "prefill of history and new tokens together",
              "wins when turns are short, storage is slow or dear, or the GPU has nothing else to do; loses "
              "as histories "
              "grow, since its work grows with their length and more",
              "tiers: only a tier of kind hbm is used", false, kAsIs, make_recompute},
    PolicyRow{"ideal", "all history on the GPU at no cost: the lower bound",
              "everything, in memory that costs nothing",
              "nothing to restore; only the new tokens are prefilled",
              "cannot be built; no lossless policy beats it, so it shows what a policy still loses", "none",
              false, kAsIs, make_ideal},
    PolicyRow{"kv_offload", "keep KV in host tiers, load it back", "keys and values of every layer",
              "all layers loaded, then the new tokens prefilled; or layer by layer with preload: layerwise",
              "wins with fast links, and where KV is small (grouped-query attention, MLA); loses to hcache "
              "when KV is "
              "twice the hidden state and the link is the bottleneck",
              "preload: none | layerwise (none); read_buffer_layers: layers (unlimited); stored_bits: 16 | 8 "
              "| 4 (16); "
              "tiers",
              true, kAsIs, make_kv_offload},
    PolicyRow{
        "cached_attention",
        "keep the KV of sessions in DRAM and SSD, fetch and evict by what waits in the queue",
        "keys and values of every layer, without positions",
        "layer by layer under the prefill of the new tokens; from DRAM, where look-ahead has fetched it",
        "wins where turns queue, so that the queue says what is needed next, and where DRAM is much faster "
        "than "
        "SSD; with an empty queue it is LRU, and with grouped queries or short histories there is little to "
        "hide",
        "look_ahead: bool (true); inclusive: bool (true); decoupled_positions: bool (true); preload: none | "
        "layerwise (layerwise); "
        "read_buffer_layers: layers (unlimited); save: background | blocking (background); ttl_s: s (never); "
        "retention: share kept after a turn (1); tiers, eviction (next_use)",
        true,
        [](PolicyOptions& options) {
          prefer(options.preload, Preload::layerwise);
          prefer(options.look_ahead, true);
          prefer(options.inclusive, true);
          prefer(options.decoupled_positions, true);
          prefer(options.eviction, EvictionKind::next_use);
        },
        make_kv_offload},
    PolicyRow{
        "hcache", "keep hidden states, project them back to KV while loading",
        "hidden states of most layers, KV or tokens of the rest",
        "loads of one layer overlap the projection of the layer before; the rest is loaded as KV or "
        "recomputed so "
        "that link and GPU finish together",
        "wins with multi-head attention when link and GPU are balanced: half the bytes of KV, a sixth of "
        "recomputation's work; loses with grouped-query attention, where hidden states are larger than KV",
        "split: best | paper | hidden_only | naive_hybrid | token | token_rounded (best); "
        "recomputed_layers, kv_layers: layers, in place of split; split_tokens: tokens (mean history); save: "
        "background | direct_io (background); "
        "store_hidden_for_recomputed: bool (false); stored_bits: 16 | 8 | 4 (16); tiers",
        true, kAsIs, make_hcache},
    PolicyRow{
        "cacheblend", "load chunks wherever they stand, compute a share of their tokens again",
        "keys and values of chunks, without positions (or their hidden states)",
        "the first layer computes all tokens, each later one a share of those found and all others, while "
        "the "
        "next layer's are loaded; the whole prompt is one pass",
        "wins where prompts are put together from texts that others use in another order; loses to "
        "prefix_caching where the order is always the same, to full_reuse where the order does not matter",
        "recompute_ratio: share (as much as loading hides, at least 0.15); full_layers: layers (1); "
        "partial_efficiency: share of a whole prefill's speed (0.5); keep: kv | hidden (kv); "
        "read_buffer_layers: layers (unlimited); tiers",
        true, kChunksAnywhere, make_cacheblend},
    PolicyRow{
        "prefix_caching", "load the leading chunks that stand as they stood before",
        "keys and values of every chunk, once for each text that stood before it",
        "the chunks up to the first that is missing are loaded, the rest is prefilled",
        "wins where prompts begin alike; loses where only the first chunk is found, and keeps many versions "
        "of the same chunk. As CacheBlend compares it: loading is free",
        "ideal_load: loads take no time (true); tiers and the options of kv_offload", true, kPrefixCaching,
        make_kv_offload},
    PolicyRow{"full_reuse", "load chunks wherever they stand and take them as they are",
              "keys and values of chunks, without positions",
              "layer by layer under the prefill of what was not found, nothing computed again",
              "answers first of all that load; its answers suffer, for no chunk knows of those before it",
              "tiers and the options of kv_offload; preload (layerwise)", true, kFullReuse, make_kv_offload},
    PolicyRow{"map_reduce", "one call a chunk for a summary, one more over the summaries",
              "keys and values of chunks, each at the beginning of its own call",
              "each call loads its chunk; all arrive together, the last when the others have been answered. "
              "A summary "
              "has map_tokens tokens, the last call the summaries and the question as its prompt",
              "hardly ever: it generates a summary of every chunk before the answer begins",
              "map_tokens: of a summary (64); tiers and the options of kv_offload", true, kMapReduce,
              make_kv_offload},
    PolicyRow{"map_rerank", "one call a chunk, each with an answer and its score",
              "keys and values of chunks, each at the beginning of its own call",
              "each call loads its chunk, answers and scores; all arrive together. Which answer is picked, "
              "and so its "
              "first token, is known when the last has ended",
              "wins where answers are short and stand in one chunk; its answers suffer elsewhere",
              "map_tokens: of a score (8); tiers and the options of kv_offload", true, kMapRerank,
              make_kv_offload},
    PolicyRow{
        "hyperinfer", "load only what the request attends to most of a shared prefix",
        "keys and values of every layer in chunks, the most important tokens first, and three heads' keys "
        "once more",
        "layer by layer: three heads' keys, then the keys and values of the tokens that they find important "
        "(of all heads' keys where they disagree); the other tokens take no part",
        "wins where long prefixes are shared and their KV lies on slow storage; its answers differ a little, "
        "and short prefixes or fast links leave nothing to save",
        "retention: share of the tokens (0.25); identification: bool (true); threshold_exponent (0.6); "
        "reorder: bool (true); prefetch: bool (true); score: frequency | importance (importance); "
        "chunk_tokens: tokens (64); eviction (score); inclusive: bool (true); tiers",
        true,
        [](PolicyOptions& options) {
          prefer_chunks(options, kImportantShare, EvictionKind::score);
          prefer(options.identification, true);
          prefer(options.reorder, true);
          prefer(options.prefetch, true);
          prefer(options.score, Score::importance);
        },
        make_hyperinfer},
    PolicyRow{"as_like", "load all of a shared prefix: HyperInfer's AS-like, without look-ahead",
              "keys and values of every layer in chunks",
              "layer by layer under the prefill of the new tokens",
              "lossless; loses to hyperinfer where loading takes longer than the prefill",
              "chunk_tokens: tokens (64); eviction (lru); inclusive: bool (true); tiers", true,
              [](PolicyOptions& options) { prefer_chunks(options, 1, EvictionKind::lru); }, make_hyperinfer},
    PolicyRow{
        "h2o_lru", "load all keys of a shared prefix, and the values that each head finds important",
        "keys and values of every layer in chunks",
        "layer by layer: all keys, then every head's own important values; HyperInfer's AS+H2O+LRU",
        "as hyperinfer, but all keys are loaded",
        "retention: share of the tokens (0.25); chunk_tokens: tokens (64); eviction (lru); inclusive: bool "
        "(true); tiers",
        true, [](PolicyOptions& options) { prefer_chunks(options, kImportantShare, EvictionKind::lru); },
        make_hyperinfer},
    PolicyRow{"h2o_lfu", "h2o_lru with caches that keep what is used most often",
              "keys and values of every layer in chunks",
              "layer by layer: all keys, then every head's own important values; HyperInfer's AS+H2O+LFU",
              "as h2o_lru; better where the same prefixes stay popular",
              "as h2o_lru; eviction (score); score: frequency | importance (frequency)", true,
              [](PolicyOptions& options) {
                prefer_chunks(options, kImportantShare, EvictionKind::score);
                prefer(options.score, Score::frequency);
              },
              make_hyperinfer},
    PolicyRow{
        "adaptive", "keep what hcache would, choose turn by turn how it comes back",
        "hidden states of most layers, KV of the rest; KV alone where it is smaller",
        "leading layers recomputed, hidden states projected, KV loaded, or the whole history prefilled with "
        "the new tokens: whatever gives the first token first behind what links and GPU have to do",
        "wins where lengths or load vary, as long as the machine keeps up; once turns queue for memory "
        "kv_offload is ahead, for projecting takes GPU time and what is kept as hidden states cannot come "
        "back "
        "otherwise; keeps more bytes than hcache where that recomputes layers",
        "split_tokens: tokens (mean history); stored_bits: 16 | 8 | 4 (16); tiers", true, kAsIs,
        make_adaptive},
    PolicyRow{"npu_copy", "static-graph NPU: KV windows in place, copied with every token",
              "KV, in host tiers; of running sequences max_model_len slots in one piece",
              "KV copied into the window, then the new tokens prefilled",
              "the least memory of the three; each decoded token reads and writes the whole window",
              "reserved_windows: windows (1); stored_bits: 16 | 8 | 4 (16); tiers", true, kReserve<100>,
              make_npu_buffers},
    PolicyRow{"npu_reserve_2x", "static-graph NPU: buffers of two windows, never copied within one",
              "KV, in host tiers; of running sequences 2 (max_model_len - 1) slots in one piece",
              "KV copied into the window, then the new tokens prefilled",
              "the fastest decode of the three, at twice the memory; impractical where models are large",
              "reserved_windows: windows (2); stored_bits: 16 | 8 | 4 (16); tiers", true, kReserve<200>,
              make_npu_buffers},
    PolicyRow{"npu_reserve_1_5x", "static-graph NPU: buffers of one and a half windows, seldom copied",
              "KV, in host tiers; of running sequences 1.5 (max_model_len - 1) slots in one piece",
              "KV copied into the window, then the new tokens prefilled",
              "the compromise: an answer longer than half a window pauses for one copy",
              "reserved_windows: windows (1.5); stored_bits: 16 | 8 | 4 (16); tiers", true, kReserve<150>,
              make_npu_buffers},
};

constexpr auto kNames = [] {
  std::array<std::string_view, kPolicies.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kPolicies[i].name;
  return names;
}();

const PolicyRow& row_of(std::string_view name) {
  for (const PolicyRow& row : kPolicies) {
    if (row.name == name) return row;
  }
  KVCAP_BUG("a policy that is not in the table");
}

}  // namespace

std::span<const PolicyRow> policy_table() { return kPolicies; }
std::span<const std::string_view> policy_names() { return kNames; }

bool policy_stores(std::string_view name) { return row_of(name).stores; }
std::string_view policy_summary(std::string_view name) { return row_of(name).summary; }

PolicyOptions with_preset(PolicyOptions options) {
  row_of(options.name).preset(options);
  return options;
}

std::unique_ptr<Policy> make_policy(const PolicyInputs& inputs) {
  const PolicyRow& row = row_of(inputs.options.name);
  if (row.stores && !inputs.planned_tier) {
    throw InputError("policy.tiers: found no host tier, but " + inputs.options.name +
                     " needs one of dram, ssd, remote");
  }
  return row.make(inputs);
}

}  // namespace kvcap
