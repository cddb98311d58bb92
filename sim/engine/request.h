// Request: one turn in an engine, from its arrival to its last token.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/arrivals.h"
#include "engine/sessions.h"
#include "metrics/result.h"
#include "state/eviction.h"
#include "state/kv_pool.h"

namespace kvcap {

class Handover;

// waiting: in the queue. loading: its context is being loaded, and no step computes it.
enum class RequestPhase : uint8_t { waiting, loading, running };

// Blocks of a request that are kept after its end because saves or a handover still read them.
struct KvLease {
  int64_t readers = 0;
  KvHolding holding;  // set once the request has ended
};

struct Request {
  Arrival arrival;
  TurnText text;
  TurnRecord record;
  Order number = 0;    // place in the queue: in order of arrival, or of (priority, arrival)
  double joins_s = 0;  // time at which the request joins the queue, after the API server
  RequestPhase phase = RequestPhase::waiting;

  int64_t history_tokens = 0;
  int64_t input_tokens = 0;
  int64_t output_tokens = 0;

  // If `named`, the KV blocks enter the prefix cache under the names in `chain`. False if the KV differs from
  // that of a prefill.
  std::vector<BlockRun> chain;
  KvHolding holding;
  bool named = true;
  int64_t free_tokens = 0;    // KV tokens that need no blocks: `ideal`'s history, contexts in an hbm tier
  int64_t unused_tokens = 0;  // history tokens that were found but, being unimportant, are not used

  int64_t generated = 0;     // known tokens of the answer
  int64_t ahead = 0;         // maximum number of tokens that planned steps will yield
  int64_t drafts_ahead = 0;  // drafts among `ahead`, which may be rejected
  int64_t drafted = -1;      // drafts that the last step has prepared; -1: as many as allowed
  int64_t orphans = 0;       // unfinished steps that were planned before the preemption
  int64_t planned = 0;       // tokens that are computed or planned, including planned drafts
  int64_t computed = 0;      // tokens computed or found
  int64_t prompt_end = 0;    // tokens known at admission; the request decodes after them
  int64_t saved_tokens = 0;  // tokens of the sequence that have been saved to the tiers or are being saved
  std::shared_ptr<KvLease> lease;  // null until a save or a handover reads the blocks
  std::vector<Key> loads;          // keys being loaded for the request
  std::vector<Move> displaced;     // moves that the load causes; performed when the load has ended

  // For disaggregated prefill and decode. On the decode node: null once the prompt has arrived or was given
  // up.
  std::shared_ptr<Handover> handover;

  bool given_up = false;           // the client has given up: no further step is planned
  bool is_lost = false;            // the node that computed the prompt has failed: no further step is planned
  bool used_tiers = false;         // the use of the tiers has been counted
  bool restored = false;           // the context has been restored from the tiers since admission
  bool fused = false;              // the restoration also computes the prompt
  double looked_up_s = -1;         // time of the lookup in a remote tier's index
  int64_t lookup_round = -1;       // Admissions' round of the lookup in farther tiers; -1: none yet
  bool prefetched = false;         // the prefetch has begun after this lookup
  int64_t prefetching_tokens = 0;  // prompt tokens that count as being prefetched
  double admitted_s = -1;
  double restored_s = 0;
  double handed_over_s = -1;  // time at which all of the prompt's KV had arrived from another node
  double last_token_s = 0;
  double waits_until_s = 0;  // latest time until which the request waits for a prefetch

  // Returns the tokens of its sequence that exist: the prompt and the known part of the answer.
  int64_t known_tokens() const { return history_tokens - unused_tokens + input_tokens + generated; }
  int64_t prompt_tokens() const { return history_tokens - unused_tokens + input_tokens; }
};
using RequestPtr = std::unique_ptr<Request>;

}  // namespace kvcap
