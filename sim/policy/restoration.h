// Restoration: the loads and computations that restore a stored context on the GPU, layer by layer, and their
// duration.
//
// Two streams run concurrently: loads, one FIFO stream per tier in layer order, and computation on the GPU,
// also in layer order. A layer is computed when its loads have arrived and the layer before is done; loads
// run ahead of computation by at most `ahead` layers (the read buffer). Every restoration method of the
// papers is a list of such layers:
//
//   kv_offload             L x {load KV, compute nothing}
//   hcache, I/O to spare   L_H x {load hidden, project}, then L_O x {load KV}
//   hcache, GPU to spare   L_O x {recompute}, then L_H x {load hidden, project}
//   layer-wise preload     L x {load KV, prefill the new tokens of this layer}  (fused)
//   cacheblend             L x {load KV, recompute a share of it, compute the new tokens}  (fused)
//   hyperinfer             L x [{load probe keys, identify}, {wait; load important KV, prefill}]  (fused)
//
// makespan_s() computes the duration of all of them in closed form; request fidelity uses no other formula.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/tier.h"
#include "cost/cost_model.h"
#include "cost/routes.h"

namespace kvcap {

// Form in which a layer is kept, which determines its restoration. keys: the entry is the first part of a
// layer; the next entry is the other part.
enum class LayerForm : uint8_t { hidden, kv, tokens, mixed, head, keys };
constexpr std::string_view name(LayerForm form) {
  constexpr std::array<std::string_view, 6> kNames = {"hidden", "kv", "recompute", "mixed", "head", "keys"};
  return kNames[static_cast<std::size_t>(form)];
}

struct LayerWork {
  int64_t layers = 1;  // number of equal layers; the fields below are per layer
  LayerForm form = LayerForm::kv;
  PerTier load_bytes{};
  PerTier load_requests{};
  double compute_s = 0;
  // For reports, the work that compute_s contains besides expansion: the prefill of the context itself, and
  // the tokens whose hidden states are projected to keys and values.
  PrefillChunk recomputed{};
  int64_t projected_tokens = 0;
  bool waits = false;  // the loads are known only once all preceding entries are computed
};

inline constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

struct Restoration {
  std::vector<LayerWork> work;
  int64_t ahead = kUnlimited;  // layers that loads may run ahead of computation; >= 1
  bool fused = false;          // compute_s contains the new tokens' prefill: no prefill step follows
  // Tokens found in each tier that take no part in the rest of the turn (importance).
  std::array<int64_t, kTiers.size()> unused_tokens{};

  bool empty() const { return work.empty(); }
  PerTier total_bytes() const;
  double total_compute_s() const;
};

// Speed of loads from one tier: the idle route, the factor by which other traffic slows it down, and the
// delay of the first byte after the restoration's start.
struct LoadRate {
  const Route* route = nullptr;
  double stretch = 1;  // measured seconds / seconds on an idle route
  double delay_s = 0;
};
// The entry of hbm, which has no route, holds the delay of the computation.
using LoadRates = std::array<LoadRate, kTierCount>;

// Returns the seconds that one layer's load takes from a tier; 0 if it loads nothing from there.
double load_s(const LayerWork& work, Tier tier, const LoadRate& rate);
// Returns the seconds that all loads from a tier take on an idle route.
double total_load_s(const Restoration& restoration, Tier tier, const Route& route);

// Returns the time from the start to the end of the last layer, with overlapping loads and computation.
double makespan_s(const Restoration& restoration, const LoadRates& rates);

// Load and computation times of one layer, from the restoration's start; for reports and checks.
struct LayerSpan {
  int64_t layer = 0;
  LayerForm form = LayerForm::kv;
  double load_start_s = 0, load_end_s = 0;  // equal if the layer loads nothing
  double compute_start_s = 0, compute_end_s = 0;
};
std::vector<LayerSpan> layer_spans(const Restoration& restoration, const LoadRates& rates);

}  // namespace kvcap
