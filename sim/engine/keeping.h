// KeepingOptions: how an engine saves, loads and prefetches contexts.
#pragma once

#include <cstdint>
#include <optional>

#include "policy/options.h"

namespace kvcap {

struct KeepingOptions {
  Match match = Match::session;
  bool look_ahead = false;           // the queue provides next uses (forecast.h)
  bool clairvoyant = false;          // all next uses are known as early as possible (Belady's bound)
  bool decoupled_positions = false;  // contexts stay valid after losing their front to overflow
  double retained_share = 1;         // share of a context kept at the end of each turn (a token discard list)
  bool expires = false;              // the store has a TTL
  int64_t chunk_tokens = 0;          // pieces are stored in chunks of this size; 0: whole
  bool weighs = false;               // some tier keeps the highest scores
  bool soft_pins = false;            // some tier keeps shared contexts for longer
  bool blocking_save = false;        // the GPU waits at the end of a turn until its state is copied out

  // Restored KV equals the KV of a prefill, so its blocks may have names.
  bool exact = true;
  bool keeps_kv = true;  // saves read the KV blocks, which are not free until then
  LoadMode load = LoadMode::parked;
  SaveAt save_at = SaveAt::turn_end;
  bool save_generated = true;     // also saves the tokens of answers
  int64_t save_chunk_tokens = 0;  // with SaveAt::step: full chunks only; 0: full blocks
  int64_t store_after_hits = 0;   // lookups of a context before it is saved
  PrefetchOnArrival prefetch_on_arrival = PrefetchOnArrival::none;
  double prefetch_timeout_s = 1;
  double prefetch_timeout_s_per_token = 0;  // additional time per prompt token
  bool loads_first_tier_only = false;       // state in lower tiers must be moved there first
  int64_t load_min_tokens = 1;              // fewer tokens are computed instead
  double remote_copies = 1;                 // per write to a remote tier
  double lookup_s = 0;                      // time of the remote tier's index lookup, once per turn
  double write_queue_s = 0;                 // limit of a tier's write queue in seconds of work; 0: none
};

}  // namespace kvcap
