// Simulates the finalists of a plan (the answer and its closest competitors) on plausible machines
// (plan/model_draws.h). Reports the share of machines on which the answer meets every target, and the share
// on which no cheaper finalist does.
#pragma once

#include <string>
#include <vector>

#include "advise/search.h"
#include "plan/model_draws.h"

namespace kvcap {

struct Finalist {
  const Candidate* candidate = nullptr;
  double meets = 0;                      // share of machines on which the candidate meets every target
  std::vector<ModelInterval> intervals;  // intervals of the targets' metrics and of the minimized metric
};

struct PlanDraws {
  int64_t draws = 0;  // 0: none
  int64_t sessions = 0;
  bool is_shortened = false;
  // Share of machines on which the answer meets every target and no cheaper finalist does.
  double still_best = 0;
  std::vector<Finalist> finalists;   // the answer first
  std::vector<std::string> outside;  // assumptions that the validation does not cover
};

// Returns the answer, the next cheaper judged candidate, the next dearer one that meets every target, and the
// rivals, in this order; at most five candidates.
std::vector<const Candidate*> finalists_of(const PlanResult& result);

// Simulates the finalists on drawn machines and judges them. Runs nothing if there is no answer, or if no
// machines are to be drawn.
PlanDraws draw_finalists(const Plan& plan, const PlanResult& result, const DrawOptions& options);

// Judges the finalists by finished runs. `runs`: the runs of `candidates`, in the same order; the first
// candidate is the answer.
PlanDraws judge_finalists(const Plan& plan, const std::vector<const Candidate*>& candidates,
                          const ModelDraws& runs);

}  // namespace kvcap
