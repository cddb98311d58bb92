// FinishedRuns: simulations of a plan, a comparison or a capacity search that have ended, a file each in
// OUT/.finished, so that --resume does not repeat them.
#pragma once

#include <functional>
#include <string>

#include "plan/sweep/point.h"
#include "scenario/scenario.h"

namespace kvcap {

class FinishedRuns {
 public:
  // No folder: keeps nothing. What an earlier command has left is used only with `resume`.
  FinishedRuns(const std::string& out_folder, bool resume);

  bool is_on() const { return !folder_.empty(); }
  // What tells a scenario from others, its files included.
  // A trace from a pipe cannot be compared with an earlier one: then nothing is kept.
  std::string key_of(const Scenario& scenario) const;
  // The result of an earlier run with this key, or what `compute` returns, which is kept before it is
  // returned. Called in workers.
  std::string get(const std::string& key, const std::function<std::string()>& compute) const;
  // For the error of a run that died.
  std::string hint() const { return is_on() ? "; the others are kept: --resume completes them" : ""; }
  // The command has written its answer: the folder goes.
  void discard() const;

 private:
  mutable std::string folder_;
  bool resume_ = false;
  mutable PointKeys keys_;
};

}  // namespace kvcap
