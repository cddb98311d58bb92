// Formats the answer of a plan as text.
#pragma once

#include <string>
#include <vector>

#include "advise/advice.h"
#include "advise/search.h"
#include "plan/break_even.h"

namespace kvcap {

// Everything that the output of kvcap plan contains. The members after `simulations` are empty if no
// configuration meets the targets.
struct PlanReport {
  const Plan* plan = nullptr;
  PlanResult result;
  std::string searched = {};  // a sentence on what a plan without a file searches and leaves out
  int64_t simulations = 0;
  std::string purchase;
  std::vector<std::string> purchase_notes;  // the sizes searched and the sources of prices
  Advice advice;

  bool is_interrupted() const { return result.is_interrupted || advice.is_interrupted; }
};

// Return the pages that kvcap plan prints. `said`: sentences from document_sentences(), with which the page
// begins.
std::string plan_text(const PlanReport& report, const std::vector<std::string>& said);
std::string plan_draws_text(const Plan& plan, const PlanDraws& draws);
std::string break_even_text(const Plan& plan, const BreakEvenMap& map, const std::vector<std::string>& said);

// Returns the command that repeats a candidate's runs.
std::string candidate_command(const Plan& plan, const Candidate& candidate);

}  // namespace kvcap
