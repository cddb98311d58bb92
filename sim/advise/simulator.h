// Simulator: the Evaluator that simulates configurations of a plan, each run in its own process.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "advise/judge.h"
#include "plan/sweep/finished_runs.h"
#include "plan/sweep/sources.h"

namespace kvcap {

class Simulator : public Evaluator {
 public:
  explicit Simulator(const Plan& plan, const FinishedRuns& finished = FinishedRuns("", false))
      : plan_(plan), finished_(finished) {}
  // Returns results without turns and texts. The answer for a configuration that cannot run contains the
  // reason. Configurations that differ only in storage that neither of them uses share one run.
  std::vector<Answer> run(const std::vector<Ask>& asks) override;
  void begin(const std::string& step) override { step_ = step; }
  int64_t simulations() const { return simulations_; }

 private:
  const Plan& plan_;
  FinishedRuns finished_;
  int64_t simulations_ = 0;
  std::string step_ = "simulating";
  Sources sources_;
  std::map<std::string, Answer> answers_;  // key: everything that the simulation depends on
};

}  // namespace kvcap
