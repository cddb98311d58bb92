// Runs configurations of a plan by simulation, each run in a process of its own.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan/search/plan_judge.h"
#include "plan/sweep/finished_runs.h"
#include "plan/sweep/sources.h"

namespace kvcap {

class Simulator : public Evaluator {
 public:
  explicit Simulator(const Plan& plan, const FinishedRuns& finished = FinishedRuns("", false))
      : plan_(plan), finished_(finished) {}
  // Results come without their turns and texts. A scenario that is refused is an answer with its reason.
  // Configurations that differ in nothing but storage that neither uses are run once.
  std::vector<Answer> run(const std::vector<Ask>& asks) override;
  int64_t simulations() const { return simulations_; }

 private:
  const Plan& plan_;
  FinishedRuns finished_;
  int64_t simulations_ = 0;
  Sources sources_;
  std::map<std::string, Answer> answers_;  // by what the simulation depends on
};

// Throws InputError for the first value that no configuration accepts: it can be no answer.
void check_values(const Plan& plan, const std::string& file);

}  // namespace kvcap
