// Judge: decides whether a plan's configurations meet its targets. It runs configurations through an
// Evaluator: that of kvcap plan simulates them; those of tests compute formulas.
//
// A configuration first runs on the whole workload under one seed. The workload is lengthened until the run
// represents the steady state (replicate.h); further seeds start with that length.
//
// - If the configuration is saturated, or misses a target by more than the bound itself, no further seeds
//   run.
// - Rejected, failed or truncated turns are a miss unless a target bounds them.
// - If even the longest run does not decide whether the configuration is saturated, the verdict is `unclear`.
// - All other configurations run under 3, 6, 12, ... seeds until the interval of every metric lies on one
//   side of its bound. If that does not happen within the plan's limit, the verdict is `unclear`, which
//   counts as missed.
//
// Each of these looks at a configuration may err, so together they share an error probability of 5 %
// (Bonferroni). A candidate's intervals have the same confidence wherever they are printed.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "metrics/result.h"
#include "metrics/statistics/intervals.h"
#include "plan/plan.h"

namespace kvcap {

// One simulation to run.
struct Ask {
  Changes changes;
  double share = 1;          // share of the workload's sessions; above 1, more sessions are drawn
  int64_t replication = 0;   // added to the seed
  double context_scale = 1;  // multiplies the lengths of every prompt
};

struct Answer {
  std::string reason;  // why the configuration cannot run; empty: it can
  RunResult result;
  bool may_be_longer = false;  // true: a run with twice the share is allowed
};

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // Returns one answer per Ask, in the same order; equal Asks have equal answers.
  virtual std::vector<Answer> run(const std::vector<Ask>& asks) = 0;
  // Called before a step of the search, with a text that tells waiting users what the next runs are for.
  virtual void begin(const std::string& /*step*/) {}
};

// What a Judge judges: a configuration, possibly with all prompts of the workload scaled.
struct Trial {
  Changes changes;
  double context_scale = 1;

  auto operator<=>(const Trial&) const = default;
};

// A trial and its runs on the whole workload, one per seed.
struct Candidate {
  Changes changes;
  double context_scale = 1;
  Judgement verdict = Judgement::unclear;
  // cannot_run: the error. misses: "unstable" or the metric. unclear: "stable" or the metric.
  std::string reason;
  std::vector<RunResult> runs;
  double first_share = 1;  // Ask::share of the first run, with which further runs begin
  double confidence = 0.95;

  // Returns the mean over the runs; half_width is NaN for a single run.
  MeanInterval metric(const std::string& name) const;
  bool stable() const;
};

// Returns the mean of the difference one - other over the seeds under which both have run.
MeanInterval paired_difference(const Candidate& one, const Candidate& other,
                               const std::function<double(const RunResult&)>& value);

// Returns the minimized metric.
inline double objective(const Plan& plan, const RunResult& run) { return run.number(plan.minimize); }
inline double objective(const Plan& plan, const Candidate& one) { return one.metric(plan.minimize).mean; }
// True iff `one` is lower than `other` by more than the rounding error of equal prices.
bool is_lower(double one, double other);

// How many seeds the first look at a trial runs.
enum class Look : uint8_t {
  one_seed,   // for by_first_seed()
  verdict,    // 3 seeds, or one if that shows the trial to be hopeless
  intervals,  // 3 seeds
};

// Runs trials until their verdicts are clear. Remembers every trial, so that none runs twice under the same
// seed.
class Judge {
 public:
  Judge(const Plan& plan, Evaluator& evaluator);

  // Takes the first look at trials that have had none. Returns the candidates in the order of `wanted`;
  // references stay valid.
  std::vector<const Candidate*> look(const std::vector<Trial>& wanted, Look how = Look::verdict);
  void look_again(const Candidate& candidate);
  // True iff another look may decide the candidate's verdict.
  bool is_open(const Candidate& candidate) const;
  // Runs candidates that were judged by a single run under all seeds of a first look, so that their metrics
  // get intervals.
  void give_intervals(const std::vector<const Candidate*>& candidates);
  // Doubles the number of runs, up to the plan's limit, and judges again. Returns false at the limit.
  bool replicate(const Candidate& candidate);
  // Returns the candidate as judged by its first run alone.
  Candidate by_first_seed(const Candidate& candidate) const;
  // Runs each trial once on a part of the workload, without a verdict.
  std::vector<Answer> glance(const std::vector<Trial>& wanted, double share);

  void begin(const std::string& step) { evaluator_.begin(step); }

  // Returns the confidence of the intervals that verdicts use.
  double confidence() const { return confidence_; }

 private:
  Candidate& own(const Candidate& candidate);
  std::vector<Answer> long_enough(std::vector<Ask>& asks);
  bool misses_by_far(const RunResult& result) const;
  void run_up_to(const std::vector<Candidate*>& candidates, int64_t replications);
  void decide(Candidate& candidate) const;
  bool is_hopeless(const Candidate& candidate) const;

  const Plan& plan_;
  Evaluator& evaluator_;
  std::vector<int64_t> looks_;  // numbers of runs at which a verdict is tried
  double confidence_;
  std::map<Trial, Candidate> candidates_;
};

}  // namespace kvcap
