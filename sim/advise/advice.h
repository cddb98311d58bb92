// Advice: what kvcap plan reports in addition to the answer, such as why the answer wins and where it flips.
// It is computed from the runs of the search and from runs of perturbed answers (perturb.h), judged by the
// same Judge.
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

// Returns the advice on a plan's answer. `draws`: the number of plausible machines to draw. REQUIRES:
// result.best.
Advice advise(const Plan& plan, const PlanResult& result, Judge& judge, int64_t draws);

}  // namespace kvcap
