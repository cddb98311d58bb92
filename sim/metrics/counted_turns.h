// Selects the turns that count in a result's latencies and hits: all turns or, if the scenario asks for it,
// only those after the TTFTs have settled or inside the steady window.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "metrics/recorder.h"
#include "metrics/statistics/stability.h"

namespace kvcap {

// When the TTFTs of turns, in order of arrival, settle.
struct Settling {
  bool can_tell = false;
  std::size_t turns = 0;  // number of turns before the TTFTs settle, including unanswered turns
  std::size_t served = 0;
  std::string method;
};
Settling settling_of(const std::vector<TurnRecord>& turns);

// If `asked`, marks the turns before the TTFTs settle as warm-up. Returns a note on the warm-up for the
// result; "" if there is nothing to say.
std::string cut_warmup(const Settling& settling, bool asked, std::vector<TurnRecord>& turns);
// Marks the turns outside the window as warm-up. Returns a note if there is no steady window, otherwise "".
std::string cut_unsteady(const Window& window, std::vector<TurnRecord>& turns);

}  // namespace kvcap
