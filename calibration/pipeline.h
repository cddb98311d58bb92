// Pipeline performs concurrent restorations of several contexts on real hardware, as an engine does. One
// stream copies loads, from a file through pinned memory or directly from host memory, first come, first
// served. Another stream computes layer by layer: a layer is computed once its load has arrived and the layer
// before it is done. If several restorations can proceed, the first in order does. Prefill steps of restored
// contexts use the device only while no restoration can; restorations take precedence before each layer of a
// step.
//
// The pipeline is independent of the transformer: callers pass the functions that load, compute and prefill.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "calibration/backend.h"
#include "calibration/disk.h"

namespace kvcap::calibration {

struct DiskPiece {
  int64_t offset_bytes = 0;  // offset and size are multiples of kDirectBytes
  int64_t bytes = 0;
};

// The transfer of one stage. The pieces of the file are read consecutively into `slot`: pinned memory that is
// reused when the work enqueued by `enqueue` is done. `slot` is null if there are no pieces.
struct Load {
  std::vector<DiskPiece> pieces;
  std::function<void(Stream& copies, const std::byte* slot)> enqueue;

  bool reads_file() const { return !pieces.empty(); }
};

struct Stage {
  // Returns the stage's transfer; called on the calling thread when the load may be queued. Empty: no load.
  std::function<Load()> load;
  bool waits = false;                    // the load depends on all earlier stages' results
  std::function<void(Stream&)> compute;  // enqueues the computation; empty: none
  // Called when the stage has been computed. The next stage is enqueued after this call; without `after` it
  // may be enqueued earlier.
  std::function<void()> after;
  // Returns true if the stage is not needed; called when its load would be queued.
  std::function<bool()> skipped;
};

inline constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

struct Restoring {
  std::vector<Stage> stages;
  int64_t ahead = kNoLimit;  // stages by which loads may run ahead of computation
  // True: the stages prefill the new tokens, too. False: a step prefills `step_tokens` tokens afterwards.
  bool fused = false;
  int64_t step_tokens = 0;
};

// One prefill step of several contexts: functions that each enqueue one part of it, in order.
using Step = std::vector<std::function<void(Stream&)>>;
using MakeStep = std::function<Step(std::span<const int64_t> contexts)>;

struct Answered {
  double restored_s = 0;  // since the start of run(); 0 if there was nothing to restore
  double first_token_s = 0;
};

class Pipeline {
 public:
  // `file` may be null if no load reads it. `slot_bytes`: size of the largest load from the file.
  Pipeline(Backend& backend, const ScratchFile* file, int64_t slot_bytes, int disk_depth);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Restores all contexts, which arrive at the start of the call, and returns their times. A step takes
  // contexts with at most `step_tokens` tokens in total, and at least one context. Rethrows exceptions of the
  // callers' functions once all loads and computations in progress have ended.
  std::vector<Answered> run(std::vector<Restoring> contexts, const MakeStep& make_step, int64_t step_tokens);

 private:
  struct Machine;
  class Session;
  std::unique_ptr<Machine> machine_;
};

}  // namespace kvcap::calibration
