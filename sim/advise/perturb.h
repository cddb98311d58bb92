// The loop behind every advice on a plan's answer: perturb it, judge, tell.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "advise/judge.h"

namespace kvcap {

// One way to perturb an answer: more of a resource, other traffic, longer prompts.
struct Perturbation {
  std::string step;  // what people who wait see
  Look look = Look::verdict;
  // Returns the trials to judge next, which run concurrently; empty: it has seen enough.
  std::function<std::vector<Trial>()> propose;
  // Takes their candidates, in the same order.
  std::function<void(const std::vector<const Candidate*>&)> tell;
};

// Runs the loop. `judge`: that of the search, which remembers what it has judged.
void perturb(const Perturbation& perturbation, Judge& judge);

// Returns a `propose` that has one round.
std::function<std::vector<Trial>()> once(std::vector<Trial> trials);

}  // namespace kvcap
