// Sessions: what is true of sessions and texts whichever node serves them. One for a whole fleet.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/key_map.h"
#include "cost/identification.h"
#include "metrics/recorder.h"
#include "serving/arrivals.h"
#include "serving/keeping.h"
#include "serving/options.h"
#include "serving/prompt.h"
#include "state/store.h"
#include "workload/workload.h"

namespace kvcap {

// A turn that is about to be served.
struct TurnText {
  std::vector<SequenceRun> runs;  // of its sequence: history, new tokens, answer
  std::vector<Part> prompt;       // what tiers may hold of its prompt, from its beginning
  std::vector<Part> answer;       // pieces that its answer completes
  int64_t history_tokens = 0;     // of the prompt: what earlier turns may have left
  int64_t input_tokens = 0;       // the rest of it
  bool cold = true;               // nobody has left a part of its history
  std::size_t history_runs = 0;   // of runs: its history
  bool was_cut = false;           // the history lost its front at this turn
  bool truncated = false;         // it or the input did
};

// A history that lost its front at this turn: of the text `key` the last `tokens` tokens are left.
struct Cut {
  Key key = 0;
  int64_t tokens = 0;
};

// Under which key tiers hold the context that a session begins with.
Key context_text(const Workload& workload, uint32_t session);

class Sessions {
 public:
  Sessions(const Workload& workload, const ServingOptions& serving, const KeepingOptions& keeping,
           int64_t max_model_len);

  // The sequence of a turn that arrives now. A history that overflows loses its front for good; `cuts` are
  // the texts that did.
  TurnText open(const Arrival& arrival, std::vector<Cut>* cuts = nullptr) const;
  // The turn was answered; `text` is its sequence. Its session's later turns build on it. Returns what is
  // kept of it: its parts, and what the discard list (KeepingOptions::retained_share) took off.
  std::vector<Part> close(const Arrival& arrival, const TurnText& text, std::vector<Cut>* cuts);
  // No later turn of the session arrives.
  void end(uint32_t session);
  // What is known of a turn before it is served.
  TurnRecord record_of(const Arrival& arrival, const TurnText& text) const;
  // The turn was rejected or has failed, as `record` says, and so have those that never arrive for that.
  // Returns how many these are.
  uint32_t end_unanswered(const Arrival& arrival, TurnRecord record, double now_s, Recorder& recorder);

  Arrivals arrivals;
  KeySet seen;                                 // keys of what some turn has left
  std::unordered_map<Key, ChunkScore> scores;  // where some tier keeps the highest

 private:
  using Runs = std::vector<SequenceRun>;

  Runs context_of(uint32_t session) const;
  Runs history_of(const Arrival& arrival) const;
  bool continues_text(const Arrival& arrival) const;
  Key own_text(uint32_t session, uint32_t number) const;
  void cut(Runs& runs, int64_t tokens, uint32_t session, bool stays_valid, std::vector<Cut>* cuts) const;
  void remember(const Arrival& arrival, Runs runs);

  const Workload& workload_;
  ServingOptions serving_;
  KeepingOptions keeping_;
  int64_t max_model_len_;
  bool has_pieces_;
  // The sequence at the end of each session's last turn; of every turn where sessions branch.
  std::vector<uint32_t> slot_of_session_;
  std::vector<Runs> slots_;
  std::vector<uint32_t> free_slots_;
  std::unordered_map<uint64_t, Runs> of_turns_;
  std::unordered_map<uint32_t, uint32_t> closed_turns_;  // of sessions that branch
};

}  // namespace kvcap
