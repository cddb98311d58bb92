// Restorer: performs a Restoration on a node and says when it is over, at either fidelity.
//
// Of several restorations that can compute, the one that started first does. Restoration work goes first on
// the GPU: a step that runs at the same time is held up by exactly the seconds that restorations compute.
// progress_s(t) is the GPU time left to steps up to t: a step that begins when it is p and needs W seconds
// ends when it is p + W.
//
//   layer    every layer's load and computation is an activity of the World. The reference.
//   request  one transfer a tier; when the last has ended, the restoration's end follows from makespan_s with
//            the transfers' measured rates. Layers that need no load are computed at its start, behind those
//            of restorations before it; its other seconds of computation are spread evenly from the first
//            byte to the end. Where these add up to more than one GPU, the rest is served later.
#pragma once

#include <functional>
#include <memory>

#include "base/fidelity.h"
#include "des/world.h"
#include "policy/restoration.h"

namespace kvcap {

struct RestoreTimes {
  double loaded_s = 0;    // the last transfer's end (the start when there is none)
  double restored_s = 0;  // may lie ahead of the call that reports it
  // Of the GPU's time, from computes_from_s to restored_s: nobody has observed it yet (request fidelity).
  double compute_s = 0, computes_from_s = 0;
};

// One layer's transfer or computation, for timelines. stream: a tier's name or "compute".
struct RestoreActivity {
  std::string_view stream;
  int64_t layer = 0;
  LayerForm form = LayerForm::kv;
  double start_s = 0, end_s = 0;
};

class Restorer {
 public:
  virtual ~Restorer() = default;
  // `ready` is called once, from the World, and never before start() has returned.
  virtual void start(Restoration restoration, std::function<void(RestoreTimes)> ready) = 0;
  // What a restoration that starts now would find: its loads behind those that are queued, its computation
  // behind what restorations under way have still to compute.
  virtual LoadRates current_rates() const = 0;
  // Seconds that restorations under way have still to compute.
  virtual double pending_compute_s() const = 0;
  // Whether what progress_s says of later dates may change before another restoration starts.
  virtual bool may_surprise() const = 0;
  // GPU seconds left to steps up to `at_s`, which is now or later, as far as is known now.
  virtual double progress_s(double at_s) const = 0;
  // When progress_s will be `progress_s`, as far as is known now; never before now.
  virtual double when(double progress_s) const = 0;
};

// `routes`: loads to the GPU, indexed by tier. `observe` (layer only) may be empty.
std::unique_ptr<Restorer> make_restorer(Fidelity fidelity, Node& node, const LoadRates& routes,
                                        LinkObserver observer,
                                        std::function<void(const RestoreActivity&)> observe);

}  // namespace kvcap
