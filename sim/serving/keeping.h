// What an instance does with the state that turns leave behind, whatever its form.
#pragma once

#include <cstdint>

#include "policy/options.h"

namespace kvcap {

struct KeepingOptions {
  Match match = Match::session;
  bool look_ahead = false;           // the queue says what is needed next (forecast.h)
  bool clairvoyant = false;          // every next use is known as soon as it can be (Belady's bound)
  bool decoupled_positions = false;  // what overflow leaves of a context stays valid
  double retained_share = 1;         // of a context, at the end of each turn (a token discard list)
  bool expires = false;              // the store has a TTL
  int64_t chunk_tokens = 0;          // pieces are kept in chunks of so many tokens; 0: whole
  bool weighs = false;               // some tier keeps the highest scores
  bool blocking_save = false;        // the GPU waits at the end of a turn until its state has been copied out
};

}  // namespace kvcap
