// Restorer: performs a Restoration on the World and says when it is over, at either fidelity.
//
// Restoration work goes first on the GPU: a step that runs at the same time is held up by exactly the seconds
// that restorations compute. stolen_s() counts those seconds; a step that began at S and needs W seconds ends
// when W + (stolen_s() - stolen_s() at S) have passed.
//
//   layer    every layer's load and computation is an activity of the World. The reference.
//   request  one transfer a tier; when the last has ended, the restoration's end follows from makespan_s with the
//            transfers' measured rates, and its seconds of computation are charged at once.
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
  // Seconds of GPU time that restorations have taken from steps so far.
  virtual double stolen_s() const = 0;
  // Seconds of restoration work already asked for that will run before any step goes on.
  virtual double pending_s() const = 0;
  // A step begins or has ended; work that is charged at once is charged to a running step.
  virtual void step_running(bool running) = 0;
};

// `routes`: loads to the GPU, indexed by tier. `observe` (layer only) may be empty.
std::unique_ptr<Restorer> make_restorer(Fidelity fidelity, World& world, const LoadRates& routes,
                                        LinkObserver observer, std::function<void(const RestoreActivity&)> observe);

}  // namespace kvcap
