// Formats the advice in a plan report: why the answer wins, what a little more of each resource would gain,
// and under which changes the answer still holds.
#pragma once

#include "text/plan/plan_text.h"
#include "text/plan/plan_words.h"

namespace kvcap {

// REQUIRES: the report has an answer.
void add_advice(Page& page, const PlanReport& report);

}  // namespace kvcap
