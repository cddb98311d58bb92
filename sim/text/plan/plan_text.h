// Formats the answer of a plan for people.
#pragma once

#include <string>
#include <vector>

#include "advise/advice.h"
#include "advise/search.h"
#include "plan/break_even.h"

namespace kvcap {

// Everything that a plan prints; the members after `simulations` are empty without an answer.
struct PlanReport {
  const Plan* plan = nullptr;
  PlanResult result;
  std::string searched = {};  // what a plan without a file searches, and what it leaves out
  int64_t simulations = 0;
  std::string purchase;
  std::vector<std::string> purchase_notes;  // searched sizes and sources of the prices
  Advice advice;

  bool is_interrupted() const { return result.is_interrupted || advice.is_interrupted; }
};

// `said`: the sentences on the plan's document, which the page begins with.
std::string plan_text(const PlanReport& report, const std::vector<std::string>& said);
std::string plan_draws_text(const Plan& plan, const PlanDraws& draws);
std::string break_even_text(const Plan& plan, const BreakEvenMap& map, const std::vector<std::string>& said);

// Returns the command that repeats a candidate's runs.
std::string candidate_command(const Plan& plan, const Candidate& candidate);

}  // namespace kvcap
