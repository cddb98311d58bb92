// Request: one turn inside an engine, from its arrival to its last token.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "metrics/result.h"
#include "serving/arrivals.h"
#include "serving/sessions.h"
#include "state/eviction.h"
#include "state/kv_pool.h"

namespace kvcap {

class Handover;

// waiting: in the queue. loading: its context is on its way to the GPU, and no step computes for it.
enum class RequestPhase : uint8_t { waiting, loading, running };

// What is being saved of a request's blocks, which are not free before that is done.
struct Saves {
  int64_t under_way = 0;
  KvHolding holding;  // once the request has ended
};

struct Request {
  Arrival arrival;
  TurnText text;
  TurnRecord record;
  Order number = 0;    // in order of arrival
  double joins_s = 0;  // when it joins the queue: its arrival and the time of the API before it
  RequestPhase phase = RequestPhase::waiting;

  int64_t history_tokens = 0;
  int64_t input_tokens = 0;
  int64_t output_tokens = 0;

  // The KV blocks of its sequence. Their names are the chain of its tokens, where its KV is that of the
  // chain.
  std::vector<BlockRun> chain;
  KvHolding holding;
  bool named = true;
  int64_t free_tokens = 0;    // of its KV that take no block: ideal's history, contexts in an hbm tier
  int64_t unused_tokens = 0;  // of its history, found and not important: they take no part

  int64_t generated = 0;         // tokens of the answer that are known
  int64_t ahead = 0;             // tokens that planned steps will yield, at most
  int64_t drafts_ahead = 0;      // of them, drafts: they may be rejected
  int64_t orphans = 0;           // planned steps of a request that was preempted meanwhile
  int64_t planned = 0;           // tokens whose computation is planned or done, planned drafts included
  int64_t computed = 0;          // done, or found
  int64_t prompt_end = 0;        // tokens that were known at its admission: beyond them it decodes
  int64_t saved_tokens = 0;      // of its sequence, that have been handed to the tiers
  std::shared_ptr<Saves> saves;  // none as long as nothing has been saved of it
  std::vector<Key> loads;        // what is on its way for it
  std::vector<Move> displaced;   // moves that its load causes, performed when the load has ended

  // Where one node computes prompts and another decodes. On the latter: none once it has come, or was given
  // up.
  std::shared_ptr<Handover> handover;

  bool given_up = false;    // by its client: no further step is planned for it
  bool used_tiers = false;  // its use of what the tiers hold has been counted
  bool restored = false;    // since its admission: what the tiers hold of it has come back
  bool fused = false;       // its restoration computes its prompt as well
  double looked_up_s = -1;  // when the index of a remote tier was asked
  double admitted_s = -1;
  double restored_s = 0;
  double handed_over_s = -1;  // when all of the prompt's KV had come from another node
  double last_token_s = 0;
  double waits_until_s = 0;  // for a prefetch, at most so long

  // Tokens of its sequence that exist: the prompt and what is known of the answer.
  int64_t known_tokens() const { return history_tokens - unused_tokens + input_tokens + generated; }
  int64_t prompt_tokens() const { return history_tokens - unused_tokens + input_tokens; }
};
using RequestPtr = std::unique_ptr<Request>;

}  // namespace kvcap
