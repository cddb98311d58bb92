// TraceEvents: one run as a timeline that Perfetto (ui.perfetto.dev) and Chrome open: the Trace Event Format,
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h-I0nSsKchNAySU.
//
//   machine    a track of slices for each GPU, link and disk; what overlaps goes on a second one
//   levels     counters: turns that wait and run, KV tokens, bytes stored in each tier
//   requests   a track a turn, with what it waited for: queue, load, restore compute, prefill, decode
//
// Of a fleet each node has a machine and levels of its own.
//
// Times are microseconds since the first second of the run.
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

  // A JSON object with `turns`' tracks. `name` is shown as the trace's title.
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
