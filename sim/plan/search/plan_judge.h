// The judge of a plan's configurations, over anything that can run one: tests run formulas, kvcap plan runs
// simulations.
//
// A configuration is run on the whole workload, made longer under each seed until it tells the long run
// (replicate.h); further seeds begin with the length that the first one took. What is saturated or misses a
// target by more than its bound under the first seed is not run again. What rejects or truncates turns
// misses, unless a target says how many it may. What even its longest run cannot tell from a saturated one is
// `unclear`. The others are run under 3, 6, 12, ... seeds, until every target lies outside the interval of
// its metric or the plan's limit is reached; then the verdict is `unclear`, which counts as missed. Each of
// these looks may err: so that all of them together err in 5 % of the cases at most, each has its share of
// that (Bonferroni). A candidate's intervals are those that its verdict rests on, wherever they are printed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "metrics/result.h"
#include "metrics/statistics/intervals.h"
#include "plan/search/plan.h"

namespace kvcap {

// One simulation that is wanted.
struct Ask {
  Changes changes;
  double share = 1;          // of the workload's sessions; more than 1: drawn on
  int64_t replication = 0;   // seed + replication
  double context_scale = 1;  // what every prompt's lengths are multiplied by
};

struct Answer {
  std::string reason;  // why it cannot run; empty: it can
  RunResult result;
  bool may_be_longer = false;  // twice the share can be asked for
};

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // One answer an ask, in order; the same ask always has the same answer.
  virtual std::vector<Answer> run(const std::vector<Ask>& asks) = 0;
};

enum class Judgement : uint8_t { cannot_run, misses, unclear, meets };

bool is_saturated(const RunResult& result);
// What went unserved (metrics/unserved.h) and has no target; empty: nothing.
std::string_view unserved(const RunResult& result, const std::vector<Target>& meet);

// A configuration that has been run on the whole workload, `runs` under as many seeds.
struct Candidate {
  Changes changes;
  double context_scale = 1;
  Judgement verdict = Judgement::unclear;
  std::string reason;  // cannot_run: why; misses: "unstable", or the metric; unclear: "stable" or the metric
  std::vector<RunResult> runs;
  double first_share = 1;  // of the workload's sessions, in the first run: further ones begin with it
  double confidence = 0.95;

  // Over the runs; half_width is NaN for a single one.
  MeanInterval metric(const std::string& name) const;
  bool stable() const;
};

// Runs configurations until their verdict is clear, each once.
class Judge {
 public:
  Judge(const Plan& plan, Evaluator& evaluator);

  // In the order of `wanted`; references stay valid.
  std::vector<const Candidate*> judge(const std::vector<Changes>& wanted, double context_scale = 1);
  // The same in steps. The first look: under 3 seeds, but for what one seed shows to be hopeless.
  std::vector<const Candidate*> look(const std::vector<Changes>& wanted, double context_scale = 1);
  // The next look, side by side.
  void look_again(const std::vector<const Candidate*>& candidates);
  // Whether another look may make its verdict clear.
  bool is_open(const Candidate& candidate) const;
  // Runs as well what needed no interval to be judged: one look.
  void give_intervals(const std::vector<const Candidate*>& candidates);
  // Twice as many runs, up to the plan's limit, and the verdict that follows. False at the limit.
  bool replicate(const Candidate& candidate);
  // One run each of a part of the workload.
  std::vector<Answer> glance(const std::vector<Changes>& wanted, double share);

  // Of the intervals that verdicts rest on.
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
  std::vector<int64_t> looks_;  // after how many runs
  double confidence_;
  std::map<std::pair<Changes, double>, Candidate> candidates_;  // and their scale of contexts
};

// How far a value is beyond a target, as a share of the bound; 0 where it is met, infinite for NaN.
double violation(const Target& target, double value);
// How far it is from the bound, as a share of it; negative beyond.
double slack(const Target& target, double value);

}  // namespace kvcap
