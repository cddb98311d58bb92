// Restorer: performs Restorations on a node and reports their ends, at either fidelity.
//
// If several restorations can compute, the one that started first does. Restoration work has priority on the
// GPU: a concurrent step is delayed by exactly the seconds that restorations compute. progress_s(t) is the
// GPU time available to steps up to t: a step that begins at progress p and needs W seconds ends at progress
// p + W.
//
//   layer    every load and computation of a layer is an activity of the World; this is the reference.
//   request  one transfer per tier; after the last one, makespan_s with the measured rates gives the end of
//            the restoration. Layers without loads are computed at its start, after those of earlier
//            restorations; the rest of its computation is spread evenly from the first byte to the end. Where
//            the sum over restorations exceeds one GPU, the excess is served later.
#pragma once

#include <functional>
#include <memory>

#include "base/fidelity.h"
#include "des/world.h"
#include "policy/restoration.h"

namespace kvcap {

struct RestoreTimes {
  double loaded_s = 0;    // end of the last transfer; without transfers, the start of the restoration
  double restored_s = 0;  // may be later than the reporting call
  // Request fidelity: GPU seconds between computes_from_s and restored_s that have not been reported yet.
  double compute_s = 0, computes_from_s = 0;
};

// One layer's transfer or computation, for timelines. stream: the name of a tier, or "compute".
struct RestoreActivity {
  std::string_view stream;
  int64_t layer = 0;
  LayerForm form = LayerForm::kv;
  double start_s = 0, end_s = 0;
};

class Restorer {
 public:
  virtual ~Restorer() = default;
  // Starts a restoration. `ready` is called once, from the World, and never before start() has returned.
  virtual void start(Restoration restoration, std::function<void(RestoreTimes)> ready) = 0;
  // Returns the rates for a restoration that starts now: its loads queue behind earlier ones, and its
  // computation behind that of running restorations.
  virtual LoadRates current_rates() const = 0;
  // Returns the seconds that running restorations have still to compute.
  virtual double pending_compute_s() const = 0;
  // True iff events of running restorations may still change progress_s at later times.
  virtual bool may_surprise() const = 0;
  // Returns the GPU seconds available to steps up to `at_s` (not in the past), as far as known now.
  virtual double progress_s(double at_s) const = 0;
  // Returns the time at which progress_s is reached, as far as known now; never in the past.
  virtual double when(double progress_s) const = 0;
};

// `routes`: routes of loads to the GPU, by tier. `observe` (layer fidelity only) may be empty.
std::unique_ptr<Restorer> make_restorer(Fidelity fidelity, Node& node, const LoadRates& routes,
                                        LinkObserver observer,
                                        std::function<void(const RestoreActivity&)> observe);

}  // namespace kvcap
