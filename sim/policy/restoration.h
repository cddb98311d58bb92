// Restoration: what brings a stored context back to the GPU, layer by layer, and how long that takes.
//
// Two streams work side by side: loads, one FIFO stream per tier in layer order, and computation on the
// GPU, also in layer order. A layer is computed when its loads have arrived and the layer before is done;
// loads run ahead of computation by at most `ahead` layers (the read buffer). Every restoration method of
// the papers is a list of such layers:
//
//   kv_offload             L x {load KV, compute nothing}
//   hcache, I/O to spare   L_H x {load hidden, project}, then L_O x {load KV}
//   hcache, compute ...    L_O x {recompute}, then L_H x {load hidden, project}
//   layer-wise preload     L x {load KV, prefill the new tokens of this layer}     (fused)
//   cacheblend             L x {load KV, compute a share of it again and what is new}  (fused)
//   hyperinfer             L x [{load probe keys, identify}, {wait; load what is important, prefill}] (fused)
//
// makespan_s is the closed form of all of them and the only formula of request fidelity.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/tier.h"
#include "cost/cost_model.h"
#include "cost/routes.h"

namespace kvcap {

// What a layer is kept as, and so how it comes back.
// keys: a first part of the layer that follows.
enum class LayerForm : uint8_t { hidden, kv, tokens, mixed, head, keys };
constexpr std::string_view name(LayerForm form) {
  constexpr std::array<std::string_view, 6> kNames = {"hidden", "kv", "recompute", "mixed", "head", "keys"};
  return kNames[static_cast<std::size_t>(form)];
}

struct LayerWork {
  int64_t layers = 1;  // this many layers alike; the numbers below are of one of them
  LayerForm form = LayerForm::kv;
  PerTier load_bytes{};
  PerTier load_requests{};
  double compute_s = 0;
  // What compute_s contains besides expansion: of the context's own prefill, and tokens whose hidden states
  // become keys and values. For reports.
  PrefillChunk recomputed{};
  int64_t projected_tokens = 0;
  bool waits = false;  // what it loads is known only when everything before it has been computed
};

inline constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

struct Restoration {
  std::vector<LayerWork> work;
  int64_t ahead = kUnlimited;  // layers that loads may run ahead of computation; >= 1
  bool fused = false;          // compute_s contains the new tokens' prefill: no prefill step follows
  // Of the tokens found in each tier, those that take no part in the rest of the turn (importance).
  std::array<int64_t, kTiers.size()> unused_tokens{};

  bool empty() const { return work.empty(); }
  PerTier total_bytes() const;
  double total_compute_s() const;
};

// The load side of one tier as a restoration sees it: the route when it is idle, stretched by whatever
// else it carried, and how late the first byte may flow after the restoration's start.
struct LoadRate {
  const Route* route = nullptr;
  double stretch = 1;  // measured seconds / seconds on an idle route
  double delay_s = 0;
};
// Under hbm, which has no route: how late computation may start.
using LoadRates = std::array<LoadRate, kTierCount>;

// Seconds that one layer's load takes from a tier; 0 when it loads nothing from there.
double load_s(const LayerWork& work, Tier tier, const LoadRate& rate);
// Seconds that all loads from a tier take on an idle route.
double total_load_s(const Restoration& restoration, Tier tier, const Route& route);

// Time from start to the end of the last layer, loads and computation overlapped as described above.
double makespan_s(const Restoration& restoration, const LoadRates& rates);

// The same, layer by layer: when each load and each computation runs. For reports and for checking.
struct LayerSpan {
  int64_t layer = 0;
  LayerForm form = LayerForm::kv;
  double load_start_s = 0, load_end_s = 0;  // equal when the layer loads nothing
  double compute_start_s = 0, compute_end_s = 0;
};
std::vector<LayerSpan> layer_spans(const Restoration& restoration, const LoadRates& rates);

}  // namespace kvcap
