// The finalists of a plan on plausible machines (model_draws.h): in how many of them the answer still meets
// every target, and in how many nothing cheaper among the finalists does.
#pragma once

#include <string>
#include <vector>

#include "plan/model_draws.h"
#include "plan/search/plan_search.h"

namespace kvcap {

struct Finalist {
  const Candidate* candidate = nullptr;
  double meets = 0;                      // share of the machines in which it meets every target
  std::vector<ModelInterval> intervals;  // of the targets' metrics and of what is minimized
};

struct PlanDraws {
  int64_t draws = 0;  // 0: none were drawn
  int64_t sessions = 0;
  bool is_shortened = false;
  double still_best = 0;             // share in which the answer meets every target and nothing cheaper does
  std::vector<Finalist> finalists;   // the answer first
  std::vector<std::string> outside;  // of validation
};

// The answer, what is not told apart from it, the next cheaper and the next dearer that was judged.
std::vector<const Candidate*> finalists_of(const PlanResult& result);

// Without an answer or with no draws nothing is run.
PlanDraws draw_finalists(const Plan& plan, const PlanResult& result, const DrawOptions& options);

// `runs`: of the candidates, in their order; the first is the answer.
PlanDraws judge_finalists(const Plan& plan, const std::vector<const Candidate*>& candidates,
                          const ModelDraws& runs);

std::string plan_draws_text(const Plan& plan, const PlanDraws& draws);

}  // namespace kvcap
