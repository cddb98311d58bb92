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

// waiting: in the queue. loading: its context is being loaded, and no step computes for it.
enum class RequestPhase : uint8_t { waiting, loading, running };

// Running saves of a request's blocks, which are not free until they have ended.
struct Saves {
  int64_t under_way = 0;
  KvHolding holding;  // set when the request has ended
};

struct Request {
  Arrival arrival;
  TurnText text;
  TurnRecord record;
  Order number = 0;    // in order of arrival
  double joins_s = 0;  // when it joins the queue: its arrival plus the API time
  RequestPhase phase = RequestPhase::waiting;

  int64_t history_tokens = 0;
  int64_t input_tokens = 0;
  int64_t output_tokens = 0;

  // KV blocks of its sequence. They are named by the chain of its tokens if its KV equals a prefill's of that
  // chain.
  std::vector<BlockRun> chain;
  KvHolding holding;
  bool named = true;
  int64_t free_tokens = 0;    // tokens of its KV without blocks: ideal's history, contexts in an hbm tier
  int64_t unused_tokens = 0;  // found but unimportant history tokens, which are not used

  int64_t generated = 0;         // known tokens of the answer
  int64_t ahead = 0;             // maximum of tokens that planned steps will yield
  int64_t drafts_ahead = 0;      // drafts among them, which may be rejected
  int64_t orphans = 0;           // planned steps of a request that was preempted since
  int64_t planned = 0;           // tokens whose computation is planned or done, including planned drafts
  int64_t computed = 0;          // tokens computed or found
  int64_t prompt_end = 0;        // tokens known at its admission; beyond them it decodes
  int64_t saved_tokens = 0;      // tokens of its sequence that were handed to the tiers
  std::shared_ptr<Saves> saves;  // null until a part of it is saved
  std::vector<Key> loads;        // keys being loaded for it
  std::vector<Move> displaced;   // moves caused by its load, performed when the load has ended

  // For disaggregated prefill and decode. On the decode node: null once the prompt has arrived or was given
  // up.
  std::shared_ptr<Handover> handover;

  bool given_up = false;    // the client gave up: no further step is planned
  bool used_tiers = false;  // its use of tier contents has been counted
  bool restored = false;    // since its admission: its context in the tiers has been restored
  bool fused = false;       // its restoration computes its prompt as well
  double looked_up_s = -1;  // date of the lookup in a remote tier's index
  double admitted_s = -1;
  double restored_s = 0;
  double handed_over_s = -1;  // date at which all of the prompt's KV had arrived from another node
  double last_token_s = 0;
  double waits_until_s = 0;  // end of the maximum wait for a prefetch

  // Returns the existing tokens of its sequence: the prompt and the known part of the answer.
  int64_t known_tokens() const { return history_tokens - unused_tokens + input_tokens + generated; }
  int64_t prompt_tokens() const { return history_tokens - unused_tokens + input_tokens; }
};
using RequestPtr = std::unique_ptr<Request>;

}  // namespace kvcap
