// Advice: what kvcap plan says beside the answer. All of it comes from the search's judged runs, and from
// runs of the perturbed answer (perturb.h) that the same judge adds to them.
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
  bool is_interrupted = false;  // by Ctrl-C: the members that were not finished are empty
};

// `draws`: the number of drawn machines. REQUIRES: result.best.
Advice advise(const Plan& plan, const PlanResult& result, Judge& judge, int64_t draws);

}  // namespace kvcap
