// Advice: what kvcap plan reports in addition to the answer. It is based on the judged runs of the search and
// on runs of perturbed answers (perturb.h) by the same judge.
#pragma once

#include <cstdint>
#include <vector>

#include "advise/draws.h"
#include "advise/flips.h"
#include "advise/marginals.h"
#include "advise/why.h"

namespace kvcap {

struct Advice {
  std::vector<PriceChange> prices;
  Why why;
  std::vector<Marginal> marginals;
  std::vector<Stress> stresses;
  std::vector<Flip> flips;
  PlanDraws draws;
  bool is_interrupted = false;  // by Ctrl-C: unfinished members are empty
};

// `draws`: the number of drawn machines. REQUIRES: result.best.
Advice advise(const Plan& plan, const PlanResult& result, Judge& judge, int64_t draws);

}  // namespace kvcap
