// TraceEvents: collects one run and writes it as a timeline for Perfetto (ui.perfetto.dev) and Chrome, in the
// Trace Event Format, https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h-I0nSsKchNAySU.
//
//   machine    one track of slices per GPU, link and disk; overlapping slices go to further tracks
//   levels     counters: waiting and running turns, KV tokens, bytes stored in each tier
//   requests   one track per turn with its phases: queue, load, restore compute, prefill, decode
//
// Each node of a fleet has its own machine and levels. Times are microseconds since the start of the run.
#pragma once

#include <string>
#include <vector>

#include "base/resource.h"
#include "metrics/recorder.h"
#include "metrics/result.h"

namespace kvcap {

class TraceEvents {
 public:
  void busy(Resource which, double busy_s, double from_s, double to_s, std::size_t node = 0);
  void level(Level which, double value, double now_s, std::size_t node = 0);

  // Returns a JSON object with the tracks of `turns`. `name` is shown as the title.
  std::string json(const std::string& name, const std::vector<TurnRecord>& turns) const;

 private:
  struct Slice {
    Resource resource;
    double from_s, to_s, busy_s;
    std::size_t node;
  };
  struct Count {
    Level level;
    double now_s, value;
    std::size_t node;
  };
  std::vector<Slice> slices_;
  std::vector<Count> counts_;
};

}  // namespace kvcap
