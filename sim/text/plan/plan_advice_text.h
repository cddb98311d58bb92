// Formats the advice of a plan report: why the answer wins, the value of more resources, and how far the
// answer holds.
#pragma once

#include "text/plan/plan_text.h"
#include "text/plan/plan_words.h"

namespace kvcap {

// REQUIRES: the report has an answer.
void add_advice(Page& page, const PlanReport& report);

}  // namespace kvcap
