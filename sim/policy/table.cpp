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

// HyperInfer's store, which its baselines share: chunks of prefixes, all of them on SSD, the tiers above
// copies.
void prefer_chunks(PolicyOptions& options, double retention, EvictionKind eviction) {
  prefer(options.match, Match::prefix);
  prefer(options.chunk_tokens, kChunkTokens);
  prefer(options.inclusive, true);
  prefer(options.retention, retention);
  prefer(options.eviction, eviction);
}

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
              "preload: none | layerwise (none); read_buffer_layers: layers (unlimited); tiers", true, kAsIs,
              make_kv_offload},
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
        "split: best | paper | hidden_only | naive_hybrid | token | token_rounded (best); split_tokens: "
        "tokens (mean "
        "history); save: background | direct_io (background); store_hidden_for_recomputed: bool (false); "
        "tiers",
        true, kAsIs, make_hcache},
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
