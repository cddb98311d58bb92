// Selects the turns that a result's latencies and hits cover: all turns, except those before the TTFTs settle
// or outside a steady window if the scenario excludes them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "metrics/recorder.h"
#include "metrics/statistics/stability.h"

namespace kvcap {

// The point at which the TTFTs of the turns, in order of arrival, settle.
struct Settling {
  bool can_tell = false;
  std::size_t turns = 0;  // turns before the TTFTs settle, including unanswered ones
  std::size_t served = 0;
  std::string method;
};
Settling settling_of(const std::vector<TurnRecord>& turns);

// Marks the turns before the TTFTs settle as warm-up if `asked`. Returns a note, or "".
std::string cut_warmup(const Settling& settling, bool asked, std::vector<TurnRecord>& turns);
// Marks the turns outside the window as warm-up. Returns a note, or "".
std::string cut_unsteady(const Window& window, std::vector<TurnRecord>& turns);

}  // namespace kvcap
