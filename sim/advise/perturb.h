// The loop behind all advice on a plan's answer: perturb the answer, judge the perturbed answer, report the
// verdict.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "advise/judge.h"

namespace kvcap {

// One way to perturb an answer: more of a resource, other traffic, longer prompts.
struct Perturbation {
  std::string step;  // text that waiting users see
  Look look = Look::verdict;
  // Returns the trials to judge next, which run concurrently; an empty list ends the loop.
  std::function<std::vector<Trial>()> propose;
  // Receives the judged candidates of these trials, in the same order.
  std::function<void(const std::vector<const Candidate*>&)> tell;
};

// Runs the loop. `judge`: the judge of the search, which remembers everything that it has judged.
void perturb(const Perturbation& perturbation, Judge& judge);

// Returns a function `propose` that returns these trials once.
std::function<std::vector<Trial>()> once(std::vector<Trial> trials);

}  // namespace kvcap
