// Explains why the answer of a plan wins: its differences from the runner-up in cost and time to first token,
// by part, and the bottlenecks of both.
#pragma once

#include <string>
#include <vector>

#include "advise/search.h"

namespace kvcap {

// The answer minus the runner-up, paired by seed.
struct PartDifference {
  std::string name;  // part of the cost: "GPU"; of the TTFT: "queue", "lookup", ..., "prefill", "batching"
  MeanInterval difference;
};

struct Why {
  const Candidate* runner_up = nullptr;  // null: no other configuration was judged
  MeanInterval objective;
  std::vector<PartDifference> costs;  // empty unless the objective is a cost
  // Difference of the mean TTFT; the parts add up to it. `prefill`: as in an idle engine; `batching`: the
  // time that sharing steps with other requests adds.
  MeanInterval ttft_ms;
  std::vector<PartDifference> ttft_parts_ms;
};

// Compares the answer with the cheapest configuration that meets every target and differs in a non-numeric
// choice, such as policy or machine; else with the cheapest other configuration that meets every target; else
// with the last judged one before the answer, by objective.
Why why(const Plan& plan, const PlanResult& result);

struct BottleneckShare {
  std::string resource;  // name as in `utilization`, or "none"
  double share = 0;      // share of the time
};
// Returns resources in descending order of their share, without those that have none; "none" is last.
std::vector<BottleneckShare> bottleneck(const Candidate& candidate);

}  // namespace kvcap
