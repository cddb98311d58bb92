// KeepingOptions: how an engine saves, loads and prefetches contexts.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "policy/options.h"

namespace kvcap {

struct KeepingOptions {
  Match match = Match::session;
  bool look_ahead = false;           // the queue tells the store the next uses (forecast.h)
  bool clairvoyant = false;          // all next uses are known as early as possible (Belady's bound)
  bool decoupled_positions = false;  // contexts stay valid when overflow cuts off their front
  double retained_share = 1;         // share of a context kept at the end of each turn (token discard list)
  bool expires = false;              // the store has a TTL
  int64_t chunk_tokens = 0;          // pieces are stored in chunks of this size; 0: as a whole
  bool weighs = false;               // some tier evicts by score
  bool soft_pins = false;            // some tier evicts shared contexts later than others
  bool blocking_save = false;        // at the end of a turn the GPU waits until its state is copied out

  // True: restored KV equals the KV of a prefill, so its blocks may enter the prefix cache under their names.
  bool exact = true;
  bool keeps_kv = true;  // saves read the KV blocks, which are held until the saves end
  LoadMode load = LoadMode::parked;
  SaveAt save_at = SaveAt::turn_end;
  bool save_generated = true;    // also save the tokens of answers
  int64_t store_after_hits = 0;  // a part is saved once more turns than this have used it; 0: at once
  PrefetchOnArrival prefetch_on_arrival = PrefetchOnArrival::none;
  double prefetch_timeout_s = 1;
  double prefetch_timeout_s_per_token = 0;  // additional time per prompt token
  double prefetch_timeout_max_s = std::numeric_limits<double>::infinity();
  int64_t prefetch_min_tokens = 1;                  // a smaller prefetch does not begin
  std::optional<int64_t> prefetch_capacity_tokens;  // limit of tokens being prefetched at a time
  bool loads_first_tier_only = false;  // state in lower tiers must first be moved to the first tier
  int64_t load_min_tokens = 1;         // a smaller hit is computed instead of loaded
  double load_enqueue_s = 0;           // time to enqueue all layers; a blocking load takes at least this long
  bool polled_loads = false;           // the scheduler learns of the end of a load only some steps later
  double remote_copies = 1;            // copies per write to a remote tier
  double lookup_s = 0;                 // duration of a lookup in the remote tier's index; one per turn
  double write_queue_s = 0;            // limit of a tier's write queue in seconds of work; 0: no limit

  bool prefetches_arrivals() const {
    return prefetch_on_arrival != PrefetchOnArrival::none &&
           prefetch_on_arrival != PrefetchOnArrival::at_lookup;
  }
};

}  // namespace kvcap
