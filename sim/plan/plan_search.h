// The search for the best configuration that meets every target, over anything that can run one: tests run
// formulas, kvcap plan runs simulations.
//
// Lists of values are searched: every combination is tried on a short workload, with all ranges at their
// top, and what misses a target widely is dropped in the worse half of each round (successive halving). What
// is left is looked at from cheap to dear; ranges are bisected, on the whole workload. There a configuration
// is judged by intervals: it is run again under further seeds until every target lies outside the interval
// of its metric, or the plan's limit is reached and the verdict is `unclear`, which counts as missed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "metrics/intervals.h"
#include "metrics/result.h"
#include "plan/plan.h"

namespace kvcap {

// One simulation that is wanted.
struct Ask {
  Changes changes;
  double share = 1;          // of the workload's sessions
  int64_t replication = 0;   // seed + replication
  double context_scale = 1;  // what every prompt's lengths are multiplied by
};

struct Answer {
  std::string reason;  // why it cannot run; empty: it can
  RunResult result;
};

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // One answer an ask, in order; the same ask always has the same answer.
  virtual std::vector<Answer> run(const std::vector<Ask>& asks) = 0;
};

enum class Verdict : uint8_t { cannot_run, misses, unclear, meets };

// A configuration that has been run on the whole workload, `runs` under as many seeds.
struct Candidate {
  Changes changes;
  Verdict verdict = Verdict::unclear;
  std::string reason;  // cannot_run: why; misses: "unstable", or the metric
  std::vector<RunResult> runs;

  // Over the runs; half_width is NaN for a single one.
  MeanInterval metric(const std::string& name) const;
  bool stable() const;
};

// Runs configurations until their verdict is clear, each once.
class Judge {
 public:
  Judge(const Plan& plan, Evaluator& evaluator) : plan_(plan), evaluator_(evaluator) {}

  // In the order of `wanted`; references stay valid.
  std::vector<const Candidate*> judge(const std::vector<Changes>& wanted, double context_scale = 1);
  // Twice as many runs, up to the plan's limit, and the verdict that follows. False at the limit.
  bool replicate(const Candidate& candidate);
  // One run each of a part of the workload.
  std::vector<Answer> glance(const std::vector<Changes>& wanted, double share);

 private:
  struct Entry {
    Candidate candidate;
    double context_scale = 1;
  };
  void run_up_to(const std::vector<Entry*>& entries, int64_t replications);
  void decide(Candidate& candidate) const;

  const Plan& plan_;
  Evaluator& evaluator_;
  std::map<std::pair<Changes, double>, Entry> entries_;
};

struct PlanResult {
  int64_t configurations = 0;            // that the plan spans
  int64_t dropped = 0;                   // combinations of list values that short workloads ruled out
  int64_t cannot_run = 0;                // of them
  std::string cannot_run_reason;         // of the first
  const Candidate* best = nullptr;       // null: none meets every target
  Point best_point;                      // where it is
  std::vector<const Candidate*> rivals;  // not told apart from the best, or undecided and better
  const Candidate* nearest = nullptr;    // without a best: what misses least
  std::vector<const Candidate*> front;   // objective against p99_ttft_ms, from cheap to dear
  std::vector<const Candidate*> judged;  // in full, by objective

  bool is_clear() const { return rivals.empty(); }
};

// The metric that the front sets against the objective.
inline constexpr const char* kFrontMetric = "p99_ttft_ms";

PlanResult find_plan(const Plan& plan, Judge& judge);

// How far a value is beyond a target, as a share of the bound; 0 where it is met, infinite for NaN.
double violation(const Target& target, double value);
// How far it is from the bound, as a share of it; negative beyond.
double slack(const Target& target, double value);

}  // namespace kvcap
