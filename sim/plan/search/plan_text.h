// A plan's answer as a person reads it.
#pragma once

#include <string>
#include <vector>

#include "plan/search/plan_advice.h"
#include "plan/search/plan_flips.h"
#include "plan/search/plan_search.h"
#include "plan/search/plan_why.h"

namespace kvcap {

// Everything that follows from a search; the parts after `result` are empty without an answer.
struct PlanReport {
  const Plan* plan = nullptr;
  PlanResult result;
  int64_t simulations = 0;
  std::string purchase;
  std::vector<std::string> purchase_notes;  // sizes that were searched, and where the prices are from
  std::vector<Marginal> marginals;
  std::vector<Stress> stresses;
  std::vector<PriceChange> prices;
  Why why;
  std::vector<Flip> flips;
};

std::string plan_text(const PlanReport& report);

// What makes the answer look cheaper than it is; empty where nothing does.
std::string price_note(const PlanReport& report);

// The command that repeats a candidate's runs.
std::string candidate_command(const Plan& plan, const Candidate& candidate);

}  // namespace kvcap
