// Pipeline: performs restorations of several contexts at once, as an engine does. Loads go first come first
// served, from a file through pinned memory or straight from the host's, on a stream of their own;
// computation goes on another, layer by layer. A layer of a restoration is computed when what it loads has
// arrived and the layer before is done; of several restorations that could go on the one that started first
// does; prefill steps of what has come back get the device when no restoration can use it, and are held up
// for a layer by one that can.
//
// The pipeline knows no transformer: what is loaded, computed and prefilled are functions.
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
  int64_t offset_bytes = 0;  // multiples of kDirectBytes, both
  int64_t bytes = 0;
};

// One layer's transfer. Pieces of the file are read one behind the other to `slot`, pinned memory that is
// free again when what `enqueue` has enqueued is done; without pieces `slot` is null.
struct Load {
  std::vector<DiskPiece> pieces;
  std::function<void(Stream& copies, const std::byte* slot)> enqueue;
};

struct Stage {
  // What it loads; called on the calling thread when the load may be asked for. Empty: nothing.
  std::function<Load()> load;
  bool waits = false;  // what it loads is known only when everything before it has been computed
  std::function<void(Stream&)> compute;  // enqueues; empty: nothing
  // Called when computed; then the next stage may be enqueued, which may be earlier without it.
  std::function<void()> after;
  // Asked when the load would be: whether the stage turns out to be needless.
  std::function<bool()> skipped;
};

inline constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

struct Restoring {
  std::vector<Stage> stages;
  int64_t ahead = kNoLimit;  // stages that loads may run ahead of computation
  // Its new tokens have been prefilled when the last stage is done; else a step prefills step_tokens.
  bool fused = false;
  int64_t step_tokens = 0;
};

// Prefills of these contexts in one step: parts in order, each of which enqueues.
using Step = std::vector<std::function<void(Stream&)>>;
using MakeStep = std::function<Step(std::span<const int64_t> contexts)>;

struct Answered {
  double restored_s = 0;  // since the start; of what had nothing to restore 0
  double first_token_s = 0;
};

class Pipeline {
 public:
  // `file` may be null when nothing lies on disk. `slot_bytes`: the largest load from the file.
  Pipeline(Backend& backend, const ScratchFile* file, int64_t slot_bytes, int disk_depth);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // All contexts arrive at once. Steps take as many tokens as `step_tokens`, and at least one context.
  // What a function of theirs throws is thrown on when nothing of theirs is under way.
  std::vector<Answered> run(std::vector<Restoring> contexts, const MakeStep& make_step, int64_t step_tokens);

 private:
  struct Machine;
  class Session;
  std::unique_ptr<Machine> machine_;
};

}  // namespace kvcap::calibration
