#include "policy/table.h"

#include <array>
#include <string>

#include "base/check.h"
#include "base/input_error.h"

namespace kvcap {
namespace {

constexpr auto kAsIs = [](PolicyOptions&) {};

template <int kPercent>
constexpr auto kReserve = [](PolicyOptions& options) {
  if (!options.reserved_windows) options.reserved_windows = kPercent / 100.0;
};

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
        "hcache", "keep hidden states, project them back to KV while loading",
        "hidden states of most layers, KV or tokens of the rest",
        "loads of one layer overlap the projection of the layer before; the rest is loaded as KV or "
        "recomputed so "
        "that link and GPU finish together",
        "wins with multi-head attention when link and GPU are balanced: half the bytes of KV, a sixth of "
        "recomputation's work; loses with grouped-query attention, where hidden states are larger than KV",
        "split: best | paper | hidden_only | naive_hybrid | token | token_rounded (best); split_tokens: "
        "tokens (mean history); save: background | direct_io (background); "
        "store_hidden_for_recomputed: bool (false); stored_bits: 16 | 8 | 4 (16); tiers",
        true, kAsIs, make_hcache},
    PolicyRow{
        "adaptive", "keep what hcache would, choose turn by turn how it comes back",
        "hidden states of most layers, KV of the rest; KV alone where it is smaller",
        "leading layers recomputed, hidden states projected, KV loaded, or the whole history prefilled with "
        "the new tokens: whatever gives the first token first behind what links and GPU have to do",
        "wins where lengths or load vary, and never loses much: it falls back on the best of the others; "
        "keeps more bytes than hcache where that recomputes layers, and cannot load as KV what it keeps "
        "as hidden states",
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
