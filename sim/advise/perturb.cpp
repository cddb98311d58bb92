#include "advise/perturb.h"

#include <utility>

namespace kvcap {

void perturb(const Perturbation& perturbation, Judge& judge) {
  judge.begin(perturbation.step);
  for (auto trials = perturbation.propose(); !trials.empty(); trials = perturbation.propose()) {
    perturbation.tell(judge.look(trials, perturbation.look));
  }
}

std::function<std::vector<Trial>()> once(std::vector<Trial> trials) {
  return [trials = std::move(trials)]() mutable { return std::exchange(trials, {}); };
}

}  // namespace kvcap
