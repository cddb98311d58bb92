// Why the answer of a plan is the answer: what it has over the runner-up, in money and in time to first
// token, part by part, and what each of the two waits for.
#pragma once

#include <string>
#include <vector>

#include "plan/search/plan_search.h"

namespace kvcap {

// The answer less the runner-up; paired by seed.
struct PartDifference {
  std::string name;  // of a cost: "GPU"; of a TTFT: "queue", "lookup", ..., "prefill", "batching"
  MeanInterval difference;
};

struct Why {
  const Candidate* runner_up = nullptr;  // null: nothing else was judged
  MeanInterval objective;
  std::vector<PartDifference>
      costs;  // of the objective, if that is a cost; NaN width where a part is a share
  // Of the mean TTFT, in ms; the parts add up to `ttft_ms`. `prefill`: as in an idle engine, `batching`: what
  // sharing steps with other requests adds to that.
  MeanInterval ttft_ms;
  std::vector<PartDifference> ttft_parts_ms;
};

// The runner-up is the cheapest configuration that meets every target and differs in more than numbers, as in
// its policy or machine; else the cheapest other one that meets them; else the last before the answer.
Why why(const Plan& plan, const PlanResult& result);

struct BottleneckShare {
  std::string resource;  // as `utilization` names it; "none"
  double share = 0;      // of the time
};
// From the largest share on, "none" last; without those that have none.
std::vector<BottleneckShare> bottleneck(const Candidate& candidate);

}  // namespace kvcap
