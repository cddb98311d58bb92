// Sessions: the state of sessions and texts that does not depend on nodes. One object serves a whole fleet.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/key_map.h"
#include "cost/identification.h"
#include "engine/arrivals.h"
#include "engine/keeping.h"
#include "engine/options.h"
#include "engine/prompt.h"
#include "metrics/recorder.h"
#include "state/store.h"
#include "workload/workload.h"

namespace kvcap {

// Sequence of a turn that is about to be served.
struct TurnText {
  std::vector<SequenceRun> runs;  // whole sequence: history, new tokens, answer
  std::vector<Part> prompt;       // parts of the prompt that tiers may hold, from its beginning
  std::vector<Part> answer;       // pieces that the answer completes
  int64_t history_tokens = 0;     // prompt tokens whose state earlier turns may have left
  int64_t input_tokens = 0;       // remaining prompt tokens
  int64_t output_tokens = 0;
  bool cold = true;              // no earlier turn has left any part of the history
  std::size_t history_runs = 0;  // number of runs in the history
  bool was_cut = false;          // the history lost its front at this turn
  bool truncated = false;        // the history, the input or the answer was shortened
};

// A history that lost its front at this turn: only the last `tokens` tokens of text `key` remain.
struct Cut {
  Key key = 0;
  int64_t tokens = 0;
};

// Returns the key under which tiers store the context with which a session begins.
Key context_text(const Workload& workload, uint32_t session);

class Sessions {
 public:
  Sessions(const Workload& workload, const ServingOptions& serving, const KeepingOptions& keeping,
           int64_t max_model_len);

  // Returns the sequence of a turn that arrives now. A history that overflows loses its front permanently;
  // `cuts` receives the affected texts.
  TurnText open(const Arrival& arrival, std::vector<Cut>* cuts = nullptr) const;
  // Notes that the turn with sequence `text` was answered; later turns continue it. Returns the parts to
  // store; `cuts` receives what the discard list (KeepingOptions::retained_share) removed.
  std::vector<Part> close(const Arrival& arrival, const TurnText& text, std::vector<Cut>* cuts);
  // True iff the session's own text is stored. If prompts have pieces, it is stored only if the
  // session has several turns.
  bool stores_own_text(uint32_t session) const {
    return !has_pieces || workload_.sessions[session].turn_count > 1;
  }
  // Notes that no later turn of the session arrives.
  void end(uint32_t session);
  // Returns the turn's record with the fields that are known before it is served.
  TurnRecord record_of(const Arrival& arrival, const TurnText& text) const;
  // Records a turn that was rejected or has failed, and the turns that never arrive as a consequence. Returns
  // the number of turns that never arrive.
  uint32_t end_unanswered(const Arrival& arrival, TurnRecord record, double now_s, Recorder& recorder);

  Arrivals arrivals;
  bool has_pieces;  // some prompts have pieces, so they are stored before their turns end
  KeySet seen;      // keys of all parts that turns have left
  std::unordered_map<Key, ChunkScore> scores;  // used if some tier evicts by score

 private:
  using Runs = std::vector<SequenceRun>;

  Runs context_of(uint32_t session) const;
  Runs history_of(const Arrival& arrival) const;
  bool continues_text(const Arrival& arrival) const;
  Key own_text(uint32_t session, uint32_t number) const;
  void cut(Runs& runs, int64_t tokens, uint32_t session, bool stays_valid, std::vector<Cut>* cuts) const;
  void remember(const Arrival& arrival, Runs runs);
  int64_t kept_history(int64_t history, const Turn& turn) const;
  // Returns the length of the turn's answer. With serving.overflow `truncate`, if the workload's source gives
  // whole prompts, the answer ends at max_model_len, as in engines unless the request sets a length.
  int64_t output_tokens(const Turn& turn, int64_t prompt_tokens, bool is_whole_prompt) const;

  const Workload& workload_;
  ServingOptions serving_;
  KeepingOptions keeping_;
  int64_t max_model_len_;
  // Sequence at the end of each session's latest turn. of_turns_ has one for every turn of sessions that
  // branch.
  std::vector<uint32_t> slot_of_session_;
  std::vector<Runs> slots_;
  std::vector<uint32_t> free_slots_;
  std::unordered_map<uint64_t, Runs> of_turns_;
  std::unordered_map<uint32_t, uint32_t> closed_turns_;  // for sessions that branch
};

}  // namespace kvcap
