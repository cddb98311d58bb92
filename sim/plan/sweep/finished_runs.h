// FinishedRuns: stores each finished simulation of a plan, a comparison or a capacity search in a file of its
// own in OUT/.finished, so that --resume does not repeat it.
#pragma once

#include <functional>
#include <string>

#include "plan/sweep/point.h"
#include "scenario/scenario.h"

namespace kvcap {

class FinishedRuns {
 public:
  // An empty folder stores nothing. Results of an earlier command are used only with `resume`.
  FinishedRuns(const std::string& out_folder, bool resume);

  bool is_on() const { return !folder_.empty(); }
  // Returns a key for the scenario and the contents of its files. If the trace comes from a pipe, which
  // cannot be read twice, switches storing off.
  std::string key_of(const Scenario& scenario) const;
  // Returns the stored result for this key; if there is none, stores and returns the result of `compute`.
  // Called in workers.
  std::string get(const std::string& key, const std::function<std::string()>& compute) const;
  // Returns text for the end of the error message of a failed run.
  std::string hint() const {
    return is_on() ? "; finished runs are kept: --resume completes the others" : "";
  }
  // True iff there are stored results that --resume can use.
  bool has_some() const;
  // Removes the folder; called once the command has written its answer.
  void discard() const;

 private:
  mutable std::string folder_;
  bool resume_ = false;
  mutable PointKeys keys_;
};

}  // namespace kvcap
