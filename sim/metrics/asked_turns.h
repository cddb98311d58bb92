// AskedTurns: the turns that clients ask for, answered or not, as a measure of the load.
#pragma once

#include "metrics/recorded.h"

namespace kvcap {

class AskedTurns {
 public:
  // Keeps references to both arguments.
  AskedTurns(const Recorded& recorded, const RunFacts& facts);

  double answered() const { return answered_; }
  // Returns the number of turns that were not rejected for their length: no machine serves longer ones.
  double servable() const { return servable_; }
  // Returns how many turns the work that the machine did corresponds to: the answered turns, and the attempts
  // that clients abandoned by the prompt tokens that were computed for them.
  double worth_of_work() const;
  // Returns the mean over all servable turns, because the unanswered ones may be longer than the others. An
  // unanswered turn is assumed to reuse the same share of its prompt as the answered turns.
  // REQUIRES: there is a servable turn.
  MeanTurn mean() const;

 private:
  bool is_servable(const TurnRecord& turn) const;

  const Recorded& recorded_;
  const RunFacts& facts_;
  double answered_ = 0, servable_ = 0;
  double answered_prompt_tokens_ = 0, computed_prompt_tokens_ = 0;  // of the answered turns
};

}  // namespace kvcap
