// What an instance does with the state that turns leave behind, whatever its form.
#pragma once

#include <cstdint>
#include <optional>

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
  bool soft_pins = false;            // some tier keeps what is shared for longer
  bool blocking_save = false;        // the GPU waits at the end of a turn until its state has been copied out

  // What a restoration brings back is the KV that a prefill computes, so that its blocks may have names.
  bool exact = true;
  bool keeps_kv = true;  // what is saved is read from the KV blocks, which are not free before that is done
  LoadMode load = LoadMode::parked;
  SaveAt save_at = SaveAt::turn_end;
  bool save_generated = true;     // tokens of answers are saved as well
  int64_t save_chunk_tokens = 0;  // with SaveAt::step: full chunks only; 0: full blocks
  int64_t store_after_hits = 0;   // lookups of a context before it is saved
  PrefetchOnArrival prefetch_on_arrival = PrefetchOnArrival::none;
  double prefetch_timeout_s = 1;
  double prefetch_timeout_s_per_token = 0;  // of the prompt, more of it
  bool loads_first_tier_only = false;       // what lies farther has to come there first
  int64_t load_min_tokens = 1;              // fewer are computed
  double remote_copies = 1;                 // of what is written to a remote tier
  double lookup_s = 0;                      // of the index of a remote tier, once a turn
  double write_queue_s = 0;                 // of work that a tier's write queue holds at most; 0: any
};

}  // namespace kvcap
